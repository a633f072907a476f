// Package sim is the reactor for tests: the same contract over an imagined
// kernel in one goroutine, with a clock that only the test moves and every
// choice (how much is read, in which order, how late) drawn from a seed.
//
//	s := sim.New(t, sim.Options{})
//	l := s.Listener("edge:443")
//	… hand l.FD to the code under test, which calls Listen and Receive …
//	s.Attach(handler)
//	p := l.Dial()
//	p.Write("GET / HTTP/1.1\r\n…")
//	p.Want("the page", "HTTP/1.1 200 OK\r\n…")
//	s.Advance(time.Minute)
//	p.WantEOF("idle for a minute")
//	s.WantClean()
//
// A failed test prints its seed; EDGE_SIM_SEED=n in the environment replays it.
//
// It is stricter than a kernel where that finds mistakes: bytes passed to
// Received are overwritten after the call, and buffers when they are put back;
// bytes passed to Send must not change until Sent; a socket closed with unread
// input resets its peer, which then loses some of what it had not read.
package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"edge/edge/reactor"
)

// Options say how hostile the imagined kernel is. The zero value draws a seed
// and uses faults at moderate rates; Calm has none.
type Options struct {
	// Seed of all choices; 0 draws one, or takes EDGE_SIM_SEED.
	Seed uint64

	// Calm: everything at once, whole and in order.
	Calm bool

	// SocketsMax, RecvBytes, RecvBuffers, BufferBytes: as in reactor.Options, but
	// small by default so that limits are met.
	SocketsMax, RecvBytes, RecvBuffers, BufferBytes int

	// PipeBytes is what the kernel holds for a socket in each direction.
	PipeBytes int
}

// Defaults of Options.
const (
	socketsMaxDefault  = 1024
	recvBytesDefault   = 4 << 10
	recvBuffersDefault = 64
	bufferBytesDefault = 64 << 20
	pipeBytesDefault   = 64 << 10
)

// conn is what the imagined kernel and the reactor know of one socket.
type conn struct {
	listener *Listener
	resting  bool
	want     bool
	peer     *Peer

	ended bool // the end of receiving was reported

	sending  bool
	out      []byte // what is being sent
	outWas   []byte // a copy, to see that nobody changes it
	done     int
	shutdown bool

	reading bool
	read    fileRead
}

type slot = reactor.Slot[conn]

// Reactor is a reactor.Reactor over an imagined kernel.
type Reactor struct {
	t    testing.TB
	o    Options
	seed uint64
	rng  *rand.Rand

	pool  *reactor.Buffers
	slots reactor.Slots[conn]
	wheel *reactor.Wheel
	clock clock
	h     reactor.Handler

	recv      [][]byte // receive buffers by number
	recvFree  []int
	recvOut   int // delivered or kept
	recvKept  []bool
	listeners map[int]*Listener
	backends  map[string]*Backend
	files     map[int]*File
	nextFD    int
	peers     []*Peer
	dialled   int

	failAccept  []error
	failConnect []error

	mu      sync.Mutex
	posted  []func()
	wakeup  *sync.Cond
	stopped bool
}

var _ reactor.Reactor = (*Reactor)(nil)

// New makes a simulated reactor for the test t.
func New(t testing.TB, o Options) *Reactor {
	t.Helper()
	o.fill()
	s := &Reactor{
		t: t, o: o, seed: o.Seed,
		rng:       rand.New(rand.NewPCG(o.Seed, o.Seed)),
		slots:     reactor.NewSlots[conn](o.SocketsMax),
		clock:     newClock(),
		listeners: map[int]*Listener{},
		backends:  map[string]*Backend{},
		files:     map[int]*File{},
		nextFD:    1 << 20,
	}
	s.wheel = reactor.NewWheel(s.clock.now)
	s.wakeup = sync.NewCond(&s.mu)
	var err error
	if s.pool, err = reactor.NewBuffers(o.BufferBytes, 0); err != nil {
		t.Fatal(err)
	}
	s.pool.SpoilOnPut()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sim: EDGE_SIM_SEED=%d replays this", s.seed)
		}
		_ = s.pool.Close()
	})
	return s
}

