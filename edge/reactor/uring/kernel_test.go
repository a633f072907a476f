package uring

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
	"edge/edge/reactor/reactortest"
)

// echoes answers what it receives and counts what it hears.
type echoes struct {
	mute
	r        *Reactor
	l        reactor.Sock
	accepted int
	received int
	closed   int
	failed   []error
	turnEnd  func()
	buf      []byte
	sending  map[reactor.Sock]bool
	owed     map[reactor.Sock][]byte
}

func newEchoes(t *testing.T, r *Reactor) (e *echoes, at unix.Sockaddr) {
	t.Helper()
	fd, err := reactor.ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if at, err = unix.Getsockname(fd); err != nil {
		t.Fatal(err)
	}
	e = &echoes{r: r, sending: map[reactor.Sock]bool{}, owed: map[reactor.Sock][]byte{}}
	if e.l, err = r.Listen(fd); err != nil {
		t.Fatal(err)
	}
	r.Receive(e.l)
	return e, at
}

func (e *echoes) Accepted(_, s reactor.Sock, _ netip.AddrPort) {
	e.accepted++
	e.r.Receive(s)
}
func (e *echoes) AcceptFailed(_ reactor.Sock, err error) { e.failed = append(e.failed, err) }
func (e *echoes) Received(s reactor.Sock, b []byte, _ reactor.BufID) bool {
	e.received++
	e.owed[s] = append(e.owed[s], b...)
	e.flush(s)
	return false
}
func (e *echoes) flush(s reactor.Sock) {
	if b := e.owed[s]; len(b) > 0 && !e.sending[s] {
		e.owed[s], e.sending[s] = nil, true
		e.r.Send(s, b)
	}
}
func (e *echoes) Sent(s reactor.Sock, _ error)         { e.sending[s] = false; e.flush(s) }
func (e *echoes) ReceiveEnded(s reactor.Sock, _ error) { e.r.Close(s) }
func (e *echoes) Closed(reactor.Sock)                  { e.closed++ }
func (e *echoes) TurnEnd() {
	if e.turnEnd != nil {
		e.turnEnd()
	}
}

// client is a connected socket, non-blocking from then on.
func client(t *testing.T, at unix.Sockaddr) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Connect(fd, at); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return fd
}

// locked keeps the test on one thread, as the ring wants, and shuts it in the end.
func locked(t *testing.T, r *Reactor) {
	runtime.LockOSThread()
	t.Cleanup(func() {
		if err := r.Shut(); err != nil {
			t.Errorf("Shut: %v", err)
		}
		runtime.UnlockOSThread()
	})
}

// turns runs turns until cond holds.
func turns(t *testing.T, r *Reactor, e reactor.Handler, why string, cond func() bool) {
	t.Helper()
	f := &reactortest.RealFixture{T: t, R: r}
	if !f.Until(e, cond) {
		t.Fatalf("waited in vain: %s", why)
	}
}

// TestOverflow: far more completions than the queue holds come while the worker
// is held up, again and again. None is lost: as many connections are accepted
// and answered as were made.
func TestOverflow(t *testing.T) {
	const connections = 500
	r := newReactor(t, reactor.Options{Entries: 8, Completions: 16})
	locked(t, r)
	e, at := newEchoes(t, r)
	overflows := 0
	e.turnEnd = func() {
		if r.ring.overflown() {
			overflows++
		}
	}
	var clients []int
	for range connections {
		clients = append(clients, client(t, at))
	}
	turns(t, r, e, "all accepted", func() bool { return e.accepted == connections })
	for round := range 3 {
		for i, fd := range clients {
			if _, err := unix.Write(fd, []byte{byte(i), byte(i >> 8), byte(round)}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond) // the worker is held up; everything is ready
		answered := make([]bool, connections)
		turns(t, r, e, "all answered", func() bool { return answers(t, clients, answered, round) })
	}
	for _, fd := range clients {
		_ = unix.Shutdown(fd, unix.SHUT_WR)
	}
	turns(t, r, e, "all closed", func() bool { return e.closed == connections })
	if overflows == 0 {
		t.Error("the completion queue never overflowed: this test has not tested it")
	}
	if r.slots.Len() != 1 {
		t.Errorf("%d slots are taken, want the listener's", r.slots.Len())
	}
}

// answers reads what has come, and says whether everybody has an answer.
func answers(t *testing.T, clients []int, answered []bool, round int) bool {
	all := true
	for i, fd := range clients {
		if answered[i] {
			continue
		}
		var b [8]byte
		n, err := unix.Read(fd, b[:])
		switch {
		case err == unix.EAGAIN:
			all = false
		case n != 3 || b[0] != byte(i) || b[1] != byte(i>>8) || b[2] != byte(round):
			t.Fatalf("connection %d, round %d: got %v, %v", i, round, b[:max(n, 0)], err)
		default:
			answered[i] = true
		}
	}
	return all
}

// TestInterrupted: signals hit the thread all the time, also while it waits.
func TestInterrupted(t *testing.T) {
	r := newReactor(t, reactor.Options{})
	locked(t, r)
	e, at := newEchoes(t, r)
	fd := client(t, at)
	thread := unix.Gettid()
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Microsecond):
				_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
			}
		}
	}()
	for i := range 100 {
		if _, err := unix.Write(fd, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		turns(t, r, e, "echo", func() bool {
			var b [8]byte
			n, _ := unix.Read(fd, b[:])
			return n == 1 && b[0] == byte(i)
		})
	}
}

