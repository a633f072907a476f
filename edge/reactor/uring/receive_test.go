package uring

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// offline is a reactor whose kernel is the test: completions are made up, and
// what would be submitted is looked at.
type offline struct {
	mute
	t     *testing.T
	r     *Reactor
	sl    *slot
	seen  uint32 // submissions looked at
	heard []string
	keep  bool // what is received is kept
	kept  []reactor.BufID
}

func newOffline(t *testing.T) *offline {
	t.Helper()
	r := newReactor(t, reactor.Options{RecvBytes: 4096, RecvBuffers: 64, RecvLent: 32})
	t.Cleanup(func() { _ = r.Shut() })
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := &offline{t: t, r: r, sl: r.take(fd, reactor.SlotOpen)}
	r.Handler = k
	r.bufs.fill()
	return k
}

func (k *offline) Received(_ reactor.Sock, b []byte, id reactor.BufID) bool {
	k.heard = append(k.heard, string(b))
	if k.keep {
		k.kept = append(k.kept, id)
	}
	return k.keep
}

func (k *offline) ReceiveEnded(_ reactor.Sock, err error) {
	k.heard = append(k.heard, fmt.Sprint("ended ", err))
}

func (k *offline) Sent(_ reactor.Sock, err error) {
	k.heard = append(k.heard, fmt.Sprint("sent ", err))
}
func (k *offline) Closed(reactor.Sock) { k.heard = append(k.heard, "closed") }

// come completes the receive with data.
func (k *offline) come(data string, flags uint32) {
	b := k.r.bufs
	e := b.entries[(int(b.tail)-b.lent)&(len(b.entries)-1)] // the one lent first
	copy(b.bytes(int(e.Bid)), data)
	k.complete(opRecv, int32(len(data)), flags|giouring.CQEFBuffer|uint32(e.Bid)<<giouring.CQEBufferShift)
}

func (k *offline) complete(o op, res int32, flags uint32) {
	k.r.complete(userData(k.sl.Sock, o), res, flags)
}

// want checks what was submitted and heard since the last want.
func (k *offline) want(why, submitted, heard string) {
	k.t.Helper()
	var ops []string
	for ; k.seen != k.r.ring.tail; k.seen++ {
		e := &k.r.ring.sqes[k.seen&uint32(len(k.r.ring.sqes)-1)]
		ops = append(ops, map[uint8]string{giouring.OpRecv: "recv", giouring.OpAsyncCancel: "cancel",
			giouring.OpSend: fmt.Sprint("send ", e.Len), giouring.OpClose: "close"}[e.OpCode])
		if e.OpCode == giouring.OpRecv && e.IoPrio != giouring.RecvMultishot {
			ops[len(ops)-1] += " once"
		}
	}
	if got := strings.Join(ops, ", "); got != submitted {
		k.t.Fatalf("%s: submitted %q, want %q", why, got, submitted)
	}
	if got := strings.Join(k.heard, ", "); got != heard {
		k.t.Fatalf("%s: the Handler heard %q, want %q", why, got, heard)
	}
	k.heard = nil
}

const more = giouring.CQEFMore

// TestMultishotEnds: each completion without F_MORE arms again exactly once, or
// is the end.
func TestMultishotEnds(t *testing.T) {
	k := newOffline(t)
	s := k.sl.Sock
	k.r.Receive(s)
	k.r.Receive(s)
	k.want("armed once", "recv", "")
	k.come("one", more)
	k.want("and goes on", "", "one")
	k.come("two", 0)
	k.want("ended with bytes", "recv", "two")
	k.complete(opRecv, -int32(unix.ECANCELED), 0)
	k.want("ended by nobody's wish", "recv", "")
	k.complete(opRecv, -int32(unix.ENOBUFS), 0)
	k.want("ended for want of buffers", "", "")
	k.r.Receive(s)
	k.want("Receive does not help", "", "")
	k.r.feedStarved()
	k.r.feedStarved()
	k.want("buffers are there", "recv", "")
	k.come("three", 0)
	k.want("ended with bytes again", "recv", "three")
	k.complete(opRecv, 0, 0)
	k.want("FIN", "", "ended <nil>")
	k.r.Receive(s)
	k.r.PauseReceive(s)
	k.r.Receive(s)
	k.want("after the end", "", "")
	if k.sl.Pending != 0 || k.r.bufs.busy != 0 {
		t.Errorf("%d operations and %d buffers are out", k.sl.Pending, k.r.bufs.busy)
	}
}

// TestNoReceiveWhileBytesAreHeld: what was held back is handed over before more is
// asked for, so that a socket holds what one receive took and no more.
func TestNoReceiveWhileBytesAreHeld(t *testing.T) {
	k := newOffline(t)
	s := k.sl.Sock
	k.r.Receive(s)
	k.want("armed", "recv", "")
	k.r.PauseReceive(s)
	k.come("one", more)
	k.want("paused: bytes are held, the receive is cancelled", "cancel", "")
	k.r.Receive(s)
	k.come("two", more)
	k.complete(opRecv, -int32(unix.ECANCELED), 0)
	k.want("wanted again, and the receive ended: not yet another", "", "")
	k.r.deliverResumed()
	k.want("handed over: now another", "recv", "one, two")

	k.r.PauseReceive(s)
	k.come("three", 0)
	k.r.Receive(s)
	k.r.deliverResumed()
	k.want("ended with held bytes", "recv", "three")
}

