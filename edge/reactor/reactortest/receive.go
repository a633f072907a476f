// Receiving: paused, resumed, with few buffers, to the end.

package reactortest

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"edge/edge/reactor"
)

// testEcho: bytes come in and go out whole and in order, on many connections.
func testEcho(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	b.onAccepted = func(s reactor.Sock) {
		b.get(s).echo = true
		b.r.Receive(s)
	}
	sizes := []int{1, 174, 4096, 4097, 65536, 300000, 1, 1000}
	var pumps []*pump
	for i, n := range sizes {
		pumps = append(pumps, &pump{p: b.dial(), out: pattern(i, n)})
	}
	b.until("echo", func() bool {
		done := true
		for i, u := range pumps {
			u.turn()
			done = done && len(u.in) >= sizes[i]
		}
		return done
	})
	for i, u := range pumps {
		if !bytes.Equal(u.in, pattern(i, sizes[i])) {
			t.Errorf("connection %d: %s came back", i, short(u.in))
		}
		if s := b.order[i]; b.get(s).peer.Port() == 0 {
			t.Errorf("connection %d has no peer address", i)
		}
	}
	for _, s := range b.order {
		b.close(s)
	}
}

// testStartsPaused: nothing is received before it is asked for, and asking twice
// is asking once.
func testStartsPaused(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	p.Write([]byte("early"))
	b.settle()
	if got := b.get(s).got; len(got) > 0 {
		t.Fatalf("received %s unasked", short(got))
	}
	b.r.Receive(s)
	b.r.Receive(s)
	b.wantGot("early bytes", s, []byte("early"))
	b.close(s)
}

// testPauseHoldsBytes: while paused nothing is delivered, whatever comes in, and
// nothing of it is lost.
func testPauseHoldsBytes(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	b.r.Receive(s)
	p.Write([]byte("one"))
	b.wantGot("first bytes", s, []byte("one"))
	b.r.PauseReceive(s)
	want := pattern(1, 100000)
	u := &pump{p: p, out: want}
	for range 20 {
		u.turn()
		b.settle()
	}
	if got := b.get(s).got; len(got) > 3 {
		t.Fatalf("received %d bytes while paused", len(got)-3)
	}
	b.r.Receive(s)
	b.until("all bytes", func() bool {
		u.turn()
		return len(b.get(s).got) >= 3+len(want)
	})
	b.wantGot("all bytes", s, append([]byte("one"), want...))
	b.close(s)
}

// testPauseAndResume pauses in the middle of everything, also from Received, and
// resumes a few turns later.
func testPauseAndResume(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{RecvBytes: 1024})
	s, p := b.connect()
	count := 0
	paused := false
	b.onReceived = func(s reactor.Sock, data []byte, _ reactor.BufID) bool {
		if paused {
			t.Error("received while paused")
		}
		if count++; count%3 == 0 {
			b.r.PauseReceive(s)
			paused = true
		}
		return false
	}
	turns := 0
	b.onTurnEnd = func() {
		if turns++; paused && turns%2 == 0 {
			paused = false
			b.r.Receive(s)
			b.r.PauseReceive(s)
			b.r.Receive(s)
		}
	}
	b.r.Receive(s)
	want := pattern(2, 200000)
	u := &pump{p: p, out: want}
	b.until("all bytes", func() bool {
		u.turn()
		return len(b.get(s).got) >= len(want)
	})
	b.wantGot("all bytes", s, want)
	b.close(s)
}

// testEndWhilePaused: FIN comes after the bytes before it, and not while paused.
func testEndWhilePaused(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	b.r.Receive(s)
	p.Write([]byte("one"))
	b.wantGot("first bytes", s, []byte("one"))
	b.r.PauseReceive(s)
	p.Write([]byte("two"))
	p.CloseWrite()
	b.settle()
	if k := b.get(s); k.ended || len(k.got) > 3 {
		t.Fatalf("while paused: ended %v, received %s", k.ended, short(k.got))
	}
	b.r.Receive(s)
	b.until("FIN", func() bool { return b.get(s).ended })
	b.wantGot("all bytes", s, []byte("onetwo"))
	if err := b.get(s).endErr; err != nil {
		t.Fatalf("FIN came as %v", err)
	}
	b.r.Receive(s) // to no effect
	b.settle()
	b.close(s)
}

// testKeptBuffers keeps every buffer for a while: its bytes stay as they are
// until Recycle.
func testKeptBuffers(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{RecvBytes: 512, RecvBuffers: 64, RecvLent: 16})
	type kept struct {
		id   reactor.BufID
		data []byte
	}
	var keep []kept
	var got []byte
	release := func(k kept) {
		got = append(got, k.data...)
		b.r.Recycle(k.id)
	}
	b.onReceived = func(_ reactor.Sock, data []byte, id reactor.BufID) bool {
		for _, k := range keep {
			if k.id == id {
				t.Errorf("buffer %d was given out again while kept", id)
			}
		}
		if keep = append(keep, kept{id, data}); len(keep) > 20 {
			release(keep[0])
			keep = keep[1:]
		}
		return true
	}
	s, p := b.connect()
	b.r.Receive(s)
	want := pattern(3, 100000)
	u := &pump{p: p, out: want}
	b.until("all bytes", func() bool {
		u.turn()
		return len(b.get(s).got) >= len(want)
	})
	for _, k := range keep {
		release(k)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("kept bytes have changed")
	}
	b.close(s)
}

