package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"edge/bpfvm"
	"edge/certstore"
	"edge/edge/config"
	"edge/edge/reactor"
	"edge/edge/service"
	"edge/proxy"
	"edge/proxy/bridge"
	"edge/proxy/coding"
	"edge/proxy/http1"
	"edge/proxy/resolve"
	"edge/tlsstack"
)

// Options is what the gateway is started with.
type Options struct {
	Config *config.Config

	// NewReactor makes a worker's reactor, of the kind config.Config.Reactor; it is called on the worker's own,
	// locked thread.
	NewReactor func(kind string, o reactor.Options) (reactor.Reactor, error)

	Out io.Writer // gets a line for each address once it is served
	Log *Log

	Reload  <-chan os.Signal // each asks for a reload, log files included; nil: none
	Reopen  <-chan os.Signal // each asks for the log files to be opened again; nil: none
	Upgrade <-chan os.Signal // each asks for a successor that takes over; nil: none
	Getenv  func(string) string

	Programs []ProgramFile // run before those of the configuration
}

// server is what the workers share.
type server struct {
	cfg        *config.Config
	log        *Log
	rand       io.Reader
	headLimits http1.Limits // of requests
	tickets    *tlsstack.TicketKeys
	gen        atomic.Pointer[generation]
	logs       *logFile // nil: there is no access log
	keyLog     *keyLog  // nil: there is none
	notify     *service.Notifier
	resolver   *resolve.Resolver
	targets    programTargets
	routes     proxy.Routes                    // of --proxy
	balance    proxy.Balance                   // among the targets of a route
	checks     []*checked                      // of --proxy-health
	hashField  string                          // that proxy.Hash takes, in lower case; empty: the client's address
	handedOver bool                            // the listening sockets, or some, came from another process
	trust      proxy.Trust                     // peers whose word on the client is taken
	fronts     proxy.Trust                     // client-facing servers that send us inner hellos
	bridges    map[proxy.Target]*bridge.Bridge // to https targets, by bridgeKey; under bridgesMu
	bridgesMu  sync.Mutex
	bridgeTo   bridge.Options   // of them all
	addresses  []netip.AddrPort // that we listen on
	loops      loopGuard
	coding     *coding.Policy // of --compress; nil: answers go as they are
	builtIn    []ProgramFile  // programs beside those of the configuration
	maps       bpfvm.MapStore // that programs share, kept over reloads

	ticketsChanged string // what the keys of --ticket-keys were made from; see signatureOf

	bans bans

	reloads       atomic.Int64
	reloadsFailed atomic.Int64
	leave         func()           // ends the serving in good order
	background    sync.WaitGroup   // of control, which alone uses the following
	sockets       []service.Socket // copies of the listening sockets, for a successor
	files         []socketFile     // of unix sockets, to be removed at the end
	succeeded     bool             // a successor serves

	echWatch     echWatch                           // of control
	certWatch    *certstore.Watcher                 // nil: there are no certificates
	certsSeen    atomic.Pointer[certstore.Snapshot] // by the watcher, last
	certsChanged chan struct{}                      // certsSeen has something new

	stats   []stats
	workers []*worker
}

func (s *server) current() *generation { return s.gen.Load() }

// Serve loads what there is to serve, listens, and runs until ctx ends and the
// requests in flight are answered, or the drain time is over.
func Serve(ctx context.Context, o Options) error {
	s := newServer(o)
	background, end := context.WithCancel(context.Background())
	defer end()
	defer s.put()
	if err := s.prepare(background, o.Getenv); err != nil {
		return err
	}
	places, err := s.listenAll(o.Getenv)
	if err != nil {
		return err
	}
	for _, p := range places {
		if p.at.Unix == "" {
			s.addresses = append(s.addresses, p.at.TCP)
		}
	}
	if s.logs, err = openLogFile(s.cfg.AccessLog, o.Out, s.log.Printf); err != nil {
		closeAll(places)
		return err
	}
	s.log.start()
	defer s.log.stop()
	defer s.logs.close()
	return s.run(ctx, o, places)
}

// Check loads what Serve would, and gives the error with which it would not start.
// It does not listen.
func Check(o Options) error {
	s := newServer(o)
	background, end := context.WithCancel(context.Background())
	defer end()
	defer s.put()
	return s.prepare(background, o.Getenv)
}