// TestFallbacks runs part of the contract with what older kernels offer.
func TestFallbacks(t *testing.T) {
	newReactor(t, reactor.Options{})
	whole := setupFlags
	defer func() { setupFlags = whole }()
	for _, flags := range whole[1:] {
		setupFlags = []uint32{flags}
		t.Run(fmt.Sprintf("flags %#x", flags), func(t *testing.T) {
			reactortest.Run(t, func(t *testing.T, o reactor.Options) reactortest.Fixture {
				r := newReactor(t, o)
				if r.ring.flags != flags {
					t.Fatalf("set up with %#x", r.ring.flags)
				}
				return &reactortest.RealFixture{T: t, R: r}
			}, "Echo", "PauseAndResume", "AllBuffersKept", "SlowReader", "CloseWithSendInFlight",
				"SlotsAndDescriptorsReused", "Post", "Connect", "ReadFile", "RunAgain", "Chaos")
		})
	}
}

// TestSmallQueues runs part of the contract with a submission queue that is full
// all the time.
func TestSmallQueues(t *testing.T) {
	reactortest.Run(t, func(t *testing.T, o reactor.Options) reactortest.Fixture {
		o.Entries, o.Completions = 8, 8
		return &reactortest.RealFixture{T: t, R: newReactor(t, o)}
	}, "Echo", "PauseAndResume", "KeptBuffers", "CloseWhileReceiving", "SlotsAndDescriptorsReused", "Chaos")
}

// TestSubmitRefused: the kernel will not take entries while a turn fills the
// queue over and over. They wait in the backlog and go in their order.
func TestSubmitRefused(t *testing.T) {
	const sends = 40
	r := newReactor(t, reactor.Options{Entries: 8})
	locked(t, r)
	e, at := newEchoes(t, r)
	var clients []int
	for range sends {
		clients = append(clients, client(t, at))
	}
	turns(t, r, e, "all accepted", func() bool { return e.accepted == sends })
	refused := false
	e.turnEnd = func() {
		if refused {
			return
		}
		refused = true
		fd := r.ring.enterFD
		r.ring.enterFD = 1 << 30 // no ring: EBADF or EINVAL
		for i := range sends {
			s := r.slots.At(i + 1).Sock
			r.Send(s, []byte{byte(i)})
			r.ShutdownWrite(s)
			r.Close(s) // cancels what the kernel has not even been given
		}
		r.ring.enterFD = fd
		if len(r.backlog) < sends {
			t.Errorf("backlog of %d entries: this test has not tested it", len(r.backlog))
		}
	}
	turns(t, r, e, "all closed", func() bool { return e.closed == sends })
	for i, fd := range clients {
		var b [8]byte
		if n, err := unix.Read(fd, b[:]); n != 1 || b[0] != byte(i) {
			t.Errorf("connection %d got %d bytes, %v", i, n, err)
		}
	}
}

// TestAcceptsInTurns: connections that wait are accepted all at once, but no more
// than acceptsMax in a turn; none is forgotten, though the kernel tells of them once.
func TestAcceptsInTurns(t *testing.T) {
	const connections = 2*acceptsMax + 7
	r := newReactor(t, reactor.Options{})
	locked(t, r)
	e, at := newEchoes(t, r)
	for range connections {
		client(t, at)
	}
	before, took := 0, 0
	turns(t, r, e, "all accepted", func() bool {
		if n := e.accepted - before; n > acceptsMax {
			t.Fatalf("%d accepted in one turn, at most %d", n, acceptsMax)
		}
		if e.accepted > before {
			took++
		}
		before = e.accepted
		return e.accepted == connections
	})
	if took != 3 {
		t.Errorf("accepted in %d turns, want 3", took)
	}
}