// TestReceiveOnceWhileManyAreOut: while many buffers are held back or kept, a
// receive takes one of them, and multishots come back once the buffers do.
func TestReceiveOnceWhileManyAreOut(t *testing.T) {
	k := newOffline(t)
	s := k.sl.Sock
	k.r.Receive(s)
	k.want("armed", "recv", "")
	k.keep = true
	const out = 64/4 + 1
	for range out - 1 {
		k.come("a", more)
	}
	k.come("a", 0)
	k.want("many kept", "recv once", "a"+strings.Repeat(", a", out-1))
	k.come("b", 0)
	k.want("one more", "recv once", "b")
	for _, id := range k.kept {
		k.r.Recycle(id)
	}
	k.keep = false
	k.come("c", 0)
	k.want("with none out", "recv", "c")
	if k.r.bufs.busy != 0 {
		t.Errorf("%d buffers are out", k.r.bufs.busy)
	}
}

// TestUnixReceivesOnce: a unix socket is not trusted to a multishot.
func TestUnixReceivesOnce(t *testing.T) {
	k := newOffline(t)
	k.sl.Op.unix = true
	k.r.Receive(k.sl.Sock)
	k.want("armed", "recv once", "")
	k.come("one", 0)
	k.want("and again", "recv once", "one")
}

// TestPauseInFlight: what completions already carry is held back and comes in
// order, before what comes later.
func TestPauseInFlight(t *testing.T) {
	k := newOffline(t)
	s := k.sl.Sock
	k.r.Receive(s)
	k.want("armed", "recv", "")
	k.r.PauseReceive(s)
	k.want("a pause costs nothing yet", "", "")
	k.come("one", more)
	k.want("unwanted bytes", "cancel", "")
	k.come("two", more)
	k.come("three", more)
	k.want("more of them", "", "")
	k.r.Receive(s)
	k.want("wanted again, delivered in the turn", "", "")
	k.come("four", more)
	k.want("no overtaking", "", "")
	k.r.deliverResumed()
	k.want("in order", "", "one, two, three, four")
	k.complete(opRecv, -int32(unix.ECANCELED), 0)
	k.want("the cancellation arrives late", "recv", "")
	k.come("five", more)
	k.want("as ever", "", "five")

	k.r.PauseReceive(s)
	k.come("six", 0)
	k.want("the last of a multishot, held", "", "")
	k.r.Receive(s)
	k.r.deliverResumed()
	k.want("wanted again", "recv", "six")
	k.r.PauseReceive(s)
	k.come("seven", more)
	k.complete(opRecv, 0, 0)
	k.want("bytes and FIN while paused", "cancel", "")
	k.r.Receive(s)
	k.r.deliverResumed()
	k.want("FIN after the bytes", "", "seven, ended <nil>")
}

// TestCloseInFlight: everything is cancelled before the descriptor is closed,
// late completions are quiet, and the slot is free after the last.
func TestCloseInFlight(t *testing.T) {
	k := newOffline(t)
	s := k.sl.Sock
	k.r.Receive(s)
	k.r.Send(s, make([]byte, 100))
	k.want("armed", "recv, send 100", "")
	k.r.PauseReceive(s)
	k.come("held", more)
	k.want("held", "cancel", "")
	k.r.Close(s)
	k.r.Close(s)
	k.want("closed once", "cancel, close", "")
	k.come("late", more)
	k.complete(opRecv, -int32(unix.ECANCELED), 0)
	k.want("late bytes", "", "")
	k.complete(opClose, 0, 0)
	k.want("the descriptor is closed", "", "")
	if k.r.slots.Find(s) == nil {
		t.Fatal("the slot is free with a send in flight")
	}
	k.complete(opSend, 60, 0)
	k.want("a part was sent", "", "sent operation canceled, closed")
	if k.r.slots.Find(s) != nil || k.r.bufs.busy != 0 {
		t.Fatal("the slot is not free, or a buffer is lost")
	}
}

// TestShortWrites: a send is continued until all is written.
func TestShortWrites(t *testing.T) {
	k := newOffline(t)
	s := k.sl.Sock
	k.r.Send(s, make([]byte, 100))
	k.want("all", "send 100", "")
	k.complete(opSend, 30, 0)
	k.want("short", "send 70", "")
	k.complete(opSend, -int32(unix.EINTR), 0)
	k.want("interrupted", "send 70", "")
	k.complete(opSend, -int32(unix.EAGAIN), 0)
	k.want("again", "send 70", "")
	k.complete(opSend, 69, 0)
	k.want("short by one", "send 1", "")
	k.complete(opSend, 1, 0)
	k.want("the last", "", "sent <nil>")
	k.r.Send(s, make([]byte, 100))
	k.complete(opSend, 50, 0)
	k.complete(opSend, -int32(unix.EPIPE), 0)
	k.want("failed half-way", "send 100, send 50", "sent broken pipe")
}
