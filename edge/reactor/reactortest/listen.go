// Listeners, and the limit of sockets.

package reactortest

import (
	"testing"
	"time"

	"edge/edge/reactor"
)

// testListenerPauses: a paused listener leaves connections waiting.
func testListenerPauses(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	b.connect()
	b.r.PauseReceive(b.l)
	b.settle()
	before := len(b.order)
	b.dial()
	b.settle()
	if len(b.order) > before {
		t.Fatal("a paused listener accepted")
	}
	b.r.Receive(b.l)
	b.until("accepted after the pause", func() bool { return len(b.order) == before+1 })
	b.r.PauseReceive(b.l)
	b.r.Receive(b.l)
	b.r.PauseReceive(b.l)
	b.r.Receive(b.l)
	b.connect()
	for _, s := range b.order {
		b.close(s)
	}
}

// testListenerCloses: its connections live on.
func testListenerCloses(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	b.r.Close(b.l)
	b.settle()
	b.r.Receive(b.l)
	b.r.Receive(s)
	p.Write([]byte("alive"))
	b.wantGot("a connection of a closed listener", s, []byte("alive"))
	b.close(s)
}

// testListenUnix: peers have no address.
func testListenUnix(t *testing.T, make Make) {
	b := startListening(t, make, reactor.Options{}, true)
	s, p := b.connect()
	if b.get(s).peer.IsValid() {
		t.Errorf("a unix peer has address %v", b.get(s).peer)
	}
	b.r.Receive(s)
	p.Write([]byte("local"))
	b.wantGot("bytes", s, []byte("local"))
	b.close(s)
}

// testSocketsMax: with all slots taken accepting fails, says so, and rests; it
// goes on when there are slots again. Connect fails at once.
func testSocketsMax(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{SocketsMax: 8})
	for range 7 {
		b.connect()
	}
	b.dial()
	from := b.r.Now()
	b.until("failed accept", func() bool { return len(b.failed) > 0 })
	if b.failed[0] != reactor.ErrSocketsMax {
		t.Errorf("accept failed with %v", b.failed[0])
	}
	if _, err := b.r.Connect(b.f.Refusing()); err != reactor.ErrSocketsMax {
		t.Errorf("Connect: %v", err)
	}
	for _, s := range b.order {
		b.giveUp(s)
	}
	b.until("closed", func() bool { return b.allClosed() })
	b.connect()
	if n, d := len(b.failed), b.r.Now().Sub(from); n > 2+int(d/(50*time.Millisecond)) {
		t.Errorf("accept failed %d times in %v: no rest in between", n, d)
	}
	b.close(b.order[len(b.order)-1])
}