// TestAcceptPaused: while a listener is paused its connections wait, those too
// that came before, and are found when it goes on.
func TestAcceptPaused(t *testing.T) {
	r := newReactor(t, reactor.Options{})
	locked(t, r)
	e, at := newEchoes(t, r)
	client(t, at)
	turns(t, r, e, "accepted", func() bool { return e.accepted == 1 })
	client(t, at)
	r.PauseReceive(e.l)
	sl := r.slots.Live(e.l)
	turns(t, r, e, "paused", func() bool { return !sl.Op.armed })
	client(t, at)
	if e.accepted != 1 {
		t.Fatalf("%d accepted while paused", e.accepted-1)
	}
	r.Receive(e.l)
	turns(t, r, e, "accepted after the pause", func() bool { return e.accepted == 3 })
	if len(e.failed) > 0 {
		t.Errorf("accept failed: %v", e.failed)
	}
}

// TestRunOnAnotherThread: the ring belongs to the thread of the first Run.
func TestRunOnAnotherThread(t *testing.T) {
	r := newReactor(t, reactor.Options{})
	locked(t, r)
	e, _ := newEchoes(t, r)
	before := r.Now()
	turns(t, r, e, "a turn", func() bool { return r.Now() > before })
	err := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err <- r.Run(e)
	}()
	if got := <-err; got == nil {
		t.Fatal("Run on another thread succeeded")
	}
}

// TestShutWithEverythingInFlight: Shut comes back with all memory unmapped and all
// descriptors closed, whatever the kernel had.
func TestShutWithEverythingInFlight(t *testing.T) {
	r := newReactor(t, reactor.Options{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e, at := newEchoes(t, r)
	for range 10 {
		client(t, at)
	}
	turns(t, r, e, "all accepted", func() bool { return e.accepted == 10 })
	big := make([]byte, 8<<20)
	var fds []int
	for i := range 10 {
		s := r.slots.At(i + 1).Sock
		fds = append(fds, r.FD(s))
		r.Send(s, big)
	}
	if s, err := r.Connect(reactor.Address{TCP: netip.MustParseAddrPort("192.0.2.1:9")}); err == nil {
		fds = append(fds, r.FD(s))
	}
	r.Post(r.Stop)
	if err := r.Run(e); err != nil {
		t.Fatal(err)
	}
	if !r.settle() {
		t.Fatal("the kernel did not let go in time")
	}
	if err := r.Shut(); err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
			t.Errorf("descriptor %d is open: %v", fd, err)
		}
	}
}

// TestTurnAllocatesNothing: receive, send, deadline, and the turn around them.
func TestTurnAllocatesNothing(t *testing.T) {
	r := newReactor(t, reactor.Options{})
	locked(t, r)
	e, at := newEchoes(t, r)
	fd := client(t, at)
	turns(t, r, e, "accepted", func() bool { return e.accepted == 1 })
	a := &answerer{r: r, buf: r.Buffers().Get(100)[:100]}
	r.Handler = a
	message := make([]byte, 100)
	exchange := func() {
		before := a.sent
		_, _ = unix.Write(fd, message)
		for a.sent == before {
			r.prepare()
			if err := r.enter(); err != nil {
				t.Fatal(err)
			}
			r.turn()
		}
		_, _ = unix.Read(fd, message)
	}
	exchange()
	if n := testing.AllocsPerRun(200, exchange); n != 0 {
		t.Fatalf("%v allocations for a request and its response", n)
	}
}

// answerer sends the same bytes for whatever comes.
type answerer struct {
	mute
	r    *Reactor
	buf  []byte
	sent int
}

func (a *answerer) Received(s reactor.Sock, _ []byte, _ reactor.BufID) bool {
	a.r.SetDeadline(s, a.r.Now().Add(time.Minute))
	a.r.PauseReceive(s)
	a.r.Send(s, a.buf)
	a.r.After(time.Millisecond, 1)
	return false
}

func (a *answerer) Sent(s reactor.Sock, _ error) {
	a.sent++
	a.r.Receive(s)
}
