package sim

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"edge/edge/reactor"
)

// echo sends back what it receives, one Send at a time, and closes after FIN or
// a minute. It writes down what it hears.
type echo struct {
	r     *Reactor
	l     reactor.Sock
	bufs  map[reactor.Sock][]byte
	busy  map[reactor.Sock]bool
	end   map[reactor.Sock]bool
	last  reactor.Sock
	file  string // the outcome of the last ReadFile
	trace strings.Builder
	on    func(event string, s reactor.Sock)
}

func (e *echo) note(s reactor.Sock, event string, more ...any) {
	fmt.Fprintln(&e.trace, event, s, fmt.Sprint(more...))
	if e.on != nil {
		e.on(event, s)
	}
}

// newEcho listens on a new listener.
func newEcho(t *testing.T, s *Reactor) (*echo, *Listener) {
	t.Helper()
	e := &echo{r: s, bufs: map[reactor.Sock][]byte{}, busy: map[reactor.Sock]bool{}, end: map[reactor.Sock]bool{}}
	s.Attach(e)
	l := s.Listener("echo")
	var err error
	if e.l, err = s.Listen(l.FD); err != nil {
		t.Fatal(err)
	}
	s.Receive(e.l)
	return e, l
}

func (e *echo) Accepted(_, s reactor.Sock, peer netip.AddrPort) {
	e.last = s
	e.note(s, "accepted", peer)
	e.r.Receive(s)
	e.r.SetDeadline(s, e.r.Now().Add(time.Minute))
}
func (e *echo) AcceptFailed(l reactor.Sock, err error) { e.note(l, "accept failed", err) }
func (e *echo) Connected(s reactor.Sock, err error)    { e.note(s, "connected", err) }
func (e *echo) FileRead(s reactor.Sock, n int, err error) {
	e.file = fmt.Sprint(n, " ", err)
	e.note(s, "file read", e.file)
}
func (e *echo) Expired(s reactor.Sock) { e.note(s, "expired"); e.r.Close(s) }
func (e *echo) Fired(tag uint64)       { e.note(0, "fired", tag) }
func (e *echo) Closed(s reactor.Sock) {
	e.note(s, "closed")
	delete(e.bufs, s)
	delete(e.busy, s)
	delete(e.end, s)
}
func (e *echo) ReceiveEnded(s reactor.Sock, err error) {
	e.note(s, "ended", err)
	e.end[s] = true
	e.flush(s)
}
func (e *echo) Sent(s reactor.Sock, err error) {
	e.note(s, "sent", err)
	e.busy[s] = false
	e.flush(s)
}
func (e *echo) Received(s reactor.Sock, b []byte, _ reactor.BufID) bool {
	e.note(s, "received", len(b))
	e.bufs[s] = append(e.bufs[s], b...)
	e.flush(s)
	return false
}
func (e *echo) TurnEnd() {}

func (e *echo) flush(s reactor.Sock) {
	switch {
	case e.busy[s]:
	case len(e.bufs[s]) > 0:
		b := e.bufs[s]
		e.bufs[s], e.busy[s] = nil, true
		e.r.Send(s, b)
	case e.end[s]:
		e.r.Close(s)
	}
}

func TestEcho(t *testing.T) {
	Explore(t, 50, Options{}, func(t *testing.T, s *Reactor) {
		_, l := newEcho(t, s)
		p, q := l.Dial(), l.Dial()
		p.Write("hello")
		p.Want("echo", "hello")
		p.WantIdle("nothing more")
		long := strings.Repeat("0123456789", 30000)
		q.Write(long)
		q.CloseWrite()
		q.Want("long echo", long)
		q.WantEOF("after FIN")
		s.Advance(59 * time.Second)
		p.WantIdle("not yet")
		s.Advance(2 * time.Second)
		p.WantEOF("idle for a minute")
		s.WantClean()
	})
}

// TestReplay: a seed gives the same history again, and another seed another.
func TestReplay(t *testing.T) {
	history := func(seed uint64) string {
		s := New(t, Options{Seed: seed})
		e, l := newEcho(t, s)
		for i := range 10 {
			p := l.Dial()
			p.Write(strings.Repeat("x", 10000*i))
			p.CloseWrite()
		}
		s.Idle()
		s.WantClean()
		return e.trace.String()
	}
	if os.Getenv("EDGE_SIM_SEED") != "" {
		t.Skip("all seeds are one")
	}
	if history(7) != history(7) {
		t.Error("seed 7 gave two histories")
	}
	if history(7) == history(8) {
		t.Error("seeds 7 and 8 gave one history")
	}
}

