package reactor

import (
	"math/rand/v2"
	"testing"
	"time"
)

const testStart = Instant(time.Hour)

// drain expires everything that is due at now.
func drain(w *Wheel, now Instant) (all []Expiry) {
	w.BeginTurn()
	for {
		e, ok := w.Expire(now)
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

// TestWheelModel runs random deadlines against a map of what they are: each
// fires once, never early, and at most a tick after the turn that could have.
func TestWheelModel(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := NewWheel(testStart)
		now := testStart
		model := map[Sock]Instant{}
		for range 3000 {
			s := MakeSock(rng.IntN(50), 1)
			switch rng.IntN(8) {
			case 0:
				w.SetDeadline(s, 0)
				delete(model, s)
			case 1:
				w.Forget(s)
				delete(model, s)
			case 2, 3, 4:
				at := now.Add(time.Duration(rng.Int64N(int64(30 * time.Second))))
				w.SetDeadline(s, at)
				model[s] = at
			default:
				step := time.Duration(rng.Int64N(int64(200 * time.Millisecond)))
				if rng.IntN(50) == 0 {
					step *= 100
				}
				now = now.Add(step)
				checkExpired(t, seed, w, model, now)
			}
			checkNext(t, seed, w, model, now)
		}
	}
}

func checkExpired(t *testing.T, seed uint64, w *Wheel, model map[Sock]Instant, now Instant) {
	t.Helper()
	for _, e := range drain(w, now) {
		at, ok := model[Sock(e.Tag)]
		if !ok || e.Kind != ExpirySocket {
			t.Fatalf("seed %d: %+v fired, which was not set", seed, e)
		}
		if at > now {
			t.Fatalf("seed %d: fired %v early", seed, at.Sub(now))
		}
		delete(model, Sock(e.Tag))
	}
	for s, at := range model {
		if at.Add(wheelTick) <= now {
			t.Fatalf("seed %d: %#x is %v late", seed, s, now.Sub(at))
		}
	}
}

// checkNext: the reactor may sleep until Next without missing anything by more
// than a tick.
func checkNext(t *testing.T, seed uint64, w *Wheel, model map[Sock]Instant, now Instant) {
	t.Helper()
	next := w.Next()
	for s, at := range model {
		if next == 0 || next > max(at, now).Add(wheelTick) {
			t.Fatalf("seed %d: next look at %d, but %#x is due at %d", seed, next, s, at)
		}
	}
}

// TestWheelMoveLater: moving a deadline later neither fires at the old instant
// nor relinks, and the new one holds.
func TestWheelMoveLater(t *testing.T) {
	w := NewWheel(testStart)
	s := MakeSock(3, 7)
	w.SetDeadline(s, testStart.Add(time.Second))
	bucket := w.sockets[3].bucket
	w.SetDeadline(s, testStart.Add(time.Minute))
	if w.sockets[3].bucket != bucket {
		t.Fatal("the timer was relinked")
	}
	if got := drain(w, testStart.Add(59*time.Second)); len(got) != 0 {
		t.Fatalf("fired early: %+v", got)
	}
	if got := drain(w, testStart.Add(time.Minute+wheelTick)); len(got) != 1 || got[0].Tag != uint64(s) {
		t.Fatalf("got %+v, want the deadline of %#x", got, s)
	}
}

func TestWheelAfter(t *testing.T) {
	w := NewWheel(testStart)
	w.After(testStart.Add(20*time.Millisecond), 2)
	w.Own(testStart.Add(10*time.Millisecond), 1)
	w.After(testStart.Add(time.Minute), 3)
	got := drain(w, testStart.Add(30*time.Millisecond))
	want := []Expiry{{ExpiryOwn, 1}, {ExpiryAfter, 2}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if got := drain(w, testStart.Add(time.Minute+wheelTick)); len(got) != 1 || got[0].Tag != 3 {
		t.Fatalf("got %+v, want tag 3", got)
	}
	if w.Next() != 0 {
		t.Fatalf("empty wheel: next is %d", w.Next())
	}
}

// TestWheelSoon: what is asked for without delay fires in the next turn, and a
// handler that asks each time does not hold up the turn.
func TestWheelSoon(t *testing.T) {
	w := NewWheel(testStart)
	w.Soon(1)
	w.Soon(2)
	for turn := range 3 {
		if !w.Ready() {
			t.Fatal("not ready")
		}
		w.BeginTurn()
		fired := 0
		for {
			e, ok := w.Expire(testStart)
			if !ok {
				break
			}
			fired++
			w.Soon(e.Tag)
		}
		if fired != 2 {
			t.Fatalf("turn %d: %d fired, want 2", turn, fired)
		}
	}
}

// TestWheelFromExpired: a deadline set while others expire, even one in the
// past, fires once and in its own time.
func TestWheelFromExpired(t *testing.T) {
	w := NewWheel(testStart)
	s := MakeSock(0, 1)
	w.SetDeadline(s, testStart.Add(time.Second))
	now := testStart.Add(2 * time.Second)
	w.BeginTurn()
	fired := 0
	for {
		_, ok := w.Expire(now)
		if !ok {
			break
		}
		if fired++; fired > 1 {
			t.Fatal("a deadline in the past fires over and over in one turn")
		}
		w.SetDeadline(s, now.Add(time.Nanosecond))
	}
	if got := drain(w, now.Add(2*wheelTick)); len(got) != 1 {
		t.Fatalf("got %+v, want one expiry", got)
	}
}

func TestWheelAllocatesNothing(t *testing.T) {
	w := NewWheel(testStart)
	now := testStart
	turn := func() {
		for i := range 10 {
			w.SetDeadline(MakeSock(i, 1), now.Add(time.Second))
		}
		w.After(now.Add(time.Millisecond), 1)
		w.Soon(1)
		now = now.Add(100 * time.Millisecond)
		w.BeginTurn()
		for ok := true; ok; _, ok = w.Expire(now) {
		}
	}
	turn()
	if n := testing.AllocsPerRun(1000, turn); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkSetDeadlineLater(b *testing.B) {
	w := NewWheel(testStart)
	now := testStart
	for b.Loop() {
		now += 100
		w.SetDeadline(MakeSock(0, 1), now.Add(time.Minute))
	}
}
