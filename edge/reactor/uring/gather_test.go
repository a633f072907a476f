package uring

import (
	"testing"
	"time"

	"edge/edge/reactor"
)

// gatherTimeTest is the most that turns lie apart here, and peersTest all that an
// answer counts for.
const (
	gatherTimeTest = time.Millisecond
	peersTest      = shareOfFew * gatherTimeTest
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
		l.g.most = gatherTimeTest
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
	if n, turns, late := l.play(time.Second, 500*time.Microsecond, 20*time.Millisecond); n != 0 || late != 0 {
		t.Errorf("%d of %d waits went on for more; %v late", n, turns, late)
	}
}

// TestGatherMuch: where much comes from peers that take their time, one wake does
// for all that comes within the longest time, and no completion waits longer.
func TestGatherMuch(t *testing.T) {
	var l load
	l.play(20*time.Millisecond, 20*time.Microsecond, 10*time.Millisecond)
	n, turns, late := l.play(time.Second, 20*time.Microsecond, 10*time.Millisecond)
	if most := int(time.Second/gatherTimeTest) + 1; n < turns-1 || turns > most {
		t.Errorf("%d turns, %d gathered; want all, and at most %d", turns, n, most)
	}
	if late > gatherTimeTest {
		t.Errorf("a completion was handed over %v late", late)
	}
}

// TestGatherShareOfWhatPeersTake: what is put off is at most a third of the time
// that peers take, and half of it where many completions come.
func TestGatherShareOfWhatPeersTake(t *testing.T) {
	const took = 600 * time.Microsecond
	for _, c := range []struct{ every, least, most time.Duration }{
		{50 * time.Microsecond, took / 4, took / 3}, // four come in a third
		{20 * time.Microsecond, took / 4, took / 3}, // ten
		{10 * time.Microsecond, took / 3, took / 2}, // twenty
	} {
		var l load
		l.play(20*time.Millisecond, c.every, took)
		n, turns, late := l.play(time.Second, c.every, took)
		if n < turns/2 {
			t.Errorf("one each %v: %d of %d waits gathered", c.every, n, turns)
		}
		if late < c.least || late > c.most {
			t.Errorf("one each %v: a completion was handed over %v late, want %v to %v", c.every, late, c.least, c.most)
		}
	}
}

// TestGatherNever: nothing is put off where that is not wanted.
func TestGatherNever(t *testing.T) {
	l := load{now: reactor.Instant(time.Second)}
	if n, turns, late := l.play(time.Second, 10*time.Microsecond, 10*time.Millisecond); n != 0 || late != 0 {
		t.Errorf("%d of %d waits went on for more; %v late", n, turns, late)
	}
}

// TestGatherStopsWithTheLoad: soon after the load, nothing is put off any more.
func TestGatherStopsWithTheLoad(t *testing.T) {
	var l load
	l.play(time.Second, 20*time.Microsecond, 10*time.Millisecond)
	if n, turns, _ := l.play(time.Second, 10*time.Millisecond, 10*time.Millisecond); n > 12 {
		t.Errorf("%d of %d waits went on for more after the load", n, turns)
	}
}

// TestGatherLearnsPeers: the average follows a change within few hundred answers,
// and those that take very long do not count for more.
func TestGatherLearnsPeers(t *testing.T) {
	g := gatherer{most: gatherTimeTest}
	learn := func(n int, took ...time.Duration) time.Duration {
		for i := range n {
			g.answered(took[i%len(took)])
		}
		return g.peers
	}
	if got := learn(1000, time.Minute); got > peersTest || got < peersTest*9/10 {
		t.Errorf("average after answers of a minute: %v, want about %v", got, peersTest)
	}
	if got := learn(300, 20*time.Microsecond); got > 50*time.Microsecond {
		t.Errorf("average after answers of 20 µs: %v", got)
	}
	if got := learn(1000, time.Minute, 100*time.Microsecond); got < peersTest*4/10 || got > peersTest*6/10 {
		t.Errorf("average of a minute and 100 µs in turn: %v, want about half of %v", got, peersTest)
	}
}

// TestGatherBusy: a worker that was busy as long as turns are to lie apart does
// not wait for more.
func TestGatherBusy(t *testing.T) {
	g := gatherer{most: gatherTimeTest, peers: peersTest, events: 1000, span: lateTime}
	g.atOnce = 7
	for _, c := range []struct {
		took, atMost time.Duration
		completions  int
	}{
		{0, gatherTimeTest, 7 + gatherMax},
		{gatherTimeTest - gatherTimeMin, gatherTimeMin, 7 + gatherMax},
		{gatherTimeTest - gatherTimeMin/2, 0, 1},
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
