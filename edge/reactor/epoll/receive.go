// Receive buffers, and reading into them.

package epoll

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// recvBuffers is the receive buffers.
type recvBuffers struct {
	size, max int
	mem       []byte
	free      reactor.FreeList
	next      int    // first buffer never used
	kept      []bool // by the Handler, or being delivered
}

func (b *recvBuffers) have() bool { return b.free.Len() > 0 || b.next < b.max }

func (b *recvBuffers) take() (id int, ok bool) {
	if id, ok := b.free.Take(); ok {
		b.kept[id] = true
		return int(id), true
	}
	if b.next == b.max {
		return 0, false
	}
	b.next++
	b.kept = append(b.kept, true)
	return b.next - 1, true
}

func (b *recvBuffers) put(id int) {
	if id >= b.next || !b.kept[id] {
		panic(fmt.Sprintf("BUG: receive buffer %d given back twice", id))
	}
	b.kept[id] = false
	b.free.Put(int32(id))
}

func (b *recvBuffers) bytes(id int) []byte {
	return b.mem[id*b.size : (id+1)*b.size : (id+1)*b.size]
}

func (b *recvBuffers) trim() (more bool) {
	return b.free.Trim(func(first, count int) { reactor.Discard(b.mem[first*b.size : (first+count)*b.size]) })
}

// readsMax bounds the buffers read from one socket in a turn, so that it does not
// keep the others waiting.
const readsMax = 8

// Receive arms or resumes reading, or accepting.
func (r *Reactor) Receive(s reactor.Sock) {
	if sl := r.slots.Live(s); sl != nil {
		sl.Op.want = true
		r.queue(sl)
	}
}

// PauseReceive stops reading; what comes in waits in the kernel.
func (r *Reactor) PauseReceive(s reactor.Sock) {
	if sl := r.slots.Live(s); sl != nil {
		sl.Op.want = false
	}
}

// due says that there is something to receive that is wanted.
func (c *conn) due() bool { return c.want && c.readable && !c.ended && !c.resting }

// queue has a socket received or accepted from in this turn or the next, if it is
// due.
func (r *Reactor) queue(sl *slot) {
	switch c := &sl.Op; {
	case !c.due() || c.queued || sl.State != reactor.SlotOpen:
	case c.listener:
		c.queued = true
		r.accepting = append(r.accepting, sl.Sock)
	default:
		c.queued = true
		r.readable = append(r.readable, sl.Sock)
	}
}

// receive goes once through the sockets that are readable. Those with more, and
// those for which there was no buffer, stay for the next turn, behind the others.
func (r *Reactor) receive() {
	n := len(r.readable)
	i := 0
	for ; i < n && r.recv.have(); i++ {
		if sl := r.slots.Live(r.readable[i]); sl != nil {
			sl.Op.queued = false
			r.read(sl)
			r.queue(sl)
		}
	}
	r.readable = r.readable[:copy(r.readable, r.readable[i:])]
}

// read receives into a few buffers, for as long as that is wanted.
func (r *Reactor) read(sl *slot) {
	c := &sl.Op
	for range readsMax {
		if !c.due() || sl.State != reactor.SlotOpen {
			return
		}
		id, ok := r.recv.take()
		if !ok {
			return
		}
		b := r.recv.bytes(id)
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(c.fd), uintptr(unsafe.Pointer(&b[0])),
			uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 || n == 0 {
			r.recv.put(id)
			r.readEnded(sl, errno)
			continue
		}
		// No short read is taken for the last: FIN may follow at once.
		if !r.Handler.Received(sl.Sock, b[:n:n], reactor.BufID(id)) {
			r.recv.put(id)
		}
	}
}

// readEnded handles a read that brought nothing.
func (r *Reactor) readEnded(sl *slot, errno syscall.Errno) {
	switch errno {
	case unix.EAGAIN:
		sl.Op.readable = false
	case unix.EINTR:
	default:
		sl.Op.ended = true
		r.Handler.ReceiveEnded(sl.Sock, errorOf(errno))
	}
}