func (o *Options) fill() {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&o.SocketsMax, socketsMaxDefault)
	fill(&o.RecvBytes, recvBytesDefault)
	fill(&o.RecvBuffers, recvBuffersDefault)
	fill(&o.BufferBytes, bufferBytesDefault)
	fill(&o.PipeBytes, pipeBytesDefault)
	if env := os.Getenv("EDGE_SIM_SEED"); env != "" {
		seed, err := strconv.ParseUint(env, 10, 64)
		if err != nil {
			panic("EDGE_SIM_SEED: " + err.Error())
		}
		o.Seed = seed
	}
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
}

// Explore runs a test on that many simulations, each with a seed of its own: 1
// and up, or the one of EDGE_SIM_SEED alone.
func Explore(t *testing.T, seeds int, o Options, test func(t *testing.T, s *Reactor)) {
	t.Helper()
	if os.Getenv("EDGE_SIM_SEED") != "" {
		test(t, New(t, o))
		return
	}
	for seed := 1; seed <= seeds; seed++ {
		o.Seed = uint64(seed)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { test(t, New(t, o)) })
	}
}

// Seed is the seed that replays this simulation.
func (s *Reactor) Seed() uint64 { return s.seed }

// Attach sets the handler for Step, Idle and Advance.
func (s *Reactor) Attach(h reactor.Handler) { s.h = h }

// Listen starts accepting on a Listener's FD.
func (s *Reactor) Listen(fd int) (reactor.Sock, error) {
	l := s.listeners[fd]
	if l == nil {
		return 0, fmt.Errorf("sim: descriptor %d is no Listener's", fd)
	}
	sl := s.slots.Take(reactor.SlotOpen)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op.listener = l
	return sl.Sock, nil
}

// Connect starts a connection to a Backend; without one it is refused.
func (s *Reactor) Connect(to reactor.Address) (reactor.Sock, error) {
	if len(s.failConnect) > 0 {
		err := s.failConnect[0]
		s.failConnect = s.failConnect[1:]
		return 0, err
	}
	sl := s.slots.Take(reactor.SlotConnecting)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op.peer = s.newPeer(sl.Sock, netip.AddrPort{})
	sl.Op.peer.backend = s.Backend(to.String())
	sl.Pending++
	return sl.Sock, nil
}

// Receive arms or resumes reading, or accepting.
func (s *Reactor) Receive(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		sl.Op.want = true
	}
}

// PauseReceive stops reading.
func (s *Reactor) PauseReceive(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		sl.Op.want = false
	}
}

// Send starts writing b.
func (s *Reactor) Send(k reactor.Sock, b []byte) {
	sl := s.slots.Live(k)
	if sl == nil {
		return
	}
	if sl.Op.sending {
		panic("BUG: second Send in flight on a socket")
	}
	c := &sl.Op
	c.sending, c.out, c.done = true, b, 0
	c.outWas = append(c.outWas[:0], b...)
	sl.Pending++
}

// TrySend writes at once what there is room for, often less.
func (s *Reactor) TrySend(k reactor.Sock, b []byte) int {
	sl := s.slots.Live(k)
	if sl == nil {
		return 0
	}
	c := &sl.Op
	if c.sending {
		panic("BUG: TrySend with a Send in flight on a socket")
	}
	n := min(len(b), c.peer.room())
	if n == 0 || c.peer.reset || sl.State != reactor.SlotOpen {
		return 0
	}
	n = s.part(n)
	c.peer.sent = append(c.peer.sent, b[:n]...)
	return n
}

// ReadFile reads from a File, or from a descriptor of the test's own.
func (s *Reactor) ReadFile(k reactor.Sock, file int, bufs [][]byte, offset int64) {
	sl := s.slots.Live(k)
	if sl == nil {
		return
	}
	if sl.Op.reading {
		panic("BUG: second ReadFile in flight on a socket")
	}
	reactor.CheckFileBuffers(bufs)
	for _, b := range bufs {
		if !s.pool.Holds(b) {
			panic("BUG: ReadFile into memory that is not from Buffers")
		}
	}
	sl.Op.reading = true
	sl.Op.read = fileRead{file: file, bufs: append([][]byte(nil), bufs...), offset: offset}
	sl.Pending++
}

