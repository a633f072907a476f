package uring

import (
	"testing"
	"time"
)

// play takes n turns of a worker to whom come(wanted) completions come from
// outside when its wait goes on for wanted of them, and that starts as many
// operations in answer that complete at once. It gives how many waits went on for
// more than one.
func play(g *gatherer, n int, come func(wanted int) int) (gathered int) {
	for range n {
		wanted, _ := g.next(0)
		if wanted > 1 {
			gathered++
		}
		m := come(wanted - g.atOnce)
		turn(g, m)
		g.atOnce = m
	}
	return gathered
}

// turn is a turn that has so many completions from outside.
func turn(g *gatherer, outside int) {
	started := g.turn
	g.begin()
	g.sent(started) // at once
	for range outside {
		g.came()
	}
	g.reaped()
}

func one(int) int { return 1 }

func TestGatherNotForOneConnection(t *testing.T) {
	var g gatherer
	play(&g, 100, one)
	if n := play(&g, 10*restTurns, one); n > 12 {
		t.Errorf("%d of %d waits went on for a second completion that never comes", n, 10*restTurns)
	}
}

func TestGatherStopsWithTheLoad(t *testing.T) {
	var g gatherer
	play(&g, 100, func(int) int { return 40 })
	if n := play(&g, 4*restTurns, one); n > 4+scoreMax {
		t.Errorf("%d waits went on for more after the load was over", n)
	}
	play(&g, 100, one)
	if n := play(&g, restTurns/2, one); n > 2 {
		t.Errorf("%d of the last %d waits still do", n, restTurns/2)
	}
}

func TestGatherWherePairsComeInTime(t *testing.T) {
	var g gatherer
	n := 0
	often := func(int) int { // two of three waits bring a second one
		n++
		return 1 + min(n%3, 1)
	}
	play(&g, 2*restTurns, often)
	if n := play(&g, 300, often); n < 250 {
		t.Errorf("only %d of 300 waits gathered", n)
	}
}

func TestGatherNotWhereWaitsBringNothing(t *testing.T) {
	var g gatherer
	play(&g, 200, func(wanted int) int {
		if wanted > 1 {
			return 0 // only what completed at once was there when its time was up
		}
		return 1
	})
	if n := play(&g, 300, one); n > 30 {
		t.Errorf("%d of 300 waits gathered", n)
	}
}

func TestGatherBounds(t *testing.T) {
	for _, c := range []struct {
		outside, atOnce int
		took            time.Duration
		completions     int
		atMost          time.Duration
	}{
		{0, 5, time.Millisecond, 1, 0},
		{2, 5, time.Millisecond, 1, 0},
		{3, 5, 0, 14, gatherTimeMin},
		{10, 0, 60 * time.Microsecond, 30, 120 * time.Microsecond},
		{1000, 7, time.Second, 7 + gatherMax, gatherTimeMax},
	} {
		g := gatherer{outside: c.outside, atOnce: c.atOnce}
		if n, d := g.next(c.took); n != c.completions || d != c.atMost {
			t.Errorf("%+v: %d completions, at most %v", c, n, d)
		}
	}
}

// What completes at once is not from outside; what waited for the peer is.
func TestGatherCountsSends(t *testing.T) {
	var g gatherer
	g.begin()
	started := g.turn
	g.begin()
	g.sent(started)
	g.reaped()
	if g.outside != 0 {
		t.Errorf("a send that completed at once: %d from outside", g.outside)
	}
	g.begin()
	g.sent(started)
	g.reaped()
	if g.outside != 1 {
		t.Errorf("a send that took a turn more: %d from outside", g.outside)
	}
}
