// Writing to sockets and reading files.

package uring

import (
	"io"
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// Send starts writing b.
func (r *Reactor) Send(s reactor.Sock, b []byte) {
	if sl := r.beginSend(s); sl != nil {
		sl.Op.out, sl.Op.left = b, len(b)
		r.armSend(sl)
	}
}

// SendVec starts writing bufs.
func (r *Reactor) SendVec(s reactor.Sock, bufs [][]byte) {
	reactor.CheckSendBuffers(bufs)
	if len(bufs) == 1 {
		r.Send(s, bufs[0])
		return
	}
	if sl := r.beginSend(s); sl != nil {
		sl.Op.left = r.vectorOf(sl).set(bufs)
		sl.Op.vectored = true
		r.armSend(sl)
	}
}

// beginSend is nil if s cannot send any more.
func (r *Reactor) beginSend(s reactor.Sock) *slot {
	sl := r.slots.Live(s)
	if sl == nil {
		return nil
	}
	if sl.Op.sending {
		panic("BUG: second Send in flight on a socket")
	}
	sl.Op.sending = true
	sl.Op.askedAt = r.Now()
	return sl
}

// answered notes how long the peer took that was heard of now.
func (r *Reactor) answered(sl *slot) {
	if sl.Op.askedAt != 0 {
		r.gather.answered(r.Now().Sub(sl.Op.askedAt))
		sl.Op.askedAt = 0
	}
}

// TrySend writes at once what the kernel takes of b. The system call is a raw
// one: it does not sleep.
func (r *Reactor) TrySend(s reactor.Sock, b []byte) int {
	sl := r.slots.Live(s)
	if sl == nil || len(b) == 0 {
		return 0
	}
	if sl.Op.sending {
		panic("BUG: TrySend with a Send in flight on a socket")
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(sl.Op.fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0
	}
	sl.Op.askedAt = r.Now()
	return int(n)
}

// armSend hands the rest of what is to be sent to the kernel. With MSG_WAITALL
// the kernel itself waits for room and goes on; MSG_NOSIGNAL is not needed on a
// socket of io_uring's but costs nothing.
func (r *Reactor) armSend(sl *slot) {
	c := &sl.Op
	sl.Pending++
	r.gather.atOnce++
	c.sentIn = r.gather.turn
	e := sqe{OpCode: giouring.OpSend, Fd: c.fd, OpcodeFlags: unix.MSG_WAITALL | unix.MSG_NOSIGNAL,
		UserData: userData(sl.Sock, opSend)}
	if c.vectored {
		e.OpCode, e.Len = giouring.OpSendmsg, 1
		e.Addr = uint64(uintptr(unsafe.Pointer(&r.vectorOf(sl).message)))
	} else {
		e.Addr, e.Len = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(c.out)))), uint32(len(c.out))
	}
	*r.entry() = e
}

// sent handles a completion of a send; a short one is continued.
func (r *Reactor) sent(sl *slot, res int32) {
	c := &sl.Op
	if res > 0 {
		r.advance(sl, int(res))
	}
	var err error
	switch {
	case sl.State == reactor.SlotClosing && c.left > 0:
		err = syscall.ECANCELED
	case res == -int32(syscall.EINTR) || res == -int32(syscall.EAGAIN) || res > 0 && c.left > 0:
		r.armSend(sl)
		return
	case res < 0:
		err = syscall.Errno(-res)
	case c.left > 0:
		err = io.ErrShortWrite
	}
	c.sending, c.vectored, c.out = false, false, nil
	r.shutdownIfDue(sl)
	r.Handler.Sent(sl.Sock, err)
}

// advance takes n bytes that were written off what is to be sent.
func (r *Reactor) advance(sl *slot, n int) {
	c := &sl.Op
	c.left -= n
	switch {
	case c.left == 0:
	case c.vectored:
		r.vectorOf(sl).advance(n)
	default:
		c.out = c.out[n:]
	}
}

// ShutdownWrite sends FIN once no Send is in flight. It is a system call of its
// own: through the ring it would cost a kernel thread.
func (r *Reactor) ShutdownWrite(s reactor.Sock) {
	if sl := r.slots.Live(s); sl != nil {
		sl.Op.shutdown = true
		r.shutdownIfDue(sl)
	}
}

func (r *Reactor) shutdownIfDue(sl *slot) {
	if sl.Op.shutdown && !sl.Op.sending && sl.State == reactor.SlotOpen {
		sl.Op.shutdown = false
		_, _, _ = syscall.RawSyscall(syscall.SYS_SHUTDOWN, uintptr(sl.Op.fd), syscall.SHUT_WR, 0)
	}
}

// ReadFile reads from file into bufs.
func (r *Reactor) ReadFile(s reactor.Sock, file int, bufs [][]byte, offset int64) {
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	if sl.Op.reading {
		panic("BUG: second ReadFile in flight on a socket")
	}
	reactor.CheckFileBuffers(bufs)
	sl.Op.reading = true
	sl.Pending++
	r.gather.atOnce++
	e := sqe{OpCode: giouring.OpRead, Fd: int32(file), Off: uint64(offset), UserData: userData(sl.Sock, opRead)}
	if len(bufs) == 1 {
		e.Addr, e.Len = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(bufs[0])))), uint32(len(bufs[0]))
	} else {
		e.OpCode, e.Len = giouring.OpReadv, uint32(len(bufs))
		e.Addr = r.vector(sl, bufs)
	}
	*r.entry() = e
}

// vector writes the vector of bufs into the slot's memory and gives its address.
func (r *Reactor) vector(sl *slot, bufs [][]byte) uint64 {
	mem := r.memory(sl)
	vecs := (*[reactor.FileBuffersMax]syscall.Iovec)(unsafe.Pointer(mem))
	for i, b := range bufs {
		vecs[i].Base, vecs[i].Len = unsafe.SliceData(b), uint64(len(b))
	}
	return uint64(uintptr(unsafe.Pointer(mem)))
}

// memory is the kernel-visible memory of a slot for a ReadFile or a Connect.
func (r *Reactor) memory(sl *slot) *[reactor.FileBuffersMax * iovecBytes]byte {
	return &r.slotMemory(sl).file
}

// vectorOf is that for a SendVec.
func (r *Reactor) vectorOf(sl *slot) *sendVector { return &r.slotMemory(sl).send }

func (r *Reactor) slotMemory(sl *slot) *slotMemory {
	return (*slotMemory)(unsafe.Pointer(&r.slotMem[sl.Sock.Index()*slotMemBytes]))
}

// slotMemory is the kernel-visible memory of a slot. What is never used is never
// touched.
type slotMemory struct {
	file [reactor.FileBuffersMax * iovecBytes]byte // the vector of a ReadFile, or the address of a Connect
	send sendVector
}

const (
	iovecBytes   = int(unsafe.Sizeof(iovec{}))
	slotMemBytes = int(unsafe.Sizeof(slotMemory{}))
)

// fileRead handles a completion of a file read.
func (r *Reactor) fileRead(sl *slot, res int32) {
	sl.Op.reading = false
	if res < 0 {
		r.Handler.FileRead(sl.Sock, 0, syscall.Errno(-res))
		return
	}
	r.Handler.FileRead(sl.Sock, int(res), nil)
}
