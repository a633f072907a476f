package uring

import (
	"net/netip"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// endings hears of one connection.
type endings struct {
	mute
	r        *Reactor
	sock     reactor.Sock
	received int
	ended    bool
}

func (e *endings) Accepted(_, s reactor.Sock, _ netip.AddrPort) {
	e.sock = s
	e.r.Receive(s)
}

func (e *endings) Received(_ reactor.Sock, b []byte, _ reactor.BufID) bool {
	e.received += len(b)
	return false
}

func (e *endings) ReceiveEnded(reactor.Sock, error) { e.ended = true }

// TestEndBehindBytes: bytes, and right behind them the end, come while the worker
// does something else. Both are heard of, however the end comes.
func TestEndBehindBytes(t *testing.T) {
	reset := func(fd int) {
		if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		unix bool
		end  func(fd int)
		lost int // of the bytes, perhaps
	}{
		{name: "FIN", end: func(int) {}},
		{name: "reset", end: reset, lost: 1},
		{name: "unix", unix: true, end: func(int) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReactor(t, reactor.Options{})
			locked(t, r)
			l, err := reactor.ListenTCP("127.0.0.1:0")
			family := unix.AF_INET
			if c.unix {
				l, err = reactor.ListenUnix(filepath.Join(t.TempDir(), "s"), 0o600)
				family = unix.AF_UNIX
			}
			if err != nil {
				t.Fatal(err)
			}
			at, err := unix.Getsockname(l)
			if err != nil {
				t.Fatal(err)
			}
			e := &endings{r: r}
			listener, err := r.Listen(l)
			if err != nil {
				t.Fatal(err)
			}
			r.Receive(listener)
			for range 20 {
				e.sock, e.received, e.ended = 0, 0, false
				fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := unix.Connect(fd, at); err != nil {
					t.Fatal(err)
				}
				turns(t, r, e, "accepted", func() bool { return e.sock != 0 })
				one(t, fd)
				turns(t, r, e, "received", func() bool { return e.received == 1 })
				one(t, fd)
				c.end(fd)
				_ = unix.Close(fd)
				turns(t, r, e, "the end", func() bool { return e.ended })
				if e.received < 2-c.lost {
					t.Fatalf("%d of 2 bytes received before the end", e.received)
				}
				r.Close(e.sock)
			}
		})
	}
}

func one(t *testing.T, fd int) {
	t.Helper()
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		t.Fatal(err)
	}
}