// prepare loads all there is to serve. What runs beside it does until background
// ends; put gives the rest back.
func (s *server) prepare(background context.Context, getenv func(string) string) (err error) {
	if err = s.openTickets(getenv); err != nil {
		return err
	}
	s.resolver = resolve.New(background, resolve.System("/etc/hosts", "/etc/resolv.conf"), func(line string) { s.log.Printf("%s", line) })
	if err := s.setUpProxy(); err != nil {
		return err
	}
	if err := s.setUpCompress(); err != nil {
		return err
	}
	if err := s.setUpSplit(); err != nil {
		return err
	}
	if s.keyLog, err = openKeyLog(s.cfg.KeyLog, s.log.Printf); err != nil {
		return err
	}
	gen, err := s.load(nil, partsAll)
	if err != nil {
		return err
	}
	s.gen.Store(gen)
	return nil
}

// put gives back what prepare took.
func (s *server) put() {
	if gen := s.current(); gen != nil {
		gen.drop()
	}
	s.keyLog.close()
	s.endBridges()
}

func newServer(o Options) *server {
	l := &o.Config.Limits
	return &server{
		cfg:  o.Config,
		log:  o.Log,
		rand: rand.Reader,

		builtIn: o.Programs,
		headLimits: http1.Limits{
			MethodBytes:      l.MethodBytes,
			RequestLineBytes: l.RequestLineBytes,
			HeadBytes:        l.HeadBytes,
			Fields:           l.Fields,
			ChunkLineBytes:   l.ChunkLineBytes,
			TrailerBytes:     l.TrailerBytes,
			BodyBytes:        l.BodyBytes,
		},
		stats:        make([]stats, o.Config.Workers),
		notify:       service.NewNotifier(o.Getenv),
		certsChanged: make(chan struct{}, 1),
	}
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
		s.serving(ctx, o, places)
	} else {
		s.stop()
	}
	if e := gather(ended, s.cfg.Workers); err == nil {
		err = e
	}
	s.logCounters()
	if s.leave != nil {
		s.leave()
		s.background.Wait()
	}
	return err
}

// serving tells the world that every address is served, and starts what runs
// beside the workers.
func (s *server) serving(ctx context.Context, o Options, places []*place) {
	for _, p := range places {
		fmt.Fprintf(o.Out, "listening %s\n", p.url())
	}
	if err := errors.Join(s.notify.Ready(), service.TellReady(o.Getenv)); err != nil {
		s.log.Printf("%v", err)
	}
	ctx, s.leave = context.WithCancel(ctx)
	context.AfterFunc(ctx, s.drain)
	s.background.Go(func() { s.control(ctx, o) })
	s.background.Go(func() { s.check(ctx) })
	go s.watchdog(ctx)
	go s.tidyMemory(ctx)
	go service.ReapOrphans(ctx)
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

// gatherTime is reactor.Options.GatherTime for a time that is none at 0.
func gatherTime(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// work is one worker's thread.
func (s *server) work(o Options, i int, places []*place, started chan<- error, ready *sync.WaitGroup) error {
	pool, recv := dealBuffers(s.cfg.Limits.BufferBytes)
	r, err := o.NewReactor(s.cfg.Reactor, reactor.Options{
		SocketsMax:  s.socketsMax(),
		BufferBytes: pool,
		RecvBytes:   recvBytes,
		RecvBuffers: recv,
		GatherTime:  gatherTime(s.cfg.GatherTime),
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
		for _, fd := range p.fds[i] {
			if err := w.listen(fd, p.listener); err != nil {
				started <- err
				return nil
			}
		}
	}
	if s.handedOver {
		w.startAcceptingAnew()
	}
	started <- nil
	ready.Wait()
	err = r.Run(w)
	w.end()
	return err
}

// socketsMax is how many sockets one worker may have: a connection that is proxied
// or relayed has two, and a program may have any proxied.
func (s *server) socketsMax() int { return 2*s.cfg.Limits.Connections + socketsSpare }

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
	s.notify.Stopping()
	idle := drainIdleTime
	if s.succeeded {
		idle = succeededIdleTime
	}
	for _, w := range s.workers {
		w.r.Post(func() { w.drain(idle) })
	}
}
