package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"edge/edge/config"
	"edge/edge/reactor"
	"edge/proxy/http1"
	"edge/tlsstack"
)

// Options is what the gateway is started with.
type Options struct {
	Config *config.Config

	// NewReactor makes a worker's reactor; it is called on the worker's own,
	// locked thread.
	NewReactor func(reactor.Options) (reactor.Reactor, error)

	Out io.Writer // gets a line for each address once it is served
	Log *Log
}

// server is what the workers share.
type server struct {
	cfg        *config.Config
	log        *Log
	rand       io.Reader
	headLimits http1.Limits
	tickets    *tlsstack.TicketKeys
	gen        atomic.Pointer[generation]
	stats      []stats
	workers    []*worker
}

func (s *server) current() *generation { return s.gen.Load() }

// Serve loads what there is to serve, listens, and runs until ctx ends and the
// requests in flight are answered, or the drain time is over.
func Serve(ctx context.Context, o Options) error {
	s := newServer(o)
	keys, err := tlsstack.NewTicketKeys(s.rand)
	if err != nil {
		return err
	}
	s.tickets = keys
	gen, err := s.load()
	if err != nil {
		return err
	}
	gen.take()
	s.gen.Store(gen)
	places, err := listenAll(s.cfg)
	if err != nil {
		gen.drop()
		return err
	}
	return s.run(ctx, o, places)
}

func newServer(o Options) *server {
	l := &o.Config.Limits
	return &server{
		cfg:  o.Config,
		log:  o.Log,
		rand: rand.Reader,
		headLimits: http1.Limits{
			MethodBytes:      http1.DefaultLimits.MethodBytes,
			RequestLineBytes: l.RequestLineBytes,
			HeadBytes:        l.HeadBytes,
			Fields:           l.Fields,
			ChunkLineBytes:   http1.DefaultLimits.ChunkLineBytes,
			TrailerBytes:     http1.DefaultLimits.TrailerBytes,
			BodyBytes:        l.BodyBytes,
		},
		stats: make([]stats, o.Config.Workers),
	}
}

// place is one address to serve, with a listening socket for each worker.
type place struct {
	listener
	addr netip.AddrPort // with the port the kernel chose
	fds  []int
}

// listenAll opens every address, or none.
func listenAll(cfg *config.Config) (places []*place, err error) {
	defer func() {
		if err != nil {
			closeAll(places)
		}
	}()
	for _, a := range cfg.Listen {
		if places, err = listenAt(places, a, listener{tls: true}, cfg.Workers); err != nil {
			return places, err
		}
	}
	secure := places[0].addr.Port()
	for _, a := range cfg.HTTP {
		l := listener{redirect: cfg.HTTPRedirect, securePort: secure}
		if places, err = listenAt(places, a, l, cfg.Workers); err != nil {
			return places, err
		}
	}
	return places, nil
}

// listenAt adds one address, with a socket for each worker. The kernel chooses
// the port 0 stands for once, for the first.
func listenAt(places []*place, a netip.AddrPort, l listener, workers int) ([]*place, error) {
	p := &place{listener: l, addr: a}
	places = append(places, p)
	if a.Port() != 0 {
		if err := reactor.FreeTCP(listenText(a)); err != nil {
			return places, err
		}
	}
	for range workers {
		fd, err := reactor.ListenTCP(listenText(p.addr))
		if err != nil {
			return places, err
		}
		p.fds = append(p.fds, fd)
		if bound, err := netip.ParseAddrPort(reactor.LocalAddr(fd)); err == nil {
			p.addr = bound
		}
	}
	return places, nil
}

// listenText spells an address for the reactor, for which an empty host means
// every address of both families.
func listenText(a netip.AddrPort) string {
	if a.Addr() == netip.IPv6Unspecified() {
		return fmt.Sprintf(":%d", a.Port())
	}
	return a.String()
}

func closeAll(places []*place) {
	for _, p := range places {
		for _, fd := range p.fds {
			unix.Close(fd)
		}
	}
}

func (p *place) url() string {
	scheme := "http"
	if p.tls {
		scheme = "https"
	}
	return scheme + "://" + p.addr.String()
}

// run starts the workers and waits for their end.
func (s *server) run(ctx context.Context, o Options, places []*place) error {
	started := make(chan error, s.cfg.Workers)
	ended := make(chan error, s.cfg.Workers)
	s.workers = make([]*worker, s.cfg.Workers)
	var ready sync.WaitGroup
	ready.Add(1)
	for i := range s.cfg.Workers {
		go func() {
			runtime.LockOSThread()
			ended <- s.work(o, i, places, started, &ready)
		}()
	}
	err := gather(started, s.cfg.Workers)
	ready.Done()
	if err == nil {
		for _, p := range places {
			fmt.Fprintf(o.Out, "listening %s\n", p.url())
		}
		stop := context.AfterFunc(ctx, s.drain)
		defer stop()
	} else {
		s.stop()
	}
	if e := gather(ended, s.cfg.Workers); err == nil {
		err = e
	}
	s.current().drop()
	return err
}

// gather returns the first error of n, once all n are in.
func gather(from <-chan error, n int) (first error) {
	for range n {
		if err := <-from; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// work is one worker's thread.
func (s *server) work(o Options, i int, places []*place, started chan<- error, ready *sync.WaitGroup) error {
	r, err := o.NewReactor(reactor.Options{
		SocketsMax:  s.cfg.Limits.Connections + socketsSpare,
		BufferBytes: int(s.cfg.Limits.BufferBytes),
		Log:         func(line string) { s.log.Printf("worker %d: %s", i, line) },
	})
	if err != nil {
		started <- err
		return nil
	}
	defer r.Shut()
	w := newWorker(s, i, r)
	s.workers[i] = w
	for _, p := range places {
		if err := w.listen(p.fds[i], p.listener); err != nil {
			started <- err
			return nil
		}
	}
	started <- nil
	ready.Wait()
	err = r.Run(w)
	w.end()
	return err
}

// socketsSpare is for listeners and for connections on their way out.
const socketsSpare = 256

// stop ends all workers at once.
func (s *server) stop() {
	for _, w := range s.workers {
		if w != nil {
			w.r.Post(w.r.Stop)
		}
	}
}

// drain has all workers stop accepting, finish what they answer, and end.
func (s *server) drain() {
	for _, w := range s.workers {
		w.r.Post(w.drain)
	}
}
