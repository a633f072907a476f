package epoll

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
	"edge/edge/reactor/reactortest"
)

// answerer sends the same bytes for whatever comes, and counts what it hears.
type answerer struct {
	r        *Reactor
	buf      []byte
	socks    []reactor.Sock
	failed   []error
	sent     int
	files    int
	fileN    int
	closed   int
	received int
}

func (a *answerer) Accepted(_, s reactor.Sock, _ netip.AddrPort) {
	a.socks = append(a.socks, s)
	a.r.Receive(s)
}
func (a *answerer) AcceptFailed(_ reactor.Sock, err error)  { a.failed = append(a.failed, err) }
func (a *answerer) Connected(reactor.Sock, error)           {}
func (a *answerer) ReceiveEnded(s reactor.Sock, _ error)    { a.r.Close(s) }
func (a *answerer) FileRead(_ reactor.Sock, n int, _ error) { a.files++; a.fileN += n }
func (a *answerer) Expired(reactor.Sock)                    {}
func (a *answerer) Fired(uint64)                            {}
func (a *answerer) Closed(reactor.Sock)                     { a.closed++ }
func (a *answerer) TurnEnd()                                {}
func (a *answerer) Sent(reactor.Sock, error)                { a.sent++ }
func (a *answerer) Received(s reactor.Sock, b []byte, _ reactor.BufID) bool {
	a.received += len(b)
	a.r.SetDeadline(s, a.r.Now().Add(time.Minute))
	a.r.Send(s, a.buf)
	return false
}

// start makes a reactor with a listener, and dials so many connections.
func start(t *testing.T, connections int) (a *answerer, until func(why string, cond func() bool), fds []int) {
	t.Helper()
	r, err := New(reactor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shut(); err != nil {
			t.Error(err)
		}
	})
	fd, err := reactor.ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Listen(fd)
	if err != nil {
		t.Fatal(err)
	}
	r.Receive(l)
	for range connections {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := unix.Connect(fd, at); err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	a = &answerer{r: r, buf: bytes.Repeat([]byte("x"), 100)}
	f := &reactortest.RealFixture{T: t, R: r}
	return a, func(why string, cond func() bool) {
		t.Helper()
		if !f.Until(a, cond) {
			t.Fatalf("waited in vain: %s", why)
		}
	}, fds
}

func TestTurnAllocatesNothing(t *testing.T) {
	a, until, fds := start(t, 1)
	until("accepted", func() bool { return len(a.socks) == 1 })
	message := make([]byte, 100)
	exchange := func() {
		before := a.sent
		_, _ = unix.Write(fds[0], message)
		for a.sent == before {
			n, err := a.r.wait()
			if err != nil {
				t.Fatal(err)
			}
			a.r.turn(n)
		}
		_, _ = unix.Read(fds[0], message)
	}
	exchange()
	if n := testing.AllocsPerRun(200, exchange); n != 0 {
		t.Fatalf("%v allocations for a request and its response", n)
	}
}

// TestOutOfDescriptors: accepting fails, rests, and is made up for.
func TestOutOfDescriptors(t *testing.T) {
	const connections = 20
	a, until, _ := start(t, connections)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	probe, err := unix.Dup(0) // the lowest free descriptor, as accept gets it
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(probe)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(probe), Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	from := a.r.Now()
	until("failures", func() bool { return len(a.failed) == 2 })
	if d := a.r.Now().Sub(from); d < reactor.AcceptRest {
		t.Errorf("failed twice within %v", d)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, err := range a.failed {
		if err != unix.EMFILE {
			t.Errorf("accept failed with %v", err)
		}
	}
	until("all accepted", func() bool { return len(a.socks) == connections })
}

// TestFilesOnGoroutines: reads that may have to wait go to goroutines, a few at
// a time, and all come back, also those of sockets closed meanwhile.
func TestFilesOnGoroutines(t *testing.T) {
	const connections = 3 * readersMax
	a, until, _ := start(t, connections)
	until("all accepted", func() bool { return len(a.socks) == connections })
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte("y"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, s := range a.socks {
		b := a.r.Buffers().Get(4096)[:4096]
		a.r.ReadFile(s, int(f.Fd()), [][]byte{b}, 100) // across the end: may wait
		if i%3 == 0 {
			a.r.Close(s)
		}
	}
	if len(a.r.files.waiting) != connections-readersMax {
		t.Errorf("%d reads wait, want %d", len(a.r.files.waiting), connections-readersMax)
	}
	until("all read", func() bool { return a.files == connections && a.closed == connections/3 })
	if a.fileN != connections*900 {
		t.Errorf("read %d bytes, want %d", a.fileN, connections*900)
	}
}
