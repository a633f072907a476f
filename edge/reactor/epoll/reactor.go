// Package epoll is the reactor where io_uring is refused: the same contract over
// epoll and a system call for every operation. It is slower, and never absent:
// it needs nothing but Linux.
//
// Sockets are registered once, edge-triggered; what the kernel said of each is
// kept, and reads and writes go on until it says "again".
package epoll

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// conn is the reactor's record of one socket.
type conn struct {
	fd   int32
	want bool // Receive was asked for, not PauseReceive since

	known    bool // the outcome of Connect
	listener bool
	resting  bool // a listener that pauses after a failed accept

	readable bool // as far as we know: until a read says "again"
	writable bool
	queued   bool // waits for its turn in Reactor.readable
	ended    bool // the end of receiving was reported

	sending  bool
	shutdown bool // FIN is due once nothing is being sent
	aborted  bool
	reading  bool // a ReadFile is under way

	out  []byte   // what is being sent
	done int      // how much of it was
	more [][]byte // what follows it in the same Send
}

type slot = reactor.Slot[conn]

// Reactor is a reactor.Reactor on epoll.
type Reactor struct {
	reactor.Core

	poll  int
	slots reactor.Slots[conn]
	recv  recvBuffers
	files files

	events    [eventsMax]unix.EpollEvent
	accepting []reactor.Sock // listeners with connections to be accepted
	readable  []reactor.Sock // to be received from
	outcomes  []outcome      // to be handed over in the next turn
	sockaddr  syscall.RawSockaddrAny
	address   [unix.SizeofSockaddrUnix]byte
}

var _ reactor.Reactor = (*Reactor)(nil)

// eventsMax is how many events one wait brings.
const eventsMax = 256

// outcome is an operation that is over; the Handler hears of it in the next turn,
// for it must not be called from the call that started the operation.
type outcome struct {
	sock reactor.Sock
	kind outcomeKind
	n    int
	err  syscall.Errno
}

type outcomeKind uint8

const (
	outcomeSent outcomeKind = iota
	outcomeConnected
	outcomeFileRead
	outcomeClosed
)

// New sets a reactor up. Entries, Completions and RecvLent of the options mean
// nothing here.
func New(o reactor.Options) (*Reactor, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	r := &Reactor{Core: reactor.NewCore(), slots: reactor.NewSlots[conn](o.SocketsMax)}
	if r.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := r.build(o); err != nil {
		_ = r.Shut()
		return nil, err
	}
	return r, nil
}

func (r *Reactor) build(o reactor.Options) (err error) {
	size := o.RecvBuffers * o.RecvBytes
	if r.Pool, err = reactor.NewBuffers(o.BufferBytes, reactor.PageCeil(size)); err != nil {
		return err
	}
	r.recv = recvBuffers{size: o.RecvBytes, max: o.RecvBuffers, mem: r.Pool.Reserve(size)}
	if r.Wake, err = reactor.NewWake(); err != nil {
		return err
	}
	r.files.post = r.Post
	return r.register(r.Wake.FD(), 0, unix.EPOLLIN)
}

// register has events of fd reported with the name of its socket.
func (r *Reactor) register(fd int, s reactor.Sock, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: int32(uint32(s)), Pad: int32(uint32(s >> 32))}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(r.poll), unix.EPOLL_CTL_ADD, uintptr(fd),
		uintptr(unsafe.Pointer(&e)), 0, 0)
	if errno != 0 {
		return os.NewSyscallError("epoll_ctl", errno)
	}
	return nil
}

func sockOf(e *unix.EpollEvent) reactor.Sock {
	return reactor.Sock(uint64(uint32(e.Pad))<<32 | uint64(uint32(e.Fd)))
}

// SocketsMax bounds Sock.Index.
func (r *Reactor) SocketsMax() int { return r.slots.Max() }

// FD is the descriptor of a live socket.
func (r *Reactor) FD(s reactor.Sock) int {
	if sl := r.slots.Live(s); sl != nil {
		return int(sl.Op.fd)
	}
	return -1
}

// SetDeadline sets or clears the deadline of s.
func (r *Reactor) SetDeadline(s reactor.Sock, at reactor.Instant) {
	if r.slots.Live(s) != nil {
		r.Wheel.SetDeadline(s, at)
	}
}

// Recycle gives back a receive buffer that the Handler kept.
func (r *Reactor) Recycle(id reactor.BufID) { r.recv.put(int(id)) }

// Shut closes all sockets and releases everything, when the last file is read.
func (r *Reactor) Shut() error {
	for i := range r.slots.Top() {
		if sl := r.slots.At(i); sl.State != reactor.SlotFree && sl.Op.fd >= 0 {
			_ = unix.Close(int(sl.Op.fd))
		}
	}
	r.files.wait()
	if r.Wake != nil {
		_ = r.Wake.Close()
	}
	err := unix.Close(r.poll)
	if r.Pool != nil {
		err = errors.Join(err, r.Pool.Close())
	}
	return err
}
