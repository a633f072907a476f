// Writing to sockets.

package epoll

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// Send starts writing b: at once as much as the kernel takes, the rest when it
// has room.
func (r *Reactor) Send(s reactor.Sock, b []byte) {
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	if sl.Op.sending {
		panic("BUG: second Send in flight on a socket")
	}
	sl.Op.sending, sl.Op.out, sl.Op.done = true, b, 0
	sl.Pending++
	if !sl.Op.nextBuffer() {
		r.finish(s, outcomeSent, 0, 0)
		return
	}
	r.write(sl)
}

// SendVec starts writing bufs, with a system call for each.
func (r *Reactor) SendVec(s reactor.Sock, bufs [][]byte) {
	reactor.CheckSendBuffers(bufs)
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	if !sl.Op.sending {
		sl.Op.more = append(sl.Op.more[:0], bufs[1:]...)
	}
	r.Send(s, bufs[0])
}

// nextBuffer goes on to a buffer that has bytes left; false: there is none.
func (c *conn) nextBuffer() bool {
	for c.done == len(c.out) {
		if len(c.more) == 0 {
			return false
		}
		c.out, c.done, c.more = c.more[0], 0, c.more[1:]
	}
	return true
}

// resumeWrite goes on with a Send that waited.
func (r *Reactor) resumeWrite(sl *slot) {
	if sl.Op.sending && sl.Op.done < len(sl.Op.out) {
		r.write(sl)
	}
}

// write writes until all is written, or the kernel says "again".
func (r *Reactor) write(sl *slot) {
	c := &sl.Op
	for c.writable {
		n, errno := write(c.fd, c.out[c.done:])
		switch {
		case errno == unix.EAGAIN:
			c.writable = false
			return
		case errno == unix.EINTR:
			continue
		case errno != 0:
			c.done, c.more = len(c.out), nil // no more of it
			r.finish(sl.Sock, outcomeSent, 0, errno)
			return
		}
		if c.done += n; !c.nextBuffer() {
			r.finish(sl.Sock, outcomeSent, 0, 0)
			return
		}
	}
}

// write is send(2); the raw system call does not sleep.
func write(fd int32, b []byte) (n int, errno syscall.Errno) {
	got, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(got), errno
}

// TrySend writes at once what the kernel takes of b.
func (r *Reactor) TrySend(s reactor.Sock, b []byte) int {
	sl := r.slots.Live(s)
	if sl == nil || len(b) == 0 {
		return 0
	}
	if sl.Op.sending {
		panic("BUG: TrySend with a Send in flight on a socket")
	}
	n, errno := write(sl.Op.fd, b)
	if errno != 0 {
		return 0
	}
	return n
}

// ShutdownWrite sends FIN once no Send is in flight.
func (r *Reactor) ShutdownWrite(s reactor.Sock) {
	if sl := r.slots.Live(s); sl != nil {
		sl.Op.shutdown = true
		r.shutdownIfDue(sl)
	}
}

func (r *Reactor) shutdownIfDue(sl *slot) {
	if sl.Op.shutdown && !sl.Op.sending && sl.State == reactor.SlotOpen {
		sl.Op.shutdown = false
		_, _, _ = unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(sl.Op.fd), unix.SHUT_WR, 0)
	}
}
