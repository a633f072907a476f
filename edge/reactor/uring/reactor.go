// The reactor: its records, its memory, the small operations.

package uring

import (
	"syscall"
	"unsafe"

	"edge/edge/reactor"
)

// conn is the reactor's record of one socket.
type conn struct {
	fd   int32
	want bool // Receive was asked for, not PauseReceive since

	listener   bool
	unix       bool // a unix socket: see armReceive
	shared     bool // a listener that other workers accept from, too
	armed      bool // a multishot receive or poll is with the kernel
	cancelling bool // its cancellation was asked for
	starved    bool // waits for buffers in Reactor.starved
	resuming   bool // waits for its turn in Reactor.resumed
	resting    bool // a listener that pauses after a failed accept

	ended    bool // the last of receiving came, with endErr
	reported bool // and the Handler was told
	endErr   syscall.Errno

	sending  bool
	sentIn   uint32          // the turn in which the kernel was given it
	askedAt  reactor.Instant // when something was last sent that nothing was received since; 0: nothing
	shutdown bool            // FIN is due once nothing is being sent
	reading  bool            // a ReadFile is with the kernel

	heldHead, heldTail int32 // received buffers not yet delivered

	out      []byte // what is left to be sent, unless vectored
	left     int    // bytes of it
	vectored bool   // it is in the slot's sendVector
}

type slot = reactor.Slot[conn]

// Reactor is a reactor.Reactor on one io_uring.
type Reactor struct {
	reactor.Core

	ring  *ring
	bufs  *bufRing
	slots reactor.Slots[conn]

	enabled bool
	thread  int // of the first Run
	gather  gatherer

	resumed []reactor.Sock // to be delivered what they missed
	starved []reactor.Sock // to be armed when there are buffers, first come first served
	backlog []sqe          // entries the ring had no room for

	timerAt  reactor.Instant // when the ring's timeout goes off; 0: none
	fixed    *fixed
	slotMem  []byte
	sockaddr syscall.RawSockaddrAny
	opts     reactor.Options
}

var _ reactor.Reactor = (*Reactor)(nil)

// fixed is memory that the kernel reads and writes at a place of its own.
type fixed struct {
	timeout syscall.Timespec
	wake    uint64
}

// New sets a reactor up. An error that is a *RefusedError says that io_uring is
// not to be had here, why, and what would allow it. The reactor belongs to the
// thread that calls Run.
func New(o reactor.Options) (*Reactor, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return nil, err
	}
	r := &Reactor{
		opts:  o,
		slots: reactor.NewSlots[conn](o.SocketsMax),
		Core:  reactor.NewCore(),
	}
	r.gather.most = max(o.GatherTime, 0)
	if r.ring, err = setupSmaller(o, setup); err != nil {
		return nil, err
	}
	if err := r.build(); err != nil {
		_ = r.Shut()
		return nil, err
	}
	return r, nil
}

func (r *Reactor) build() (err error) {
	if err := r.ring.probe(); err != nil {
		return err
	}
	if err := r.mapMemory(); err != nil {
		return err
	}
	r.Wake, err = reactor.NewWake()
	return err
}

// mapMemory maps all memory that the kernel sees, and lends it the first of it.
func (r *Reactor) mapMemory() error {
	o := r.opts
	recv := o.RecvBuffers * o.RecvBytes
	slots := o.SocketsMax * slotMemBytes
	reserved := reactor.PageCeil(recv) + reactor.PageCeil(slots) +
		reactor.PageCeil(bufRingBytes(o)) + reactor.PageCeil(int(unsafe.Sizeof(fixed{})))
	var err error
	if r.Pool, err = reactor.NewBuffers(o.BufferBytes, reserved); err != nil {
		return err
	}
	r.fixed = (*fixed)(unsafe.Pointer(&r.Pool.Reserve(int(unsafe.Sizeof(fixed{})))[0]))
	r.slotMem = r.Pool.Reserve(slots)
	entries := r.Pool.Reserve(bufRingBytes(o))
	r.bufs, err = newBufRing(r.ring, o, r.Pool, entries, r.Pool.Reserve(recv))
	return err
}

// entry gives a submission entry to be assigned as a whole, before the next call
// of entry. When the queue is full it is submitted; if the kernel will not take
// it now, entries go to the backlog and keep their order.
func (r *Reactor) entry() *sqe {
	if len(r.backlog) == 0 {
		if e := r.ring.next(); e != nil {
			return e
		}
		if r.enabled && r.ring.submit() == 0 {
			if e := r.ring.next(); e != nil {
				return e
			}
		}
	}
	r.backlog = append(r.backlog, sqe{})
	return &r.backlog[len(r.backlog)-1]
}

// drainBacklog moves what it can from the backlog to the ring.
func (r *Reactor) drainBacklog() {
	n := 0
	for n < len(r.backlog) {
		e := r.ring.next()
		if e == nil {
			break
		}
		*e = r.backlog[n]
		n++
	}
	r.backlog = r.backlog[:copy(r.backlog, r.backlog[n:])]
}

// op says what a completion is of. It lies between index and generation in the
// 64 bits that a completion carries:
//
//	generation (32) | op (8) | slot index (24)
type op uint8

const (
	opAccept op = iota + 1
	opRecv
	opSend
	opRead
	opConnect
	opClose
	opCancel // completes only if there was nothing to cancel
	opTimer
	opTimerUpdate // completes only if the timeout had gone off already
	opWake
)

const opShift = 24

func userData(s reactor.Sock, o op) uint64 { return uint64(s) | uint64(o)<<opShift }

func splitUserData(u uint64) (reactor.Sock, op) {
	return reactor.Sock(u &^ (0xff << opShift)), op(u >> opShift)
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
func (r *Reactor) Recycle(id reactor.BufID) { r.bufs.put(int(id)) }
