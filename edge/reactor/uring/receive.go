// Reading: multishot receive, paused, resumed, starved, ended.

package uring

import (
	"syscall"

	"github.com/pawelgaczynski/giouring"

	"edge/edge/reactor"
)

// Receive arms or resumes reading, or accepting.
func (r *Reactor) Receive(s reactor.Sock) {
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	sl.Op.want = true
	switch {
	case sl.Op.listener:
		r.armAccept(sl)
	case sl.Op.missed():
		r.resume(sl)
	default:
		r.armReceive(sl)
	}
}

// PauseReceive stops reading. The receive stays with the kernel until bytes come
// that nobody wants: most pauses end before that and have cost nothing.
func (r *Reactor) PauseReceive(s reactor.Sock) {
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	sl.Op.want = false
	if sl.Op.listener {
		r.cancelReceive(sl)
	}
}

// missed says that something came while reading was paused.
func (c *conn) missed() bool { return c.heldHead != noBuffer || c.ended && !c.reported }

// armReceive starts a receive, unless there is one: a multishot, or while many
// buffers are held, and on unix sockets, one that takes a single buffer. A multishot takes all that the
// kernel has for the socket, a megabyte perhaps, before it hears that nobody wants
// it; with many paused sockets that is more memory than there is. For the same
// reason there is none while bytes are held back: a peer that sends faster than
// its bytes are taken would fill the memory with them.
//
// On a unix socket a multishot may never tell of the end (seen with Linux 6.18,
// once in some 10,000 connections): it relies on the kernel to say what is left
// behind the bytes it took, and there that does not count an end that comes in the
// same moment.
func (r *Reactor) armReceive(sl *slot) {
	c := &sl.Op
	if c.armed || c.starved || c.missed() || c.ended || !c.want || sl.State != reactor.SlotOpen {
		return
	}
	c.armed = true
	sl.Pending++
	var shots uint16 = giouring.RecvMultishot
	if r.bufs.manyHeld() || c.unix {
		shots = 0
	}
	*r.entry() = sqe{OpCode: giouring.OpRecv, Flags: giouring.SqeBufferSelect, Fd: c.fd,
		IoPrio: shots, BufIG: bufGroup, UserData: userData(sl.Sock, opRecv)}
}

// cancelReceive ends a multishot; what it had already completed comes first.
func (r *Reactor) cancelReceive(sl *slot) {
	c := &sl.Op
	if !c.armed || c.cancelling {
		return
	}
	c.cancelling = true
	o := opRecv
	if c.listener {
		o = opAccept
	}
	r.cancel(userData(sl.Sock, o))
}

// cancel asks for an operation to be cancelled. It goes by user data, for which
// the kernel keeps a hash; to go by descriptor it would walk all operations.
func (r *Reactor) cancel(user uint64) {
	*r.entry() = sqe{OpCode: giouring.OpAsyncCancel, Flags: giouring.SqeCQESkipSuccess, Fd: -1,
		Addr: user, UserData: userData(0, opCancel)}
}

// received handles a completion of a receive.
func (r *Reactor) received(sl *slot, res int32, flags uint32) {
	c := &sl.Op
	if flags&giouring.CQEFMore == 0 {
		c.armed, c.cancelling = false, false
	}
	if flags&giouring.CQEFBuffer != 0 {
		r.receivedBytes(sl, int(flags>>giouring.CQEBufferShift), int(res))
	}
	switch err := syscall.Errno(-res); {
	case res > 0 || sl.State == reactor.SlotClosing:
	case res == 0:
		r.receiveEnded(sl, 0)
	case err == syscall.ENOBUFS:
		r.starve(sl)
	case err != syscall.ECANCELED && err != syscall.EINTR && err != syscall.EAGAIN:
		r.receiveEnded(sl, err)
	}
	r.armReceive(sl)
}

// receivedBytes delivers n bytes in buffer id, or holds them back.
func (r *Reactor) receivedBytes(sl *slot, id, n int) {
	r.bufs.took(id)
	c := &sl.Op
	switch {
	case n <= 0 || sl.State == reactor.SlotClosing:
		r.bufs.put(id)
	case c.want && c.heldHead == noBuffer:
		r.deliver(sl, id, n)
	default:
		r.bufs.hold(&c.heldHead, &c.heldTail, id, n)
		if !c.want {
			r.cancelReceive(sl)
		}
	}
}

func (r *Reactor) deliver(sl *slot, id, n int) {
	b := r.bufs.bytes(id)
	if !r.Handler.Received(sl.Sock, b[:n:n], reactor.BufID(id)) {
		r.bufs.put(id)
	}
}

// receiveEnded notes the end of receiving; the Handler hears of it after the
// bytes that came before.
func (r *Reactor) receiveEnded(sl *slot, err syscall.Errno) {
	c := &sl.Op
	c.ended, c.endErr = true, err
	if c.want && c.heldHead == noBuffer {
		r.reportEnd(sl)
	}
}

func (r *Reactor) reportEnd(sl *slot) {
	sl.Op.reported = true
	if sl.Op.endErr != 0 {
		r.Handler.ReceiveEnded(sl.Sock, sl.Op.endErr)
	} else {
		r.Handler.ReceiveEnded(sl.Sock, nil)
	}
}

// resume queues a socket whose held bytes are wanted again.
func (r *Reactor) resume(sl *slot) {
	if !sl.Op.resuming {
		sl.Op.resuming = true
		r.resumed = append(r.resumed, sl.Sock)
	}
}

// deliverResumed hands over what was held of the sockets resumed so far. Those
// that a Handler resumes meanwhile wait for the next turn.
func (r *Reactor) deliverResumed() {
	n := len(r.resumed)
	for i := 0; i < n; i++ {
		if sl := r.slots.Live(r.resumed[i]); sl != nil {
			sl.Op.resuming = false
			r.deliverHeld(sl)
		}
	}
	r.resumed = r.resumed[:copy(r.resumed, r.resumed[n:])]
}

func (r *Reactor) deliverHeld(sl *slot) {
	c := &sl.Op
	if c.listener {
		r.accept(sl)
		return
	}
	for c.want && c.heldHead != noBuffer && sl.State == reactor.SlotOpen {
		id, n := r.bufs.shift(&c.heldHead, &c.heldTail)
		r.deliver(sl, id, n)
	}
	if c.want && c.ended && !c.reported && sl.State == reactor.SlotOpen {
		r.reportEnd(sl)
	}
	r.armReceive(sl)
}

// dropHeld gives the held buffers of a socket back unread.
func (r *Reactor) dropHeld(sl *slot) {
	c := &sl.Op
	for c.heldHead != noBuffer {
		id, _ := r.bufs.shift(&c.heldHead, &c.heldTail)
		r.bufs.put(id)
	}
}

// starve queues a socket that found no buffer.
func (r *Reactor) starve(sl *slot) {
	if !sl.Op.starved {
		sl.Op.starved = true
		r.starved = append(r.starved, sl.Sock)
	}
}

// feedStarved arms again as many starved sockets as there are buffers lent, in
// the order in which they found none.
func (r *Reactor) feedStarved() {
	n := min(len(r.starved), r.bufs.lent)
	if n == 0 {
		return
	}
	for _, s := range r.starved[:n] {
		if sl := r.slots.Live(s); sl != nil {
			sl.Op.starved = false
			r.armReceive(sl)
		}
	}
	r.starved = r.starved[:copy(r.starved, r.starved[n:])]
}
