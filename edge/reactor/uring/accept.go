// Listeners: told by the ring that somebody waits, and rest after accept failed.

package uring

import (
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// A listener is polled and connections are accepted by system calls, all that wait
// at once. A multishot accept would spare the calls, but the kernel wakes the
// worker for each of its completions, however many it waits for: with 1,500
// connections a second that cost as much as accepting them.

// acceptsMax bounds the connections accepted from one listener in a turn.
const acceptsMax = 64

// Listen takes over a listening socket.
func (r *Reactor) Listen(fd int) (reactor.Sock, error) {
	own, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		return 0, fmt.Errorf("listener %d: %w", fd, err)
	}
	sl := r.take(fd, reactor.SlotOpen)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op.listener, sl.Op.shared = true, own == 0
	return sl.Sock, nil
}

// take gives a slot for fd, nil if there is none.
func (r *Reactor) take(fd int, state reactor.SlotState) *slot {
	sl := r.slots.Take(state)
	if sl != nil {
		sl.Op.fd, sl.Op.heldHead, sl.Op.heldTail = int32(fd), noBuffer, noBuffer
	}
	return sl
}

// armAccept starts polling, unless it is under way or the listener rests. Of the
// workers that share a listener the kernel tells one at a time.
func (r *Reactor) armAccept(sl *slot) {
	c := &sl.Op
	if c.armed || c.resting || !c.want || sl.State != reactor.SlotOpen {
		return
	}
	c.armed = true
	sl.Pending++
	var events uint32 = unix.EPOLLIN
	if c.shared {
		events |= unix.EPOLLEXCLUSIVE
	}
	*r.entry() = sqe{OpCode: giouring.OpPollAdd, Fd: c.fd, Len: giouring.PollAddMulti,
		OpcodeFlags: events, UserData: userData(sl.Sock, opAccept)}
}

// acceptable handles a completion of the poll: connections wait, and are accepted
// once all completions were handed over; or res is an errno.
func (r *Reactor) acceptable(sl *slot, res int32, flags uint32) {
	if flags&giouring.CQEFMore == 0 {
		sl.Op.armed, sl.Op.cancelling = false, false
	}
	switch err := syscall.Errno(-res); {
	case res >= 0:
		r.resume(sl)
	case err != syscall.ECANCELED && err != syscall.EINTR:
		r.acceptFailed(sl, err)
	}
	r.armAccept(sl)
}

// accept takes the connections that wait, for as long as that is wanted; what is
// left after acceptsMax comes in the next turn. Nobody is told of it again.
func (r *Reactor) accept(sl *slot) {
	c := &sl.Op
	for range acceptsMax {
		if !c.want || c.resting || sl.State != reactor.SlotOpen {
			return // the poll is armed anew by and by, and finds them
		}
		size := uint32(syscall.SizeofSockaddrAny)
		fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(c.fd), uintptr(unsafe.Pointer(&r.sockaddr)),
			uintptr(unsafe.Pointer(&size)), unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
			r.welcome(sl, int(fd))
		case unix.EAGAIN:
			return
		case unix.EINTR, unix.ECONNABORTED:
		default:
			r.acceptFailed(sl, errno)
		}
	}
	r.resume(sl)
}

// welcome gives a new connection a slot.
func (r *Reactor) welcome(l *slot, fd int) {
	sl := r.take(fd, reactor.SlotOpen)
	if sl == nil {
		r.closeFD(fd)
		r.acceptFailed(l, reactor.ErrSocketsMax)
		return
	}
	var peer netip.AddrPort // invalid, for unix
	if sl.Op.unix = r.sockaddr.Addr.Family == unix.AF_UNIX; !sl.Op.unix {
		peer = reactor.AddrPortOf(&r.sockaddr)
	}
	r.gather.came()
	r.Handler.Accepted(l.Sock, sl.Sock, peer)
}

// acceptFailed tells the Handler and lets the listener rest.
func (r *Reactor) acceptFailed(sl *slot, err error) {
	if sl.State != reactor.SlotOpen || sl.Op.resting {
		return
	}
	r.rest(sl)
	r.Handler.AcceptFailed(sl.Sock, err)
}

// rest stops accepting for a while.
func (r *Reactor) rest(sl *slot) {
	sl.Op.resting = true
	if sl.Op.armed {
		r.cancelReceive(sl)
	}
	r.Wheel.Own(r.Now().Add(reactor.AcceptRest), uint64(sl.Sock))
}

// rested ends the rest of a listener, if it is still there.
func (r *Reactor) rested(s reactor.Sock) {
	if sl := r.slots.Live(s); sl != nil {
		sl.Op.resting = false
		r.armAccept(sl)
	}
}