// TestCloseWithUnreadInput: as with a kernel, it resets, and the peer loses some
// of what it has not read.
func TestCloseWithUnreadInput(t *testing.T) {
	lost := 0
	Explore(t, 30, Options{}, func(t *testing.T, s *Reactor) {
		e, l := newEcho(t, s)
		e.on = func(event string, k reactor.Sock) {
			if event == "sent" {
				s.PauseReceive(k)
			}
		}
		p := l.Dial()
		p.Write("hello")
		s.Idle()
		p.Write("unread")
		s.Idle()
		s.Close(e.last)
		p.WantReset("closed with unread input")
		if got := string(p.Read()); !strings.HasPrefix("hello", got) {
			t.Fatalf("got %q", got)
		} else if got != "hello" {
			lost++
		}
		s.WantClean()
	})
	if lost == 0 {
		t.Error("no seed has lost anything")
	}
}

// TestMistakesAreFound: what a kernel would let pass for now.
func TestMistakesAreFound(t *testing.T) {
	panics := func(why string, f func()) {
		t.Helper()
		defer func() {
			if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "BUG: ") {
				t.Errorf("%s: panic %v", why, p)
			}
		}()
		f()
	}
	s := New(t, Options{})
	e, l := newEcho(t, s)
	p := l.Dial()
	p.Stalled = true
	s.Idle()

	b := s.Buffers().Get(200000 / 2)[:100000]
	s.Send(e.last, b)
	s.Idle()
	panics("second Send", func() { s.Send(e.last, b) })
	panics("TrySend meanwhile", func() { s.TrySend(e.last, b) })
	b[99999]++
	panics("bytes changed before Sent", func() { s.Step() })
	b[99999]--
	panics("buffer put back before Sent", func() { s.Buffers().Put(b[:0]); s.Step() })

	panics("file read into foreign memory", func() { s.ReadFile(e.last, 0, [][]byte{make([]byte, 10)}, 0) })
	panics("file read into nothing", func() { s.ReadFile(e.last, 0, nil, 0) })
	panics("recycled what was not kept", func() { s.Recycle(3) })
}

// spy keeps the bytes of Received longer than it may.
type spy struct {
	*echo
	seen []byte
}

func (y *spy) Received(_ reactor.Sock, b []byte, _ reactor.BufID) bool {
	y.seen = b
	return false
}

func TestReceivedBytesAreSpoiled(t *testing.T) {
	s := New(t, Options{Calm: true})
	e, l := newEcho(t, s)
	y := &spy{echo: e}
	s.Attach(y)
	l.Dial().Write("hello")
	s.Idle()
	if string(y.seen) != "\xdd\xdd\xdd\xdd\xdd" {
		t.Fatalf("after Received its bytes are %q", y.seen)
	}
}

func TestFiles(t *testing.T) {
	s := New(t, Options{})
	e, l := newEcho(t, s)
	l.Dial()
	s.Idle()
	b := s.Buffers().Get(100)[:100]
	read := func(fd int, offset int64) string {
		e.file = ""
		s.ReadFile(e.last, fd, [][]byte{b}, offset)
		s.Idle()
		return e.file
	}
	f := s.File([]byte("0123456789"))
	if got := read(f.FD, 4); got != "6 <nil>" || string(b[:6]) != "456789" {
		t.Errorf("read %q: %q", got, b[:6])
	}
	f.Data = f.Data[:5]
	if got := read(f.FD, 4); got != "1 <nil>" {
		t.Errorf("truncated: %q", got)
	}
	f.Err = syscall.EIO
	if got := read(f.FD, 4); got != "0 input/output error" {
		t.Errorf("failing: %q", got)
	}
	f.Err, f.Slow = nil, true
	if got := read(f.FD, 0); got != "" {
		t.Errorf("slow: %q", got)
	}
	f.Slow = false
	if s.Idle(); e.file == "" {
		t.Error("slow no longer, and not read")
	}
	name := filepath.Join(t.TempDir(), "real")
	if err := os.WriteFile(name, []byte("real"), 0o600); err != nil {
		t.Fatal(err)
	}
	real, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	if got := read(int(real.Fd()), 0); got != "4 <nil>" || string(b[:4]) != "real" {
		t.Errorf("a real file: %q", got)
	}
	s.Buffers().Put(b[:0])
	s.Close(e.last)
	s.WantClean()
}

// TestFailAccept: it is told, and accepting rests for 100 ms of the clock.
func TestFailAccept(t *testing.T) {
	s := New(t, Options{})
	e, l := newEcho(t, s)
	s.FailAccept(syscall.EMFILE, syscall.EMFILE)
	p := l.Dial()
	p.Write("hello")
	p.WantIdle("accept failed")
	s.Advance(150 * time.Millisecond)
	p.WantIdle("accept failed again")
	s.Advance(100 * time.Millisecond)
	p.Want("made up for", "hello")
	if n := strings.Count(e.trace.String(), "accept failed"); n != 2 {
		t.Errorf("failed %d times", n)
	}
}

