// The turn: wait, hand over, act.

package epoll

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// Run turns until Stop.
func (r *Reactor) Run(h reactor.Handler) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.Handler, r.Stopped = h, false
	for !r.Stopped {
		n, err := r.wait()
		if err != nil {
			return err
		}
		r.turn(n)
		r.Yield()
	}
	return nil
}

// wait brings events: what there is if something else is to be done, else the
// next, or the next deadline.
func (r *Reactor) wait() (n int, err error) {
	timeout := -1
	switch next := r.Wheel.Next(); {
	case len(r.outcomes) > 0 || len(r.accepting) > 0 || r.Wheel.Ready() || r.haveReadable():
		timeout = 0
	case next != 0:
		timeout = int(max(0, next.Sub(r.Read())+time.Millisecond-1) / time.Millisecond)
	}
	var got uintptr
	var errno syscall.Errno
	if timeout == 0 {
		got, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.poll),
			uintptr(unsafe.Pointer(&r.events[0])), eventsMax, 0, 0, 0)
	} else {
		got, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(r.poll),
			uintptr(unsafe.Pointer(&r.events[0])), eventsMax, uintptr(timeout), 0, 0)
	}
	switch errno {
	case 0:
		return int(got), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("epoll_wait: %w", errno)
}

// Flush has nothing to do: operations start when they are asked for.
func (r *Reactor) Flush() {}

// haveReadable says that there is something to be received, and room for it.
func (r *Reactor) haveReadable() bool { return len(r.readable) > 0 && r.recv.have() }

// turn hands over everything that came.
func (r *Reactor) turn(n int) {
	r.Turn()
	r.Wheel.BeginTurn()
	for i := range n {
		r.event(&r.events[i])
	}
	r.deliver()
	r.acceptAll()
	r.receive()
	r.expire()
	r.TrimLater()
	r.Handler.TurnEnd()
}

// event notes what the kernel says of a socket, and goes on with what waited.
func (r *Reactor) event(e *unix.EpollEvent) {
	s := sockOf(e)
	if s == 0 {
		r.woken()
		return
	}
	sl := r.slots.Live(s)
	if sl == nil {
		return // closed in this turn
	}
	r.Worked()
	c := &sl.Op
	if e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.readable = true
		r.queue(sl)
	}
	if e.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return
	}
	c.writable = true
	if sl.State == reactor.SlotConnecting {
		r.askConnected(sl)
		return
	}
	r.resumeWrite(sl)
}

// woken empties the eventfd of Post and calls what was posted.
func (r *Reactor) woken() {
	var b [8]byte
	_, _ = unix.Read(r.Wake.FD(), b[:])
	r.Wake.Run()
}

// deliver hands over the outcomes known when it begins.
func (r *Reactor) deliver() {
	n := len(r.outcomes)
	for i := 0; i < n; i++ {
		o := r.outcomes[i]
		if sl := r.slots.Find(o.sock); sl != nil {
			r.deliverOne(sl, o)
		}
	}
	r.outcomes = r.outcomes[:copy(r.outcomes, r.outcomes[n:])]
}

func (r *Reactor) deliverOne(sl *slot, o outcome) {
	sl.Pending--
	switch o.kind {
	case outcomeSent:
		sl.Op.sending, sl.Op.out = false, nil
		r.shutdownIfDue(sl)
		r.Handler.Sent(o.sock, errorOf(o.err))
	case outcomeFileRead:
		sl.Op.reading = false
		r.Handler.FileRead(o.sock, o.n, errorOf(o.err))
	case outcomeConnected:
		if sl.State == reactor.SlotConnecting {
			sl.State = reactor.SlotOpen
			r.queue(sl)
			r.resumeWrite(sl)
			r.Handler.Connected(o.sock, errorOf(o.err))
		}
	}
	if sl.State == reactor.SlotClosing && sl.Pending == 0 {
		r.slots.Free(sl)
		r.Handler.Closed(o.sock)
	}
}

// errorOf keeps a zero errno from becoming an error.
func errorOf(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// finish queues the outcome of an operation that Pending counts.
func (r *Reactor) finish(s reactor.Sock, kind outcomeKind, n int, err syscall.Errno) {
	r.outcomes = append(r.outcomes, outcome{s, kind, n, err})
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
	if s == 0 {
		if r.TrimDue() {
			r.Trim(r.recv.trim())
		}
		return
	}
	if sl := r.slots.Live(s); sl != nil {
		sl.Op.resting = false
		r.queue(sl)
	}
}
