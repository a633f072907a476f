// Listeners: multishot accept, and rest after it failed.

package uring

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// Listen takes over a listening socket.
func (r *Reactor) Listen(fd int) (reactor.Sock, error) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return 0, fmt.Errorf("listener %d: %w", fd, err)
	}
	sl := r.take(fd, reactor.SlotOpen)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op.listener, sl.Op.unix = true, domain == unix.AF_UNIX
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

// armAccept starts accepting, unless it is under way or resting.
func (r *Reactor) armAccept(sl *slot) {
	c := &sl.Op
	if c.armed || c.resting || !c.want || sl.State != reactor.SlotOpen {
		return
	}
	c.armed = true
	sl.Pending++
	*r.entry() = sqe{OpCode: giouring.OpAccept, Fd: c.fd, IoPrio: giouring.AcceptMultishot,
		OpcodeFlags: unix.SOCK_CLOEXEC, UserData: userData(sl.Sock, opAccept)}
}

// accepted handles a completion of a multishot accept: res is a descriptor or an
// errno.
func (r *Reactor) accepted(sl *slot, res int32, flags uint32) {
	if flags&giouring.CQEFMore == 0 {
		sl.Op.armed, sl.Op.cancelling = false, false
	}
	switch err := syscall.Errno(-res); {
	case res >= 0:
		r.welcome(sl, int(res))
	case err == syscall.EAGAIN:
		// A kernel that does not wait for connections on a non-blocking socket.
		_ = unix.SetNonblock(int(sl.Op.fd), false)
		r.rest(sl)
	case err != syscall.ECANCELED && err != syscall.ECONNABORTED && err != syscall.EINTR:
		r.acceptFailed(sl, err)
	}
	r.armAccept(sl)
}

// welcome gives a new connection a slot. One that is reset already has no peer:
// it is dropped, so that only unix sockets come without an address.
func (r *Reactor) welcome(l *slot, fd int) {
	var peer netip.AddrPort
	if !l.Op.unix {
		peer = r.peerOf(fd)
	}
	if l.State != reactor.SlotOpen || !l.Op.unix && !peer.IsValid() {
		r.closeFD(fd)
		return
	}
	sl := r.take(fd, reactor.SlotOpen)
	if sl == nil {
		r.closeFD(fd)
		r.acceptFailed(l, reactor.ErrSocketsMax)
		return
	}
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
