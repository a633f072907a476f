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
// The seed of a test comes from its name, so that a run can be repeated, unless
// EDGE_SIM_SEED in the environment says otherwise: a number replays the test that
// printed it when it failed, "random" draws another one each time.
//
// It is stricter than a kernel where that finds mistakes: bytes passed to
// Received are overwritten after the call, and buffers when they are put back;
// bytes passed to Send must not change until Sent; a socket closed with unread
// input resets its peer, which then loses some of what it had not read.
package sim

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"edge/edge/reactor"
)

// Options say how hostile the imagined kernel is. The zero value has faults at
// moderate rates; Calm has none.
type Options struct {
	// Seed of all choices; 0 takes the one of the test's name. EDGE_SIM_SEED wins.
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
	out      [][]byte // what is being sent
	outWas   []byte   // a copy, to see that nobody changes it
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
	o.fill(t.Name())
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
	if _, timed := t.(*testing.B); !timed {
		s.pool.SpoilOnPut()
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sim: EDGE_SIM_SEED=%d replays this", s.seed)
		}
		_ = s.pool.Close()
	})
	return s
}

func (o *Options) fill(test string) {
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
	switch env := os.Getenv("EDGE_SIM_SEED"); {
	case env == "random":
		o.Seed = rand.Uint64()
	case env != "":
		seed, err := strconv.ParseUint(env, 10, 64)
		if err != nil {
			panic("EDGE_SIM_SEED: " + err.Error())
		}
		o.Seed = seed
	case o.Seed == 0:
		h := fnv.New64a()
		io.WriteString(h, test)
		o.Seed = h.Sum64()
	}
}

// Explore runs a test on that many simulations, each with a seed of its own: 1
// and up, or as many random ones, or the one of EDGE_SIM_SEED alone.
func Explore(t *testing.T, seeds int, o Options, test func(t *testing.T, s *Reactor)) {
	t.Helper()
	if env := os.Getenv("EDGE_SIM_SEED"); env != "" && env != "random" {
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
