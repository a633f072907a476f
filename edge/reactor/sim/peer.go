// The other ends of the connections, in the hands of the test.

package sim

import (
	"bytes"
	"fmt"
	"net/netip"

	"edge/edge/reactor"
)

// Listener is a simulated listening socket.
type Listener struct {
	// FD is what Reactor.Listen is given.
	FD int
	// Unix: accepted peers have no address.
	Unix bool

	s      *Reactor
	name   string
	queue  []*Peer // not yet accepted
	closed bool
}

// Listener makes a listening socket; the name is for messages.
func (s *Reactor) Listener(name string) *Listener {
	s.nextFD++
	l := &Listener{FD: s.nextFD, s: s, name: name}
	s.listeners[l.FD] = l
	return l
}

// Dial connects a new peer, from an address of its own.
func (l *Listener) Dial() *Peer {
	l.s.dialled++
	return l.DialFrom(AddrOf(l.s.dialled))
}

// AddrOf is the nth of the addresses that peers come from.
func AddrOf(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), uint16(1024+n%60000))
}

// DialFrom connects a new peer from the address given.
func (l *Listener) DialFrom(from netip.AddrPort) *Peer {
	if l.Unix {
		from = netip.AddrPort{}
	}
	p := l.s.newPeer(0, from)
	if l.closed {
		p.reset = true
		return p
	}
	l.queue = append(l.queue, p)
	return p
}

// Peer is the other end of a socket, in the hands of the test.
type Peer struct {
	// Addr is where it connected from.
	Addr netip.AddrPort
	// Stalled: it does not read, so that what is sent piles up.
	Stalled bool

	s         *Reactor
	sock      reactor.Sock
	connected bool
	backend   *Backend

	written  []byte // by the peer, not yet in the kernel
	arrived  []byte // in the kernel, not yet received
	finished bool   // the peer wrote its last
	ended    bool   // and FIN follows what arrived

	sent  []byte // by us, in the kernel
	inbox []byte // reached the peer, not yet Read
	fin   bool   // we sent FIN

	gone      bool // the peer closed
	reset     bool // either side reset
	ourClosed bool // we closed
}

func (s *Reactor) newPeer(sock reactor.Sock, addr netip.AddrPort) *Peer {
	p := &Peer{s: s, sock: sock, Addr: addr}
	s.peers = append(s.peers, p)
	return p
}

// Write has the peer send data, a string or []byte. It never blocks; what the
// other side does not take waits here.
func (p *Peer) Write(data any) {
	switch data := data.(type) {
	case string:
		p.written = append(p.written, data...)
	case []byte:
		p.written = append(p.written, data...)
	default:
		panic(fmt.Sprintf("sim: cannot write a %T", data))
	}
}

// Unsent is how many written bytes the other side has not taken.
func (p *Peer) Unsent() int { return len(p.written) }

// CloseWrite has FIN follow what was written.
func (p *Peer) CloseWrite() { p.finished = true }

// Close is the peer gone in good order: FIN follows what was written; what is
// sent to it from now on is answered with a reset.
func (p *Peer) Close() {
	p.finished, p.gone = true, true
	p.inbox = nil
}

// Reset has the peer reset the connection; what it wrote may be lost.
func (p *Peer) Reset() {
	p.reset = true
	p.written, p.sent, p.arrived = nil, nil, nil
}

// Read takes what reached the peer.
func (p *Peer) Read() []byte {
	b := p.inbox
	p.inbox = nil
	return b
}

// EOF: the peer saw FIN after all that was sent, and no reset.
func (p *Peer) EOF() bool { return p.fin && len(p.sent) == 0 && !p.reset }

// WasReset: the peer saw a reset.
func (p *Peer) WasReset() bool { return p.reset }

// Want settles, reads, and fails the test unless data (string or []byte) is
// exactly what came.
func (p *Peer) Want(why string, data any) {
	p.s.t.Helper()
	p.s.Idle()
	want := []byte(fmt.Sprintf("%s", data))
	if got := p.Read(); !bytes.Equal(got, want) {
		p.s.t.Fatalf("%s: got %s, want %s", why, shorten(got), shorten(want))
	}
}

// WantIdle settles and fails the test if anything came or the connection ended.
func (p *Peer) WantIdle(why string) {
	p.s.t.Helper()
	p.s.Idle()
	if len(p.inbox) > 0 || p.fin || p.reset {
		p.s.t.Fatalf("%s: want nothing, got %s, FIN %v, reset %v", why, shorten(p.inbox), p.fin, p.reset)
	}
}

// WantEOF settles and fails the test unless FIN came, with nothing unread.
func (p *Peer) WantEOF(why string) {
	p.s.t.Helper()
	p.s.Idle()
	if !p.EOF() || len(p.inbox) > 0 {
		p.s.t.Fatalf("%s: want FIN, got %s, FIN %v, reset %v", why, shorten(p.inbox), p.fin, p.reset)
	}
}

// WantReset settles and fails the test unless a reset came.
func (p *Peer) WantReset(why string) {
	p.s.t.Helper()
	p.s.Idle()
	if !p.reset {
		p.s.t.Fatalf("%s: want a reset, got %s, FIN %v", why, shorten(p.inbox), p.fin)
	}
}

// shorten quotes bytes for a message.
func shorten(b []byte) string {
	const most = 300
	if len(b) > most {
		return fmt.Sprintf("%d bytes %q...", len(b), b[:most])
	}
	return fmt.Sprintf("%q", b)
}

// move is the network between the peer and the kernel.
func (p *Peer) move() (moved bool) {
	if p.reset {
		return false
	}
	if n := min(len(p.written), p.s.o.PipeBytes-len(p.arrived)); n > 0 {
		n = p.s.part(n)
		p.arrived = append(p.arrived, p.written[:n]...)
		p.written = p.written[n:]
		moved = true
		if p.ourClosed {
			p.refuse()
			return true
		}
	}
	if p.finished && !p.ended && len(p.written) == 0 {
		p.ended = true
		moved = true
	}
	if len(p.sent) > 0 && p.gone && p.ended {
		p.Reset()
		return true
	}
	if len(p.sent) > 0 && !p.Stalled {
		n := p.s.part(len(p.sent))
		p.inbox = append(p.inbox, p.sent[:n]...)
		p.sent = p.sent[n:]
		moved = true
	}
	return moved
}

// readable: bytes, FIN or a reset wait to be received.
func (p *Peer) readable() bool { return len(p.arrived) > 0 || p.ended || p.reset }

// room is how much the kernel takes to send.
func (p *Peer) room() int { return p.s.o.PipeBytes - len(p.sent) }

// closedByUs: input that nobody reads makes the kernel reset.
func (p *Peer) closedByUs(reset bool) {
	p.ourClosed = true
	if p.reset {
		return
	}
	if reset || len(p.arrived) > 0 || len(p.written) > 0 {
		p.refuse()
		return
	}
	p.fin = true
}

// refuse is a reset by our kernel: the peer loses some of what it has not read.
func (p *Peer) refuse() {
	p.reset = true
	p.sent, p.arrived, p.written = nil, nil, nil
	if !p.s.o.Calm && len(p.inbox) > 0 {
		p.inbox = p.inbox[:p.s.rng.IntN(len(p.inbox)+1)]
	}
}
