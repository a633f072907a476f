package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
	"edge/edge/service"
)

// place is one address to serve, with the listening sockets of each worker.
type place struct {
	listener
	addr netip.AddrPort // with the port the kernel chose
	fds  [][]int        // by worker
}

func (p *place) url() string { return p.scheme() + "://" + p.addr.String() }

func (p *place) scheme() string {
	if p.tls {
		return "https"
	}
	return "http"
}

// listenAll opens every address, or none. Sockets that were handed over by a
// predecessor or by the service manager come first; an address they serve is not
// opened again.
func (s *server) listenAll(getenv func(string) string) (places []*place, err error) {
	inherited, err := service.Inherited(getenv)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(places)
		}
	}()
	left := inheritedSockets(inherited)
	for _, a := range s.cfg.Listen {
		if places, err = s.listenAt(places, a, listener{tls: true}, left); err != nil {
			return places, err
		}
	}
	secure := places[0].addr.Port()
	for _, a := range s.cfg.HTTP {
		l := listener{redirect: s.cfg.HTTPRedirect, securePort: secure}
		if places, err = s.listenAt(places, a, l, left); err != nil {
			return places, err
		}
	}
	for scheme, sockets := range left {
		for _, k := range sockets {
			s.log.Printf("inherited socket %s (%s) is for no address of --listen or --http: closed", k.Name, reactor.LocalAddr(k.FD))
			unix.Close(k.FD)
		}
		delete(left, scheme)
	}
	return places, s.copySockets(places)
}

// inheritedSockets sorts sockets by what their name says they are for: "https",
// "http", or neither, and then https.
func inheritedSockets(sockets []service.Socket) map[string][]service.Socket {
	byScheme := map[string][]service.Socket{}
	for _, k := range sockets {
		scheme := "https"
		if k.Name == "http" || strings.HasPrefix(k.Name, "http-") || strings.HasPrefix(k.Name, "http.") {
			scheme = "http"
		}
		byScheme[scheme] = append(byScheme[scheme], k)
	}
	return byScheme
}

// listenAt adds one address: with the sockets inherited for it, or with one of
// its own for each worker. The kernel chooses the port that 0 stands for once,
// for the first.
func (s *server) listenAt(places []*place, a netip.AddrPort, l listener, left map[string][]service.Socket) ([]*place, error) {
	p := &place{listener: l, addr: a, fds: make([][]int, s.cfg.Workers)}
	places = append(places, p)
	if took, err := p.inherit(left); took || err != nil {
		return places, err
	}
	if a.Port() != 0 {
		if err := reactor.FreeTCP(listenText(a)); err != nil {
			return places, err
		}
	}
	for i := range p.fds {
		fd, err := reactor.ListenTCP(listenText(p.addr))
		if err != nil {
			return places, err
		}
		p.fds[i] = []int{fd}
		if bound, err := netip.ParseAddrPort(reactor.LocalAddr(fd)); err == nil {
			p.addr = bound
		}
	}
	return places, nil
}

// inherit takes the sockets that were handed over for p's address. With fewer
// than there are workers, several workers accept from one.
func (p *place) inherit(left map[string][]service.Socket) (took bool, err error) {
	var mine, others []service.Socket
	for _, k := range left[p.scheme()] {
		if bound, err := netip.ParseAddrPort(reactor.LocalAddr(k.FD)); err == nil && sameAddress(bound, p.addr) {
			mine = append(mine, k)
		} else {
			others = append(others, k)
		}
	}
	if len(mine) == 0 {
		return false, nil
	}
	left[p.scheme()] = others
	p.addr, _ = netip.ParseAddrPort(reactor.LocalAddr(mine[0].FD))
	for i := range max(len(p.fds), len(mine)) {
		fd := mine[i%len(mine)].FD
		if i >= len(mine) {
			if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
				return true, fmt.Errorf("sharing an inherited socket: %w", err)
			}
		}
		w := i % len(p.fds)
		p.fds[w] = append(p.fds[w], fd)
	}
	return true, nil
}

// sameAddress compares a bound address with one asked for; a port of 0 asks for
// any.
func sameAddress(bound, asked netip.AddrPort) bool {
	return bound.Addr().Unmap() == asked.Addr().Unmap() && (asked.Port() == 0 || bound.Port() == asked.Port())
}

// copySockets keeps a copy of each listening socket for a successor: the
// reactors own, and close, those they are given.
func (s *server) copySockets(places []*place) error {
	for _, p := range places {
		for _, fds := range p.fds {
			for _, fd := range fds {
				kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
				if err != nil {
					return fmt.Errorf("keeping a copy of a listening socket: %w", err)
				}
				s.sockets = append(s.sockets, service.Socket{FD: kept, Name: p.scheme()})
			}
		}
	}
	return nil
}

// closeSockets closes the copies: what is not accepted is refused from now on,
// unless a successor has the sockets too.
func (s *server) closeSockets() error {
	var errs []error
	for _, k := range s.sockets {
		errs = append(errs, unix.Close(k.FD))
	}
	s.sockets = nil
	return errors.Join(errs...)
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
		for _, fds := range p.fds {
			for _, fd := range fds {
				unix.Close(fd)
			}
		}
	}
}