// testAllBuffersKept: with every buffer kept nothing can be received; it goes on
// when they are back.
func testAllBuffersKept(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{RecvBytes: 1024, RecvBuffers: 4, RecvLent: 4})
	var keep []reactor.BufID
	keeping := true
	b.onReceived = func(_ reactor.Sock, _ []byte, id reactor.BufID) bool {
		if keeping {
			keep = append(keep, id)
		}
		return keeping
	}
	s, p := b.connect()
	other, q := b.connect()
	b.r.Receive(s)
	u := &pump{p: p, out: pattern(4, 50000)}
	b.until("all buffers kept", func() bool {
		u.turn()
		return len(keep) == 4
	})
	b.r.Receive(other)
	q.Write([]byte("starved"))
	b.settle()
	if n := len(b.get(other).got); n != 0 {
		t.Fatalf("received %d bytes into no buffer", n)
	}
	keeping = false
	for _, id := range keep {
		b.r.Recycle(id)
	}
	b.wantGot("the starved connection", other, []byte("starved"))
	b.until("all bytes", func() bool {
		u.turn()
		return len(b.get(s).got) >= 50000
	})
	b.wantGot("all bytes", s, pattern(4, 50000))
	b.close(s)
	b.close(other)
}

// testFewBuffers: many connections send more than all buffers hold at the same
// time, and half of them are paused for a while. No byte is lost, doubled or
// delivered to another connection, and none stalls.
func testFewBuffers(t *testing.T, make Make) {
	const each = 64 << 10
	connections := 1000
	if testing.Short() || !make.real(t) {
		connections = 50
	}
	b := start(t, make, reactor.Options{RecvBytes: 4096, RecvBuffers: 16, RecvLent: 16})
	echo := func(s reactor.Sock) {
		b.get(s).echo = true
		b.r.Receive(s)
	}
	b.onAccepted = func(s reactor.Sock) {
		echo(s)
		if len(b.order)%2 == 0 {
			b.r.PauseReceive(s)
		}
	}
	g := group{each: each}
	for i := range connections {
		g.pumps = append(g.pumps, &pump{p: b.dial(), out: pattern(i, each)})
	}
	b.until("the connections that are read", func() bool {
		return g.turn(b, func(i int) bool { return i%2 == 0 }) && len(b.order) == connections
	})
	for i := 1; i < connections; i += 2 {
		echo(b.order[i])
	}
	b.until("the connections that were paused", func() bool { return g.turn(b, func(int) bool { return true }) })
	for i, u := range g.pumps {
		if !bytes.Equal(u.in, pattern(i, each)) {
			t.Fatalf("connection %d got back %s", i, short(u.in))
		}
		b.giveUp(b.order[i])
	}
	b.until("all closed", func() bool { return b.allClosed() })
}

// group is many pumps, of which those that have something to do are turned, some
// at a time.
type group struct {
	pumps []*pump
	each  int // bytes that each is to get back
	at    int
}

// turn turns the next few, and says whether those wanted have all their bytes.
func (g *group) turn(b *bench, wanted func(i int) bool) bool {
	for moved, n := 0, 0; n < len(g.pumps) && moved < 32; n++ {
		g.at = (g.at + 1) % len(g.pumps)
		if g.at < len(b.order) && g.pumps[g.at].step(b.get(b.order[g.at]).sentBytes) {
			moved++
		}
	}
	for i, u := range g.pumps {
		if wanted(i) && len(u.in) < g.each {
			return false
		}
	}
	return true
}

func (b *bench) allClosed() bool {
	for _, s := range b.order {
		if !b.get(s).closed {
			return false
		}
	}
	return true
}

// real says what kind of fixture make gives.
func (m Make) real(t *testing.T) bool {
	f := m(t, reactor.Options{})
	defer f.Reactor().Shut()
	return f.Real()
}

// testPeerResets: a reset ends receiving with ECONNRESET, and a Send fails.
func testPeerResets(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, p := b.connect()
	b.r.Receive(s)
	p.Reset()
	b.until("reset", func() bool { return b.get(s).ended })
	if err := b.get(s).endErr; !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("a reset came as %v", err)
	}
	b.send(s, pattern(5, 100))
	b.until("failed send", func() bool { return b.get(s).sent == 1 })
	if b.get(s).sendErr == nil {
		t.Fatal("sending after a reset succeeded")
	}
	b.close(s)
}
