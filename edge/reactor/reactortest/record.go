// The Handler of the tests, which also knows what must never be said.

package reactortest

import (
	"bytes"
	"net/netip"
	"testing"

	"edge/edge/reactor"
)

// socket is what was heard of one socket.
type socket struct {
	peer      netip.AddrPort
	got       []byte
	ended     bool
	endErr    error
	sent      int
	sentBytes int // of Sends that succeeded
	sendBytes int // of the Send in flight
	sendErr   error
	sending   bool
	connected bool
	connErr   error
	fileReads int
	fileAsked int
	fileBufs  [][]byte
	fileN     int
	fileErr   error
	expired   int
	gaveUp    bool // Close or Abort was called
	closed    bool
	echo      bool
	pending   []byte // to be echoed
}

// bench is a reactor under test, and the Handler that records what it says. It
// fails the test at once for what must never be said.
type bench struct {
	t       *testing.T
	f       Fixture
	r       reactor.Reactor
	l       reactor.Sock
	dial    func() Peer
	socks   map[reactor.Sock]*socket
	order   []reactor.Sock // as accepted
	failed  []error        // of AcceptFailed
	fired   []uint64
	inTurn  bool
	echoing map[reactor.Sock]bool

	// Hooks of a test, called after the event was recorded.
	onAccepted func(s reactor.Sock)
	onReceived func(s reactor.Sock, b []byte, id reactor.BufID) (kept bool)
	onEnded    func(s reactor.Sock)
	onSent     func(s reactor.Sock)
	onExpired  func(s reactor.Sock)
	onFired    func(tag uint64)
	onTurnEnd  func()
}

// start makes a bench with a listener that accepts.
func start(t *testing.T, make Make, o reactor.Options) *bench {
	t.Helper()
	return startListening(t, make, o, false)
}

func startListening(t *testing.T, make Make, o reactor.Options, unix bool) *bench {
	t.Helper()
	b := &bench{t: t, f: make(t, o), socks: map[reactor.Sock]*socket{}, echoing: map[reactor.Sock]bool{}}
	b.r = b.f.Reactor()
	fd, dial := b.f.Listen(unix)
	l, err := b.r.Listen(fd)
	if err != nil {
		t.Fatal(err)
	}
	b.l, b.dial = l, dial
	b.r.Receive(l)
	t.Cleanup(func() {
		if err := b.r.Shut(); err != nil {
			t.Errorf("Shut: %v", err)
		}
	})
	return b
}

// until turns until cond holds.
func (b *bench) until(why string, cond func() bool) {
	b.t.Helper()
	if !b.f.Until(b, cond) {
		b.t.Fatalf("waited in vain: %s", why)
	}
}

// settle turns until everything that is under way has happened: the reactor has
// had a turn for each of several posted functions.
func (b *bench) settle() {
	b.t.Helper()
	for range 5 {
		done := false
		b.r.Post(func() { done = true })
		b.until("posted function", func() bool { return done })
	}
}

// connect dials and gives both ends.
func (b *bench) connect() (reactor.Sock, Peer) {
	b.t.Helper()
	before := len(b.order)
	p := b.dial()
	b.until("accepted", func() bool { return len(b.order) > before })
	return b.order[before], p
}

// get is the record of a socket.
func (b *bench) get(s reactor.Sock) *socket {
	k := b.socks[s]
	if k == nil {
		b.t.Fatalf("%#x was never heard of", s)
	}
	return k
}

// send sends data, and does not wait.
func (b *bench) send(s reactor.Sock, data []byte) {
	k := b.get(s)
	k.sending, k.sendBytes = true, len(data)
	b.r.Send(s, data)
}

func (b *bench) sendVec(s reactor.Sock, bufs [][]byte) {
	k := b.get(s)
	k.sending, k.sendBytes = true, 0
	for _, data := range bufs {
		k.sendBytes += len(data)
	}
	b.r.SendVec(s, bufs)
}

// close closes and waits until it is done.
func (b *bench) close(s reactor.Sock) {
	b.t.Helper()
	b.giveUp(s)
	b.until("closed", func() bool { return b.get(s).closed })
}

func (b *bench) giveUp(s reactor.Sock) {
	b.get(s).gaveUp = true
	b.r.Close(s)
}

