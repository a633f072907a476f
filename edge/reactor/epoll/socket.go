// Listeners, connections made, and the end of every connection.

package epoll

import (
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// edges is what a socket is registered for, once and for all.
const edges = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// acceptsMax bounds the connections accepted from one listener in a turn.
const acceptsMax = 64

// Listen takes over a listening socket.
func (r *Reactor) Listen(fd int) (reactor.Sock, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return 0, fmt.Errorf("listener %d: %w", fd, err)
	}
	sl := r.slots.Take(reactor.SlotOpen)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op = conn{fd: int32(fd), listener: true}
	if err := r.register(fd, sl.Sock, unix.EPOLLIN|unix.EPOLLET); err != nil {
		r.slots.Free(sl)
		return 0, fmt.Errorf("listener %d: %w", fd, err)
	}
	return sl.Sock, nil
}

// acceptAll goes once through the listeners on which connections wait.
func (r *Reactor) acceptAll() {
	n := len(r.accepting)
	for i := range n {
		if l := r.slots.Live(r.accepting[i]); l != nil {
			l.Op.queued = false
			r.accept(l)
			r.queue(l)
		}
	}
	r.accepting = r.accepting[:copy(r.accepting, r.accepting[n:])]
}

// accept takes what waits, for as long as that is wanted.
func (r *Reactor) accept(l *slot) {
	for range acceptsMax {
		if !l.Op.due() || l.State != reactor.SlotOpen {
			return
		}
		size := uint32(syscall.SizeofSockaddrAny)
		fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(l.Op.fd), uintptr(unsafe.Pointer(&r.sockaddr)),
			uintptr(unsafe.Pointer(&size)), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
		switch errno {
		case 0:
			r.welcome(l, int(fd))
		case unix.EAGAIN:
			l.Op.readable = false
		case unix.EINTR, unix.ECONNABORTED:
		default:
			r.acceptFailed(l, errno)
		}
	}
}

// welcome gives a new connection a slot. Its first events are yet to come.
func (r *Reactor) welcome(l *slot, fd int) {
	sl := r.slots.Take(reactor.SlotOpen)
	if sl == nil {
		_ = unix.Close(fd)
		r.acceptFailed(l, reactor.ErrSocketsMax)
		return
	}
	sl.Op = conn{fd: int32(fd), writable: true}
	if err := r.register(fd, sl.Sock, edges); err != nil {
		r.slots.Free(sl)
		_ = unix.Close(fd)
		r.acceptFailed(l, err)
		return
	}
	var peer netip.AddrPort // invalid, for unix
	if r.sockaddr.Addr.Family != unix.AF_UNIX {
		peer = reactor.AddrPortOf(&r.sockaddr)
	}
	r.Handler.Accepted(l.Sock, sl.Sock, peer)
}

// acceptFailed tells the Handler and lets the listener rest.
func (r *Reactor) acceptFailed(l *slot, err error) {
	l.Op.resting = true
	r.Wheel.Own(r.Now().Add(reactor.AcceptRest), uint64(l.Sock))
	r.Handler.AcceptFailed(l.Sock, err)
}

// Connect starts a connection.
func (r *Reactor) Connect(to reactor.Address) (reactor.Sock, error) {
	n, err := to.Encode(r.address[:])
	if err != nil {
		return 0, err
	}
	fd, err := to.Socket()
	if err != nil {
		return 0, err
	}
	sl := r.slots.Take(reactor.SlotConnecting)
	if sl == nil {
		_ = unix.Close(fd)
		return 0, reactor.ErrSocketsMax
	}
	sl.Op = conn{fd: int32(fd)}
	if err := r.connect(sl, n); err != nil {
		sl.Pending = 0
		r.slots.Free(sl)
		_ = unix.Close(fd)
		return 0, err
	}
	return sl.Sock, nil
}

// connect begins, after which the socket is registered: before, the kernel would
// report it as hung up.
func (r *Reactor) connect(sl *slot, addressBytes int) error {
	fd := int(sl.Op.fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	sl.Pending++
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&r.address[0])), uintptr(addressBytes))
	if errno != unix.EINPROGRESS {
		r.connected(sl, errno)
	}
	return r.register(fd, sl.Sock, edges)
}

// connected notes the outcome of a connect, of which there is one.
func (r *Reactor) connected(sl *slot, errno syscall.Errno) {
	if !sl.Op.known {
		sl.Op.known = true
		r.finish(sl.Sock, outcomeConnected, 0, errno)
	}
}

// askConnected asks for the outcome of a connect that is no longer in progress.
func (r *Reactor) askConnected(sl *slot) {
	value, err := unix.GetsockoptInt(int(sl.Op.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		value = int(unix.EIO)
	}
	r.connected(sl, syscall.Errno(value))
}

// Close gives a socket up.
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
	linger := unix.Linger{Onoff: 1}
	_, _, _ = unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(sl.Op.fd), unix.SOL_SOCKET, unix.SO_LINGER,
		uintptr(unsafe.Pointer(&linger)), unsafe.Sizeof(linger), 0)
	r.close(sl)
}

// close closes the descriptor at once: no operation of the kernel's is on it. A
// Send that waits is over; a file may still be read, and is waited for.
func (r *Reactor) close(sl *slot) {
	c := &sl.Op
	if c.sending && c.done < len(c.out) {
		r.finish(sl.Sock, outcomeSent, 0, unix.ECANCELED)
	}
	if sl.State == reactor.SlotConnecting {
		r.connected(sl, unix.ECANCELED)
	}
	sl.State = reactor.SlotClosing
	c.want = false
	r.Wheel.Forget(sl.Sock)
	sl.Pending++
	r.finish(sl.Sock, outcomeClosed, 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(c.fd), 0, 0)
	c.fd = -1
}
