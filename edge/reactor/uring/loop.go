// The turn: submit, reap, hand over, act.

package uring

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// Run turns until Stop: submit and wait in one system call, reap all, hand it
// over, act. The first Run makes the calling goroutine's thread the ring's; a
// later one must come from the same thread.
func (r *Reactor) Run(h reactor.Handler) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.Handler, r.Stopped = h, false
	if !r.enabled {
		if err := r.ring.enable(); err != nil {
			return err
		}
		r.enabled, r.thread = true, unix.Gettid()
		r.armWake()
	}
	// The kernel would refuse it, too, but a descriptor registered with the ring is
	// the thread's own: on another it may be another ring, and that one waits.
	if r.thread != unix.Gettid() {
		return errors.New("the ring belongs to the thread of the first Run")
	}
	for !r.Stopped {
		r.prepare()
		if err := r.enter(); err != nil {
			return err
		}
		r.turn()
		r.Yield()
	}
	return nil
}

// prepare completes what is submitted next.
func (r *Reactor) prepare() {
	r.bufs.fill()
	r.feedStarved()
	r.armTimer()
	if len(r.backlog) > 0 {
		r.drainBacklog()
	}
}

// enter submits, and waits unless something is to be done already.
func (r *Reactor) enter() error {
	head, tail := r.ring.ready()
	var errno syscall.Errno
	if head != tail || len(r.resumed) > 0 || len(r.backlog) > 0 || r.Wheel.Ready() {
		errno = r.ring.poll()
	} else {
		errno = r.ring.wait(r.gather.next(r.Read().Sub(r.Now())))
	}
	switch errno {
	case 0, syscall.EINTR, syscall.ETIME:
	case syscall.EBUSY:
		// Completions wait for room in their queue: reaping makes it.
	case syscall.EAGAIN:
		// The kernel is short of memory; it asks to be tried again.
		if head, tail := r.ring.ready(); head == tail {
			time.Sleep(time.Millisecond)
		}
	case syscall.EBADR:
		return fmt.Errorf("io_uring_enter: completions were lost, for the kernel was out of memory: %w", errno)
	default:
		return fmt.Errorf("io_uring_enter: %w", errno)
	}
	return nil
}

// Flush submits what was filled so far. What the kernel does not take now, the next
// turn submits.
func (r *Reactor) Flush() {
	if !r.enabled {
		return
	}
	if len(r.backlog) > 0 {
		r.drainBacklog()
	}
	_ = r.ring.submit()
}

// turn hands over everything that came.
func (r *Reactor) turn() {
	r.Turn()
	r.Wheel.BeginTurn()
	head, tail := r.ring.ready()
	r.gather.begin(r.Now())
	for ; head != tail; head++ {
		e := r.ring.at(head)
		r.complete(e.UserData, e.Res, e.Flags)
	}
	r.ring.seen(head)
	r.gather.reaped()
	r.deliverResumed()
	r.expire()
	r.TrimLater()
	r.Handler.TurnEnd()
}

// complete dispatches one completion.
func (r *Reactor) complete(user uint64, res int32, flags uint32) {
	s, o := splitUserData(user)
	switch o {
	case opCancel, opTimerUpdate:
		return
	case opTimer:
		r.timerAt = 0
		return
	case opWake:
		r.Wake.Run()
		r.armWake()
		return
	}
	r.Worked()
	sl := r.slots.Find(s)
	if sl == nil {
		panic("BUG: completion of a slot that is free")
	}
	if flags&giouring.CQEFMore == 0 {
		sl.Pending--
	}
	switch o {
	case opRecv:
		r.gather.came()
		if res > 0 {
			r.answered(sl)
		}
	case opSend, opConnect:
		r.gather.sent(sl.Op.sentIn)
	}
	switch o {
	case opRecv:
		r.received(sl, res, flags)
	case opSend:
		r.sent(sl, res)
	case opAccept:
		r.acceptable(sl, res, flags)
	case opRead:
		r.fileRead(sl, res)
	case opConnect:
		r.connected(sl, res)
	}
	if sl.State == reactor.SlotClosing && sl.Pending == 0 {
		r.slots.Free(sl)
		r.Handler.Closed(s)
	}
}

// expire hands over the timers whose time has come.
func (r *Reactor) expire() {
	for {
		e, ok := r.Wheel.Expire(r.Now())
		if !ok {
			return
		}
		switch e.Kind {
		case reactor.ExpirySocket:
			r.Handler.Expired(reactor.Sock(e.Tag))
		case reactor.ExpiryAfter:
			r.Handler.Fired(e.Tag)
		case reactor.ExpiryOwn:
			r.own(reactor.Sock(e.Tag))
		}
	}
}

// own handles a timer of the reactor's own: a listener's rest, or with no socket
// the time to trim.
func (r *Reactor) own(s reactor.Sock) {
	if s != 0 {
		r.rested(s)
		return
	}
	if r.TrimDue() {
		r.Trim(r.bufs.trim())
	}
}

// armTimer has the ring's one timeout go off when the wheel next has something.
// One that goes off too early is harmless and is left alone.
func (r *Reactor) armTimer() {
	next := r.Wheel.Next()
	if next == 0 || r.timerAt != 0 && r.timerAt <= next {
		return
	}
	r.fixed.timeout = syscall.NsecToTimespec(max(0, int64(next.Sub(r.Read()))))
	at := uint64(uintptr(unsafe.Pointer(&r.fixed.timeout)))
	e := r.entry()
	if r.timerAt == 0 {
		*e = sqe{OpCode: giouring.OpTimeout, Fd: -1, Addr: at, Len: 1, UserData: userData(0, opTimer)}
	} else {
		*e = sqe{OpCode: giouring.OpTimeoutRemove, Flags: giouring.SqeCQESkipSuccess, Fd: -1,
			Addr: userData(0, opTimer), Off: at, OpcodeFlags: giouring.TimeoutUpdate,
			UserData: userData(0, opTimerUpdate)}
	}
	r.timerAt = next
}

// armWake waits for the eventfd of Post.
func (r *Reactor) armWake() {
	*r.entry() = sqe{OpCode: giouring.OpRead, Fd: int32(r.Wake.FD()),
		Addr: uint64(uintptr(unsafe.Pointer(&r.fixed.wake))), Len: 8, UserData: userData(0, opWake)}
}
