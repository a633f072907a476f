package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/config"
	"edge/edge/reactor"
	"edge/edge/service"
)

// place is one address to serve, with the listening sockets of each worker.
type place struct {
	listener
	at   config.Address // with the port the kernel chose
	fds  [][]int        // by worker
	file socketFile     // of a unix socket, if it is ours to remove
}

func (p *place) url() string { return p.scheme() + "://" + p.at.String() }

func (p *place) scheme() string {
	if p.tls {
		return schemeTLS
	}
	return schemePlain
}

const schemeTLS, schemePlain = "https", "http"

// listenAll opens every address, or none. Sockets that were handed over by a
// predecessor or by the service manager come first; an address they serve is not
// opened again.
func (s *server) listenAll(getenv func(string) string) (places []*place, err error) {
	sockets, err := service.Inherited(getenv, s.log.Printf)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(places)
		}
	}()
	s.handedOver = len(sockets) > 0
	left := newInheritance(sockets)
	for _, a := range left.standIn(s.cfg) {
		if places, err = s.listenAt(places, a, listener{tls: true}, left); err != nil {
			return places, err
		}
	}
	secure := securePort(places)
	for _, a := range s.cfg.HTTP {
		l := listener{redirect: s.cfg.HTTPRedirect, securePort: secure}
		if places, err = s.listenAt(places, a, l, left); err != nil {
			return places, err
		}
	}
	for _, k := range left.sockets {
		s.log.Printf("inherited socket %q at %s is for no address of --listen or --http: closed", k.Name, k.at)
		unix.Close(k.FD)
	}
	return places, s.copySockets(places)
}

// securePort is where a redirect to https leads: the first TCP port of places.
func securePort(places []*place) uint16 {
	for _, p := range places {
		if p.at.Unix == "" {
			return p.at.TCP.Port()
		}
	}
	return 443
}

// listenAt adds one address: with the sockets inherited for it, or with one of
// its own for each worker.
func (s *server) listenAt(places []*place, a config.Address, l listener, left *inheritance) ([]*place, error) {
	p := &place{listener: l, at: a, fds: make([][]int, s.cfg.Workers)}
	places = append(places, p)
	switch took, err := p.inherit(left); {
	case took || err != nil:
		return places, err
	case a.Unix != "":
		return places, p.openUnix(s.cfg)
	}
	return places, p.openTCP()
}

// openTCP gives each worker a socket of its own. The kernel chooses the port
// that 0 stands for once, for the first.
func (p *place) openTCP() error {
	fds, err := reactor.ListenTCPGroup(listenText(p.at.TCP), len(p.fds))
	if err != nil {
		return err
	}
	p.at = boundTo(fds[0])
	return p.share(fds)
}

// openUnix has all workers accept from one socket: a path has no more.
func (p *place) openUnix(cfg *config.Config) error {
	fd, err := reactor.ListenUnix(p.at.Unix, cfg.UnixMode)
	if err != nil {
		return err
	}
	p.file = socketFileAt(p.at.Unix)
	return p.share([]int{fd})
}

// share deals sockets out to the workers. With fewer than there are workers,
// several workers accept from one.
func (p *place) share(sockets []int) (err error) {
	for i := range max(len(p.fds), len(sockets)) {
		fd := sockets[i%len(sockets)]
		if i >= len(sockets) {
			if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
				return fmt.Errorf("sharing a listening socket: %w", err)
			}
		}
		w := i % len(p.fds)
		p.fds[w] = append(p.fds[w], fd)
	}
	return nil
}

// copySockets keeps a copy of each listening socket for a successor: the
// reactors own, and close, those they are given.
func (s *server) copySockets(places []*place) error {
	for _, p := range places {
		name := p.scheme()
		if p.file != (socketFile{}) {
			s.files = append(s.files, p.file)
			name += ownedSuffix
		}
		for _, fd := range slices.Concat(p.fds...) {
			kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("keeping a copy of a listening socket: %w", err)
			}
			s.sockets = append(s.sockets, service.Socket{FD: kept, Name: name})
		}
	}
	return nil
}

// closeSockets closes the copies: what is not accepted is refused from now on,
// unless a successor has the sockets too. Only without one do the files of unix
// sockets go.
func (s *server) closeSockets(succeeded bool) error {
	var errs []error
	for _, f := range s.files {
		if !succeeded {
			errs = append(errs, f.remove())
		}
	}
	for _, k := range s.sockets {
		errs = append(errs, unix.Close(k.FD))
	}
	s.sockets, s.files = nil, nil
	return errors.Join(errs...)
}

// boundTo is where a listening socket listens.
func boundTo(fd int) config.Address {
	text := reactor.LocalAddr(fd)
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		return config.Address{Unix: path}
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return config.Address{} // of a family that we do not serve
	}
	return config.Address{TCP: at}
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
		p.file.remove()
		for _, fd := range slices.Concat(p.fds...) {
			unix.Close(fd)
		}
	}
}

// acceptAnewAfter: a worker whose sockets came from a predecessor starts to
// accept anew at these times. The kernel wakes one of those who wait on a socket
// for each connection; if that one was the predecessor, as it gave up waiting,
// nobody else is told, and the connection would lie there until the next one. The
// predecessor gives up within milliseconds of our start; the later times are for
// machines that leave it without the processor. On epoll, which wakes all that
// wait, nothing is lost, and nothing happens.
var acceptAnewAfter = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute}

// startAcceptingAnew has acceptAnew called at its times.
func (w *worker) startAcceptingAnew() {
	for _, d := range acceptAnewAfter {
		w.r.After(d, tagAcceptAnew)
	}
}

// acceptAnew looks at what lies in the listening sockets, and waits again.
func (w *worker) acceptAnew() {
	if w.draining {
		return
	}
	for _, l := range w.listeners {
		w.r.PauseReceive(l.sock)
		w.r.Receive(l.sock)
	}
}
