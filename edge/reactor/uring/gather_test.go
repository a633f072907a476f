package uring

import (
	"testing"
	"time"

	"edge/edge/reactor"
)

// load is a worker's day: turns that take no time, of completions that come at
// some interval, from peers that take so long to answer.
type load struct {
	g   gatherer
	now reactor.Instant
}

// play takes turns for so long. Each of several conversations has a completion
// every so often; the peers answer within took. It gives how many waits went on
// for more than one completion, of how many, and how late a completion was at the
// most.
func (l *load) play(long, every, took time.Duration) (gathered, turns int, late time.Duration) {
	if l.now == 0 {
		l.now = reactor.Instant(time.Second)
	}
	end := l.now.Add(long)
	due := l.now.Add(every)
	for l.now < end {
		n, atMost := l.g.next(0)
		turns++
		wake := due
		if n > 1 {
			gathered++
			if timeUp := l.now.Add(atMost); timeUp > due {
				wake = min(timeUp, due.Add(time.Duration(n-1)*every))
			}
		}
		l.now = max(wake, l.now)
		late = max(late, l.now.Sub(due))
		l.g.begin(l.now)
		for due <= l.now {
			l.g.came()
			l.g.answered(took)
			due = due.Add(every)
		}
		l.g.reaped()
	}
	return gathered, turns, late
}

// TestGatherNotForOneConnection: a connection that asks and is answered in turn
// is not slowed, however much it asks.
func TestGatherNotForOneConnection(t *testing.T) {
	var l load
	if n, turns, late := l.play(time.Second, 40*time.Microsecond, 40*time.Microsecond); n != 0 || late != 0 {
		t.Errorf("%d of %d waits went on for more; %v late", n, turns, late)
	}
}

// TestGatherNotForLittle: where little comes, nothing is put off.
func TestGatherNotForLittle(t *testing.T) {
	var l load
	if n, turns, late := l.play(time.Second, 300*time.Microsecond, 20*time.Millisecond); n != 0 || late != 0 {
		t.Errorf("%d of %d waits went on for more; %v late", n, turns, late)
	}
}

// TestGatherMuch: where much comes from peers that take their time, one wake does
// for all that comes within the longest time, and no completion waits longer.
func TestGatherMuch(t *testing.T) {
	var l load
	l.play(20*time.Millisecond, 20*time.Microsecond, 3*time.Millisecond)
	n, turns, late := l.play(time.Second, 20*time.Microsecond, 3*time.Millisecond)
	if most := int(time.Second/gatherTimeMax) + 1; n < turns-1 || turns > most {
		t.Errorf("%d turns, %d gathered; want all, and at most %d", turns, n, most)
	}
	if late > gatherTimeMax {
		t.Errorf("a completion was handed over %v late", late)
	}
}

// TestGatherHalfOfWhatPeersTake: what is put off is at most half of the time that
// the quicker peers take.
func TestGatherHalfOfWhatPeersTake(t *testing.T) {
	const took = 400 * time.Microsecond
	var l load
	l.play(20*time.Millisecond, 10*time.Microsecond, took)
	n, turns, late := l.play(time.Second, 10*time.Microsecond, took)
	if n < turns/2 {
		t.Errorf("%d of %d waits gathered", n, turns)
	}
	if most := took/2 + took/16; late > most {
		t.Errorf("a completion was handed over %v late, want at most %v", late, most)
	}
}

// TestGatherStopsWithTheLoad: soon after the load, nothing is put off any more.
func TestGatherStopsWithTheLoad(t *testing.T) {
	var l load
	l.play(time.Second, 20*time.Microsecond, 3*time.Millisecond)
	if n, turns, _ := l.play(time.Second, 10*time.Millisecond, 3*time.Millisecond); n > 12 {
		t.Errorf("%d of %d waits went on for more after the load", n, turns)
	}
}

// TestGatherLearnsQuickPeers: a change to quick peers is noticed within few answers.
func TestGatherLearnsQuickPeers(t *testing.T) {
	var g gatherer
	for range 2000 {
		g.answered(50 * time.Millisecond)
	}
	if g.quick != quickMax {
		t.Fatalf("quick peers take %v after slow ones alone", g.quick)
	}
	for range 100 {
		g.answered(20 * time.Microsecond)
	}
	if g.quick > 30*time.Microsecond {
		t.Errorf("quick peers take %v after a hundred that took 20 µs", g.quick)
	}
	// Where a quarter is quick and more than a quarter is not far behind, the
	// estimate stays between them.
	for i := range 10000 {
		took := 800 * time.Microsecond
		if i%5 == 0 {
			took = 20 * time.Microsecond
		}
		g.answered(took)
	}
	if g.quick < 500*time.Microsecond || g.quick > quickMax {
		t.Errorf("a fifth takes 20 µs, the rest 800: %v", g.quick)
	}
}

// TestGatherBusy: a worker that was busy as long as turns are to lie apart does
// not wait for more.
func TestGatherBusy(t *testing.T) {
	g := gatherer{quick: quickMax, events: 1000, span: lateTime}
	g.atOnce = 7
	for _, c := range []struct {
		took, atMost time.Duration
		completions  int
	}{
		{0, gatherTimeMax, 7 + gatherMax},
		{gatherTimeMax - 2*gatherTimeMin, 2 * gatherTimeMin, 7 + gatherMax},
		{gatherTimeMax - gatherTimeMin/2, 0, 1},
		{time.Second, 0, 1},
	} {
		if n, d := g.next(c.took); n != c.completions || d != c.atMost {
			t.Errorf("after a turn of %v: %d completions within %v", c.took, n, d)
		}
	}
}

// What completes at once is not from outside; what waited for the peer is.
func TestGatherCountsSends(t *testing.T) {
	var g gatherer
	at := reactor.Instant(time.Second)
	g.begin(at)
	started := g.turn
	g.begin(at)
	g.sent(started)
	g.reaped()
	if g.events != 0 {
		t.Errorf("a send that completed at once: %d from outside", g.events)
	}
	g.begin(at)
	g.sent(started)
	g.reaped()
	if g.events != 1 {
		t.Errorf("a send that took a turn more: %d from outside", g.events)
	}
}
