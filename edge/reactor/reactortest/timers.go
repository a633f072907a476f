// Deadlines, After, Post, Run and the clock.

package reactortest

import (
	"sync"
	"testing"
	"time"

	"edge/edge/reactor"
)

// testDeadline: it fires once, not before its time; cleared ones and those of
// closed sockets do not.
func testDeadline(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, _ := b.connect()
	cleared, _ := b.connect()
	closed, _ := b.connect()
	from := b.r.Now()
	var at reactor.Instant
	b.onExpired = func(reactor.Sock) { at = b.r.Now() }
	b.r.SetDeadline(cleared, from.Add(10*time.Millisecond))
	b.r.SetDeadline(cleared, 0)
	b.r.SetDeadline(closed, from.Add(10*time.Millisecond))
	b.close(closed)
	b.r.SetDeadline(s, from.Add(30*time.Millisecond))
	b.until("deadline", func() bool { return b.get(s).expired == 1 })
	if at.Sub(from) < 30*time.Millisecond {
		t.Errorf("expired after %v, want 30ms", at.Sub(from))
	}
	b.after(20 * time.Millisecond)
	if n := b.get(s).expired; n != 1 {
		t.Errorf("expired %d times", n)
	}
	if b.get(cleared).expired+b.get(closed).expired > 0 {
		t.Error("a cleared deadline, or one of a closed socket, expired")
	}
	b.close(s)
	b.close(cleared)
}

// after waits for a time on the reactor's clock.
func (b *bench) after(d time.Duration) {
	b.t.Helper()
	n := len(b.fired)
	b.r.After(d, 1<<40)
	b.until("time", func() bool { return len(b.fired) > n })
}

// testDeadlineMoves: later, earlier, and again after it fired.
func testDeadlineMoves(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, _ := b.connect()
	from := b.r.Now()
	var at reactor.Instant
	b.onExpired = func(reactor.Sock) { at = b.r.Now() }
	b.r.SetDeadline(s, from.Add(10*time.Millisecond))
	b.r.SetDeadline(s, from.Add(50*time.Millisecond))
	b.until("later deadline", func() bool { return b.get(s).expired == 1 })
	if at.Sub(from) < 50*time.Millisecond {
		t.Fatalf("a deadline moved to 50ms expired after %v", at.Sub(from))
	}
	b.r.SetDeadline(s, b.r.Now().Add(time.Hour))
	b.r.SetDeadline(s, b.r.Now().Add(time.Millisecond))
	b.until("earlier deadline", func() bool { return b.get(s).expired == 2 })
	b.r.SetDeadline(s, b.r.Now()-1)
	b.until("deadline in the past", func() bool { return b.get(s).expired == 3 })
	b.close(s)
}

// testAfter: in order of time, each once; without delay in the next turn.
func testAfter(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	b.settle()
	from := b.r.Now()
	b.r.After(60*time.Millisecond, 3)
	b.r.After(20*time.Millisecond, 2)
	b.r.After(0, 1)
	b.r.After(-time.Second, 1)
	again := 0
	b.onFired = func(tag uint64) {
		if tag == 1 && again < 10 {
			again++
			b.r.After(0, 1)
		}
		if tag == 3 && b.r.Now().Sub(from) < 60*time.Millisecond {
			t.Errorf("fired after %v, want 60ms", b.r.Now().Sub(from))
		}
	}
	b.until("all fired", func() bool { return len(b.fired) == 14 })
	for i, tag := range b.fired {
		if want := []uint64{1, 2, 3}[max(0, i-11)]; tag != want {
			t.Fatalf("fired %v, want 1 twelve times, 2, 3", b.fired)
		}
	}
}

// testPost: functions from many goroutines run once each, in order of their
// goroutine, on the reactor's.
func testPost(t *testing.T, make Make) {
	const goroutines, each = 8, 200
	b := start(t, make, reactor.Options{})
	last := [goroutines]int{}
	total, nested := 0, 0
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 1; i <= each; i++ {
				b.r.Post(func() {
					if last[g] != i-1 {
						t.Errorf("goroutine %d: %d after %d", g, i, last[g])
					}
					last[g] = i
					total++
					if i%50 == 0 {
						b.r.Post(func() { nested++ })
					}
				})
			}
		}()
	}
	b.until("all ran", func() bool { return total == goroutines*each && nested == goroutines*each/50 })
	wg.Wait()
}

// testRunAgain: Stop ends the turn, not the reactor; what was asked before Run,
// and between two, is done.
func testRunAgain(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	posted := false
	b.r.Post(func() { posted = true })
	b.until("posted before Run", func() bool { return posted })
	s, p := b.connect()
	b.until("true at once", func() bool { return true })
	b.r.Receive(s)
	p.Write([]byte("between"))
	b.wantGot("asked for between two Runs", s, []byte("between"))
	b.close(s)
}

// testClock: Now does not go back, and Wall goes with it.
func testClock(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	now, wall := b.r.Now(), b.r.Wall()
	if now <= 0 {
		t.Fatalf("the clock shows %d, which is never", now)
	}
	b.after(50 * time.Millisecond)
	if d := b.r.Now().Sub(now); d < 50*time.Millisecond {
		t.Errorf("Now moved by %v in 50ms", d)
	}
	if d := b.r.Wall().Sub(wall); d < 40*time.Millisecond || d > time.Minute {
		t.Errorf("Wall moved by %v in 50ms", d)
	}
}
