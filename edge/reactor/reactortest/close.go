// Closing, from everywhere and with everything in flight.

package reactortest

import (
	"bytes"
	"testing"
	"time"

	"edge/edge/reactor"
)

// testCloseWhileReceiving closes while bytes pour in. The bench fails if any are
// delivered after Close.
func testCloseWhileReceiving(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{RecvBytes: 1024})
	for i := range 20 {
		s, p := b.connect()
		b.r.Receive(s)
		u := &pump{p: p, out: pattern(i, 300000)}
		b.until("some bytes", func() bool { u.turn(); return len(b.get(s).got) > 1000*i })
		if i%2 == 1 {
			b.r.PauseReceive(s)
			u.turn()
			b.settle()
		}
		b.close(s)
	}
}

// testCloseFromCallbacks closes from within each event.
func testCloseFromCallbacks(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{RecvBytes: 1024})
	closes := func(s reactor.Sock) {
		if !b.get(s).gaveUp {
			b.giveUp(s)
		}
	}
	run := func(event string, begin func(s reactor.Sock, p Peer)) {
		b.onAccepted, b.onReceived, b.onEnded, b.onSent, b.onExpired = nil, nil, nil, nil, nil
		before := len(b.order)
		if event == "Accepted" {
			b.onAccepted = closes
		}
		p := b.dial()
		b.until("accepted", func() bool { return len(b.order) > before })
		s := b.order[before]
		begin(s, p)
		b.until("closed from "+event, func() bool { return b.get(s).closed })
	}
	run("Accepted", func(reactor.Sock, Peer) {})
	run("Received", func(s reactor.Sock, p Peer) {
		b.onReceived = func(s reactor.Sock, _ []byte, _ reactor.BufID) bool { closes(s); return false }
		p.Write(pattern(1, 50000))
		b.r.Receive(s)
	})
	run("Received, buffer kept", func(s reactor.Sock, p Peer) {
		b.onReceived = func(s reactor.Sock, _ []byte, id reactor.BufID) bool {
			closes(s)
			b.r.Post(func() { b.r.Recycle(id) })
			return true
		}
		p.Write(pattern(1, 50000))
		b.r.Receive(s)
	})
	run("ReceiveEnded", func(s reactor.Sock, p Peer) {
		b.onEnded = closes
		p.CloseWrite()
		b.r.Receive(s)
	})
	run("Sent", func(s reactor.Sock, _ Peer) {
		b.onSent = closes
		b.r.Receive(s)
		b.send(s, []byte("bye"))
	})
	run("Expired", func(s reactor.Sock, _ Peer) {
		b.onExpired = closes
		b.r.Receive(s)
		b.r.SetDeadline(s, b.r.Now().Add(time.Millisecond))
	})
}

// testStaleSock: what is asked of a socket that is gone does nothing to the one
// that has its slot now.
func testStaleSock(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	old, _ := b.connect()
	b.close(old)
	s, p := b.connect()
	if s.Index() != old.Index() || s.Generation() == old.Generation() {
		t.Fatalf("after %#x comes %#x, want the same slot in another generation", old, s)
	}
	abuse := func(stale reactor.Sock) {
		b.r.Receive(stale)
		b.r.Send(stale, []byte("wrong"))
		if n := b.r.TrySend(stale, []byte("wrong")); n != 0 {
			t.Errorf("%d bytes were sent on %#x", n, stale)
		}
		b.r.ShutdownWrite(stale)
		b.r.SetDeadline(stale, b.r.Now().Add(time.Nanosecond))
		b.r.ReadFile(stale, 0, [][]byte{b.r.Buffers().Get(1)[:1]}, 0)
		b.r.Close(stale)
		b.r.Abort(stale)
		b.r.PauseReceive(stale)
		if fd := b.r.FD(stale); fd != -1 {
			t.Errorf("%#x has descriptor %d", stale, fd)
		}
	}
	p.Write([]byte("paused"))
	abuse(old)
	abuse(0)
	abuse(reactor.MakeSock(b.r.SocketsMax()-1, 1))
	abuse(reactor.MakeSock(1<<31, 1))
	b.settle()
	k := b.get(s)
	if len(k.got) > 0 || k.closed || k.expired > 0 {
		t.Fatalf("stale operations reached %#x: %+v", s, *k)
	}
	b.r.Receive(s)
	b.r.PauseReceive(old)
	b.wantGot("its own bytes", s, []byte("paused"))
	if b.f.Real() && b.r.FD(s) < 0 {
		t.Error("a live socket has no descriptor")
	}
	b.close(s)
	abuse(s)
}

// testReuse opens and closes connections with operations in flight, so that
// slots and descriptors are used again while completions of their former owners
// come in. Every connection gets its own bytes.
func testReuse(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{RecvBytes: 1024})
	b.onAccepted = func(s reactor.Sock) {
		b.get(s).echo = true
		b.r.Receive(s)
	}
	for round := range 30 {
		var pumps []*pump
		before := len(b.order)
		for i := range 8 {
			pumps = append(pumps, &pump{p: b.dial(), out: pattern(round*8+i, 20000)})
		}
		b.until("some echo", func() bool {
			for _, u := range pumps {
				u.turn()
			}
			return len(b.order) == before+8 && len(pumps[round%8].in) > 5000
		})
		for i, s := range b.order[before:] {
			if i%2 == round%2 {
				pumps[i].p.Close()
			}
			b.giveUp(s)
		}
		for i, u := range pumps {
			if want := pattern(round*8+i, 20000); !bytes.HasPrefix(want, u.in) {
				t.Fatalf("round %d, connection %d got %s", round, i, short(u.in))
			}
		}
	}
	b.until("all closed", func() bool { return b.allClosed() })
	top := 0
	for _, s := range b.order {
		top = max(top, s.Index())
	}
	if top > 64 {
		t.Errorf("slots up to %d were used for 8 connections at a time", top)
	}
}
