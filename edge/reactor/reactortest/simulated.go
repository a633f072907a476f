// The world of the simulated reactor.

package reactortest

import (
	"io"
	"strings"
	"syscall"
	"time"

	"edge/edge/reactor"
	"edge/edge/reactor/sim"
)

// SimFixture is a Fixture over the simulation.
type SimFixture struct {
	S *sim.Reactor

	backends int
}

var _ Fixture = (*SimFixture)(nil)

// Reactor is the reactor.
func (f *SimFixture) Reactor() reactor.Reactor { return f.S }

// Real is false.
func (f *SimFixture) Real() bool { return false }

// Until steps until cond holds. When nothing is left to do, the clock moves to
// the next deadline.
func (f *SimFixture) Until(h reactor.Handler, cond func() bool) bool {
	f.S.Attach(h)
	for idle := 0; idle < simIdleMax; {
		switch {
		case cond():
			return true
		case f.S.Step():
			idle = 0
		case idle > simIdleTurns && !f.S.NextDeadline():
			time.Sleep(100 * time.Microsecond) // for goroutines that post
			fallthrough
		default:
			idle++
		}
	}
	return false
}

const (
	// simIdleTurns is for how many idle turns the clock stands still: peers and
	// handlers may act in them.
	simIdleTurns = 4
	// simIdleMax is when a condition that does not come is given up.
	simIdleMax = 10000
)

// Listen opens a simulated socket.
func (f *SimFixture) Listen(unix bool) (fd int, dial func() Peer) {
	l := f.S.Listener("test")
	l.Unix = unix
	return l.FD, func() Peer { return &simPeer{p: l.Dial()} }
}

// Backend opens a simulated backend.
func (f *SimFixture) Backend(unix bool) (at reactor.Address, accept func() Peer) {
	at = f.Refusing()
	if unix {
		at = reactor.Address{Unix: "/run/" + strings.Repeat("x", f.backends)}
	}
	b := f.S.Serve(at.String())
	return at, func() Peer {
		if b.Waiting() == 0 {
			return nil
		}
		return &simPeer{p: b.Accept("accept")}
	}
}

// Refusing is an address of nobody.
func (f *SimFixture) Refusing() reactor.Address {
	f.backends++
	return reactor.Address{TCP: sim.AddrOf(f.backends)}
}

// File makes a simulated file.
func (f *SimFixture) File(content []byte) int { return f.S.File(content).FD }

type simPeer struct {
	p      *sim.Peer
	closed bool
}

func (p *simPeer) Write(b []byte) (int, error) {
	if p.p.WasReset() {
		return 0, syscall.ECONNRESET
	}
	if p.p.Unsent() > 0 {
		return 0, nil
	}
	n := min(len(b), 64<<10)
	p.p.Write(b[:n])
	return n, nil
}

func (p *simPeer) Read() ([]byte, error) {
	if b := p.p.Read(); len(b) > 0 {
		return b, nil
	}
	switch {
	case p.p.WasReset():
		return nil, syscall.ECONNRESET
	case p.p.EOF():
		return nil, io.EOF
	}
	return nil, nil
}

func (p *simPeer) Stall(on bool) { p.p.Stalled = on }
func (p *simPeer) CloseWrite()   { p.p.CloseWrite() }
func (p *simPeer) Close()        { p.p.Close() }
func (p *simPeer) Reset()        { p.p.Reset() }