func TestConnect(t *testing.T) {
	s := New(t, Options{})
	e, _ := newEcho(t, s)
	good := s.Serve("192.0.2.1:80")
	s.FailConnect(syscall.EMFILE)
	to := reactor.Address{TCP: netip.MustParseAddrPort("192.0.2.1:80")}
	if _, err := s.Connect(to); err != syscall.EMFILE {
		t.Errorf("FailConnect: %v", err)
	}
	k, err := s.Connect(to)
	if err != nil {
		t.Fatal(err)
	}
	p := good.Accept("connect")
	s.Receive(k)
	p.Write("from the backend")
	p.Want("echo", "from the backend")
	s.Close(k)
	p.WantEOF("closed")

	s.Backend("unix:/run/slow").Hang = true
	k, err = s.Connect(reactor.Address{Unix: "/run/slow"})
	if err != nil {
		t.Fatal(err)
	}
	s.SetDeadline(k, s.Now().Add(time.Second))
	s.Advance(2 * time.Second)
	if !strings.Contains(e.trace.String(), fmt.Sprint("expired ", k)) {
		t.Error("connecting hangs, and the deadline did not come")
	}
	e.trace.Reset()
	if k, err = s.Connect(reactor.Address{Unix: "/run/nobody"}); err != nil {
		t.Fatal(err)
	}
	s.Idle()
	if !strings.Contains(e.trace.String(), "connection refused") {
		t.Errorf("connecting to nobody: %s", e.trace.String())
	}
	s.Close(k)
	s.WantClean()
}

// TestCheckFindsLeaks: each kind.
func TestCheckFindsLeaks(t *testing.T) {
	s := New(t, Options{})
	e, l := newEcho(t, s)
	if err := s.Check(); err != nil {
		t.Fatalf("at first: %v", err)
	}
	l.Dial()
	b := s.Buffers().Get(1)
	s.Idle()
	err := s.Check()
	if err == nil || !strings.Contains(err.Error(), "socket 0x") || !strings.Contains(err.Error(), "4096 bytes of Buffers") {
		t.Errorf("an open socket and a buffer: %v", err)
	}
	s.Buffers().Put(b)
	s.Close(e.last)
	s.WantClean()
}

func TestPeerGoesAway(t *testing.T) {
	Explore(t, 20, Options{}, func(t *testing.T, s *Reactor) {
		e, l := newEcho(t, s)
		p := l.Dial()
		p.Write("question")
		p.Close()
		s.Idle()
		if !strings.Contains(e.trace.String(), "received") {
			t.Error("what was written before Close is lost")
		}
		q := l.Dial()
		s.Idle()
		q.Reset()
		e.trace.Reset()
		s.Idle()
		if !strings.Contains(e.trace.String(), syscall.ECONNRESET.Error()) {
			t.Errorf("after a reset: %s", e.trace.String())
		}
		s.WantClean()
	})
}

// TestAdvanceStopsAtEachDeadline: what is due earlier comes earlier, and sees its
// own time.
func TestAdvanceStopsAtEachDeadline(t *testing.T) {
	s := New(t, Options{})
	e, _ := newEcho(t, s)
	start := s.Now()
	var at []time.Duration
	e.on = func(event string, _ reactor.Sock) {
		if event == "fired" {
			at = append(at, s.Now().Sub(start).Round(10*time.Millisecond))
		}
	}
	for i, d := range []time.Duration{3 * time.Second, time.Second, time.Hour} {
		s.After(d, uint64(i))
	}
	wall := s.Wall()
	s.Advance(time.Minute)
	if fmt.Sprint(at) != "[1s 3s]" || s.Now().Sub(start) != time.Minute || s.Wall().Sub(wall) != time.Minute {
		t.Fatalf("fired at %v, now at %v", at, s.Now().Sub(start))
	}
}

// TestStopEndsRun: Run moves the clock by itself.
func TestStopEndsRun(t *testing.T) {
	s := New(t, Options{})
	e, _ := newEcho(t, s)
	e.on = func(event string, _ reactor.Sock) {
		if event == "fired" {
			go s.Post(s.Stop)
		}
	}
	s.After(time.Hour, 1)
	if err := s.Run(e); err != nil {
		t.Fatal(err)
	}
}

// TestSocketsMax: the limit holds for Listen too.
func TestSocketsMax(t *testing.T) {
	s := New(t, Options{SocketsMax: 1})
	newEcho(t, s)
	if _, err := s.Listen(s.Listener("second").FD); !errors.Is(err, reactor.ErrSocketsMax) {
		t.Errorf("Listen: %v", err)
	}
	if _, err := s.Listen(1); err == nil {
		t.Error("a descriptor of no Listener was accepted")
	}
}