// receiveAll wants exactly these bytes on s.
func (b *bench) wantGot(why string, s reactor.Sock, want []byte) {
	b.t.Helper()
	b.until(why, func() bool { return len(b.get(s).got) >= len(want) })
	if got := b.get(s).got; !bytes.Equal(got, want) {
		b.t.Fatalf("%s: received %s, want %s", why, short(got), short(want))
	}
}

// live is the record of a socket that events may still be about.
func (b *bench) live(s reactor.Sock, event string) *socket {
	k := b.get(s)
	if k.closed || k.gaveUp && event != "Sent" && event != "FileRead" && event != "Closed" {
		b.t.Errorf("%s of %#x after Close", event, s)
	}
	return k
}

func (b *bench) Accepted(l, s reactor.Sock, peer netip.AddrPort) {
	if l != b.l {
		b.t.Errorf("accepted on %#x, not on %#x", l, b.l)
	}
	if b.socks[s] != nil {
		b.t.Errorf("socket %#x came twice", s)
	}
	for other, k := range b.socks {
		if other.Index() == s.Index() && !k.closed {
			b.t.Errorf("%#x has the slot of %#x, which was not closed", s, other)
		}
	}
	b.socks[s] = &socket{peer: peer}
	b.order = append(b.order, s)
	if b.onAccepted != nil {
		b.onAccepted(s)
	}
}

func (b *bench) AcceptFailed(l reactor.Sock, err error) { b.failed = append(b.failed, err) }

func (b *bench) Connected(s reactor.Sock, err error) {
	k := b.live(s, "Connected")
	if k.connected {
		b.t.Error("Connected twice")
	}
	k.connected, k.connErr = true, err
}

func (b *bench) Received(s reactor.Sock, data []byte, id reactor.BufID) bool {
	k := b.live(s, "Received")
	if len(data) == 0 || k.ended {
		b.t.Errorf("Received %d bytes, after the end: %v", len(data), k.ended)
	}
	if k.echo {
		k.pending = append(k.pending, data...)
		b.echoing[s] = true
	} else {
		k.got = append(k.got, data...)
	}
	if b.onReceived != nil {
		return b.onReceived(s, data, id)
	}
	for i := range data {
		data[i] = 0xee // it may be written over
	}
	return false
}

func (b *bench) ReceiveEnded(s reactor.Sock, err error) {
	k := b.live(s, "ReceiveEnded")
	if k.ended {
		b.t.Error("ReceiveEnded twice")
	}
	k.ended, k.endErr = true, err
	if b.onEnded != nil {
		b.onEnded(s)
	}
}

func (b *bench) Sent(s reactor.Sock, err error) {
	k := b.live(s, "Sent")
	if !k.sending {
		b.t.Error("Sent without Send")
	}
	k.sending, k.sendErr = false, err
	k.sent++
	if err == nil {
		k.sentBytes += k.sendBytes
	}
	if k.echo {
		b.echoing[s] = true
	}
	if b.onSent != nil {
		b.onSent(s)
	}
}

func (b *bench) FileRead(s reactor.Sock, n int, err error) {
	k := b.live(s, "FileRead")
	k.fileReads++
	k.fileN, k.fileErr = n, err
}

func (b *bench) Expired(s reactor.Sock) {
	b.live(s, "Expired").expired++
	if b.onExpired != nil {
		b.onExpired(s)
	}
}

func (b *bench) Fired(tag uint64) {
	b.fired = append(b.fired, tag)
	if b.onFired != nil {
		b.onFired(tag)
	}
}

func (b *bench) Closed(s reactor.Sock) {
	if s == b.l {
		return
	}
	k := b.live(s, "Closed")
	if !k.gaveUp || k.sending {
		b.t.Errorf("Closed: Close was called: %v, a Send is in flight: %v", k.gaveUp, k.sending)
	}
	k.closed = true
}

func (b *bench) TurnEnd() {
	for s := range b.echoing {
		delete(b.echoing, s)
		b.echoNow(s)
	}
	if b.onTurnEnd != nil {
		b.onTurnEnd()
	}
}

// echoNow sends what is to be echoed, and closes after the last.
func (b *bench) echoNow(s reactor.Sock) {
	k := b.get(s)
	if k.sending || k.gaveUp {
		return
	}
	if len(k.pending) > 0 {
		data := k.pending
		k.pending = nil
		b.send(s, data)
	}
}