// ShutdownWrite sends FIN once no Send is in flight.
func (s *Reactor) ShutdownWrite(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		sl.Op.shutdown = true
		s.shutdownIfDue(sl)
	}
}

func (s *Reactor) shutdownIfDue(sl *slot) {
	if sl.Op.shutdown && !sl.Op.sending && sl.Op.peer != nil {
		sl.Op.peer.fin = true
	}
}

// Close gives the socket up.
func (s *Reactor) Close(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		s.close(sl, false)
	}
}

// Abort closes with a reset.
func (s *Reactor) Abort(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		s.close(sl, true)
	}
}

func (s *Reactor) close(sl *slot, reset bool) {
	sl.State = reactor.SlotClosing
	s.wheel.Forget(sl.Sock)
	if p := sl.Op.peer; p != nil {
		p.closedByUs(reset)
	}
	if l := sl.Op.listener; l != nil {
		l.closed = true
	}
}

// SetDeadline sets or clears the deadline of a socket.
func (s *Reactor) SetDeadline(k reactor.Sock, at reactor.Instant) {
	if s.slots.Live(k) != nil {
		s.wheel.SetDeadline(k, at)
	}
}

// After has Fired(tag) called once d has passed on the simulation's clock.
func (s *Reactor) After(d time.Duration, tag uint64) {
	if d <= 0 {
		s.wheel.Soon(tag)
		return
	}
	s.wheel.After(s.clock.now.Add(d), tag)
}

// Recycle gives back a kept receive buffer.
func (s *Reactor) Recycle(id reactor.BufID) {
	if int(id) >= len(s.recvKept) || !s.recvKept[id] {
		panic(fmt.Sprintf("BUG: receive buffer %d recycled that was not kept", id))
	}
	s.recvKept[id] = false
	s.putRecv(int(id))
}

// Buffers is the pool of memory for Send and ReadFile.
func (s *Reactor) Buffers() *reactor.Buffers { return s.pool }

// Now is the simulation's clock.
func (s *Reactor) Now() reactor.Instant { return s.clock.now }

// Wall is Now as a date.
func (s *Reactor) Wall() time.Time { return s.clock.wall() }

// SocketsMax bounds Sock.Index.
func (s *Reactor) SocketsMax() int { return s.slots.Max() }

// FD is -1: there are no descriptors.
func (s *Reactor) FD(reactor.Sock) int { return -1 }

// Post has fn called in a coming turn; from any goroutine.
func (s *Reactor) Post(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posted = append(s.posted, fn)
	s.wakeup.Signal()
}

// Stop ends Run after the current turn.
func (s *Reactor) Stop() { s.stopped = true }

// Shut closes nothing: the test's end does.
func (s *Reactor) Shut() error { return nil }

// FailAccept has the next accept fail, once for each error.
func (s *Reactor) FailAccept(errs ...error) { s.failAccept = append(s.failAccept, errs...) }

// FailConnect has the next Connect fail at once, once for each error.
func (s *Reactor) FailConnect(errs ...error) { s.failConnect = append(s.failConnect, errs...) }

// Check returns what is wrong with the books: sockets other than listeners that
// are open or wait to be closed, receive buffers kept, Buffers not put back.
func (s *Reactor) Check() error {
	var errs []error
	for i := 0; i < s.slots.Top(); i++ {
		sl := s.slots.At(i)
		if sl.State == reactor.SlotFree || sl.Op.listener != nil {
			continue
		}
		errs = append(errs, fmt.Errorf("socket %#x: state %d, want %v, sending %v, reading %v",
			sl.Sock, sl.State, sl.Op.want, sl.Op.sending, sl.Op.reading))
	}
	for id, kept := range s.recvKept {
		if kept {
			errs = append(errs, fmt.Errorf("receive buffer %d is kept", id))
		}
	}
	if n := s.pool.Used(); n != 0 {
		errs = append(errs, fmt.Errorf("%d bytes of Buffers were not put back", n))
	}
	return errors.Join(errs...)
}

// WantClean settles and fails the test if Check finds anything.
func (s *Reactor) WantClean() {
	s.t.Helper()
	s.Idle()
	if err := s.Check(); err != nil {
		s.t.Fatalf("sim: not clean:\n%v", err)
	}
}
