// Connections made.

package reactortest

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"edge/edge/reactor"
)

// open connects to a backend and gives both ends.
func (b *bench) open(unix bool) (reactor.Sock, Peer) {
	b.t.Helper()
	at, accept := b.f.Backend(unix)
	s, err := b.r.Connect(at)
	if err != nil {
		b.t.Fatal(err)
	}
	b.socks[s] = &socket{}
	b.r.Receive(s) // before it is connected
	b.until("connected", func() bool { return b.get(s).connected })
	if err := b.get(s).connErr; err != nil {
		b.t.Fatal(err)
	}
	var p Peer
	b.until("accepted by the backend", func() bool {
		if p == nil {
			p = accept()
		}
		return p != nil
	})
	return s, p
}

func testConnect(t *testing.T, make Make)     { connects(t, make, false) }
func testConnectUnix(t *testing.T, make Make) { connects(t, make, true) }

func connects(t *testing.T, make Make, unix bool) {
	b := start(t, make, reactor.Options{})
	s, p := b.open(unix)
	b.send(s, []byte("request"))
	u := &pump{p: p, out: pattern(1, 100000)}
	b.until("both ways", func() bool {
		u.turn()
		return string(u.in) == "request" && len(b.get(s).got) >= 100000
	})
	if !bytes.Equal(b.get(s).got, pattern(1, 100000)) {
		t.Fatal("received other bytes than were sent")
	}
	b.close(s)
}

func testConnectRefused(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, err := b.r.Connect(b.f.Refusing())
	if err != nil {
		t.Fatal(err)
	}
	b.socks[s] = &socket{}
	b.until("outcome", func() bool { return b.get(s).connected })
	if err := b.get(s).connErr; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("connecting to nobody: %v", err)
	}
	b.settle()
	b.close(s)
	for _, wrong := range []reactor.Address{{}, {Unix: string(bytes.Repeat([]byte("x"), 200))}} {
		if s, err := b.r.Connect(wrong); b.f.Real() && (err == nil || s != 0) {
			t.Errorf("Connect to %v: socket %#x, %v", wrong, s, err)
		}
	}
}

// testConnectThenClose: the outcome is not heard after Close.
func testConnectThenClose(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	for range 10 {
		at, _ := b.f.Backend(false)
		s, err := b.r.Connect(at)
		if err != nil {
			t.Fatal(err)
		}
		b.socks[s] = &socket{}
		b.close(s)
		if b.get(s).connected {
			t.Fatal("Connected after Close")
		}
	}
}
