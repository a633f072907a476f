// Connections made, and the end of every connection.

package uring

import (
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"

	"edge/edge/reactor"
)

// Connect starts a connection.
func (r *Reactor) Connect(to reactor.Address) (reactor.Sock, error) {
	fd, err := to.Socket()
	if err != nil {
		return 0, err
	}
	sl := r.take(fd, reactor.SlotConnecting)
	if sl == nil {
		_ = syscall.Close(fd)
		return 0, reactor.ErrSocketsMax
	}
	mem := r.memory(sl)
	n, err := to.Encode(mem[:])
	if err != nil {
		_ = syscall.Close(fd)
		r.slots.Free(sl)
		return 0, err
	}
	sl.Pending++
	sl.Op.sentIn = r.gather.turn
	sl.Op.unix = to.Unix != ""
	r.gather.atOnce++
	*r.entry() = sqe{OpCode: giouring.OpConnect, Fd: int32(fd), Addr: uint64(uintptr(unsafe.Pointer(mem))),
		Off: uint64(n), UserData: userData(sl.Sock, opConnect)}
	return sl.Sock, nil
}

// connected handles the outcome of a connect.
func (r *Reactor) connected(sl *slot, res int32) {
	if sl.State == reactor.SlotClosing {
		return
	}
	sl.State = reactor.SlotOpen
	if res < 0 {
		r.Handler.Connected(sl.Sock, syscall.Errno(-res))
		return
	}
	r.armReceive(sl)
	r.Handler.Connected(sl.Sock, nil)
}

// Close gives a socket up. What it has with the kernel is cancelled and the
// descriptor closed, in this order; Closed comes after the last completion.
func (r *Reactor) Close(s reactor.Sock) {
	if sl := r.slots.Live(s); sl != nil {
		r.close(sl)
	}
}

// Abort closes with a reset.
func (r *Reactor) Abort(s reactor.Sock) {
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	linger := syscall.Linger{Onoff: 1}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_SETSOCKOPT, uintptr(sl.Op.fd), syscall.SOL_SOCKET,
		syscall.SO_LINGER, uintptr(unsafe.Pointer(&linger)), unsafe.Sizeof(linger), 0)
	r.close(sl)
}

func (r *Reactor) close(sl *slot) {
	c := &sl.Op
	r.cancelReceive(sl)
	if c.sending {
		r.cancel(userData(sl.Sock, opSend))
	}
	if sl.State == reactor.SlotConnecting {
		r.cancel(userData(sl.Sock, opConnect))
	}
	sl.State = reactor.SlotClosing
	c.want = false
	r.dropHeld(sl)
	r.Wheel.Forget(sl.Sock)
	sl.Pending++
	r.gather.atOnce++
	*r.entry() = sqe{OpCode: giouring.OpClose, Fd: c.fd, UserData: userData(sl.Sock, opClose)}
	c.fd = -1
}

// closeFD closes a descriptor that has no slot.
func (r *Reactor) closeFD(fd int) {
	*r.entry() = sqe{OpCode: giouring.OpClose, Flags: giouring.SqeCQESkipSuccess, Fd: int32(fd),
		UserData: userData(0, opCancel)}
}
