// Where Connect leads.

package sim

import "syscall"

// Backend is where Connect leads.
type Backend struct {
	// Err has connections fail; nil accepts them. A Backend that the test never
	// asked for refuses.
	Err error
	// Hang: connections neither succeed nor fail.
	Hang bool

	s     *Reactor
	name  string
	queue []*Peer
}

// Backend gives the backend at an address, as reactor.Address prints it:
// "192.0.2.1:80" or "unix:/run/app.sock".
func (s *Reactor) Backend(address string) *Backend {
	b := s.backends[address]
	if b == nil {
		b = &Backend{s: s, name: address, Err: syscall.ECONNREFUSED}
		s.backends[address] = b
	}
	return b
}

// Serve makes the backend accept connections, and gives it.
func (s *Reactor) Serve(address string) *Backend {
	b := s.Backend(address)
	b.Err = nil
	return b
}

func (b *Backend) answer(p *Peer) error {
	if b.Err != nil {
		return b.Err
	}
	b.queue = append(b.queue, p)
	return nil
}

// Waiting is the number of connections not yet given out by Accept.
func (b *Backend) Waiting() int { return len(b.queue) }

// Accept settles and gives the next connection; without one the test fails.
func (b *Backend) Accept(why string) *Peer {
	b.s.t.Helper()
	b.s.Idle()
	if len(b.queue) == 0 {
		b.s.t.Fatalf("%s: no connection came to %s", why, b.name)
	}
	p := b.queue[0]
	b.queue = b.queue[1:]
	return p
}
