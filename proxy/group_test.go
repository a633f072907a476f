package proxy

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// group makes a group of targets with these weights.
func group(balance Balance, weights ...int) *Group {
	targets := make([]Target, len(weights))
	for i, w := range weights {
		targets[i] = Target{Host: fmt.Sprintf("host%d", i), Port: 80, Weight: w}
	}
	return NewGroup(targets, balance, nil)
}

// pick chooses, and fails the test unless it is want.
func (g *Group) pick(t *testing.T, why string, tried Set, now time.Duration, want int) {
	t.Helper()
	if i, _ := g.Pick(0, tried, now); i != want {
		t.Fatalf("%s: target %d, want %d", why, i, want)
	}
}

func TestRoundRobin(t *testing.T) {
	for _, c := range []struct {
		weights []int
		want    string
	}{
		{[]int{1}, "000"},
		{[]int{1, 1, 1}, "012012"},
		{[]int{5, 1, 1}, "0010200"},
		{[]int{3, 2}, "01010"},
	} {
		g := group(RoundRobin, c.weights...)
		var got strings.Builder
		for range len(c.want) {
			i, _ := g.Pick(0, 0, 0)
			fmt.Fprint(&got, i)
		}
		if got.String() != c.want {
			t.Errorf("weights %v: %s, want %s", c.weights, got.String(), c.want)
		}
	}
}

func TestLeastConnections(t *testing.T) {
	g := group(LeastConnections, 1, 1, 2)
	g.pick(t, "all idle", 0, 0, 2)
	g.pick(t, "next idle", 0, 0, 0)
	g.pick(t, "last idle", 0, 0, 1)
	g.pick(t, "1/2 is less than 1", 0, 0, 2)
	g.pick(t, "all equal, in turn", 0, 0, 1)
	g.Done(0)
	g.pick(t, "one ended", 0, 0, 0)
	g.Done(2)
	g.Done(2)
	g.pick(t, "two ended on the heavy one", 0, 0, 2)
}

// Where requests come one after the other all targets are idle, and weights count
// all the same.
func TestLeastConnectionsOfIdleTargets(t *testing.T) {
	g := group(LeastConnections, 3, 1)
	var got [2]int
	for range 40 {
		i, _ := g.Pick(0, 0, 0)
		got[i]++
		g.Done(i)
	}
	if got != [2]int{30, 10} {
		t.Errorf("%v of 40 requests for weights 3 and 1", got)
	}
}

func TestTried(t *testing.T) {
	for _, balance := range []Balance{RoundRobin, LeastConnections, Hash} {
		g := group(balance, 1, 2, 3)
		var tried Set
		for range 3 {
			i, _ := g.Pick(7, tried, 0)
			if i < 0 || tried.Has(i) {
				t.Fatalf("%d: target %d again", balance, i)
			}
			tried = tried.With(i)
		}
		if i, after := g.Pick(7, tried, 0); i != -1 || after != 0 {
			t.Errorf("%d: target %d after all were tried, %v", balance, i, after)
		}
	}
}

// TestHashStays: a key keeps its target while others come and go, and the shares
// are in proportion to the weights.
func TestHashStays(t *testing.T) {
	const keys = 20000
	g := group(Hash, 1, 1, 2)
	var count [3]int
	for n := range keys {
		key := HashKey(fmt.Append(nil, "192.0.2.", n))
		i, _ := g.Pick(key, 0, 0)
		count[i]++
		for gone := range 3 {
			j, _ := g.Pick(key, Set(0).With(gone), 0)
			if gone != i && j != i {
				t.Fatalf("key %d moved from %d to %d when %d went", n, i, j, gone)
			}
		}
	}
	for i, share := range []float64{0.25, 0.25, 0.5} {
		if got := float64(count[i]) / keys; math.Abs(got-share) > 0.02 {
			t.Errorf("target %d has %.3f of the keys, want %.2f", i, got, share)
		}
	}
}

// failTimes reports n failures of target i.
func (g *Group) failTimes(i, n int, now time.Duration) {
	for range n {
		g.Report(i, Failed, now)
	}
}

func TestHealth(t *testing.T) {
	const s = time.Second
	g := group(RoundRobin, 1, 1)
	g.failTimes(0, 2, 0)
	g.Report(0, Answered, 0)
	g.failTimes(0, 2, 0)
	g.pick(t, "two failures in a row, twice", 0, 0, 0)
	g.failTimes(0, 1, 0)
	if g.Healthy() != 1 {
		t.Errorf("%d are up, want 1", g.Healthy())
	}
	for range 3 {
		g.pick(t, "down", 0, s-1, 1)
	}
	g.failTimes(0, 5, s/2) // of requests sent before
	g.pick(t, "trial", Set(0).With(1), s, 0)
	g.pick(t, "one trial at a time", 0, s, 1)
	g.pick(t, "one trial at a time", 0, s, 1)
	g.Report(0, Failed, s)
	g.pick(t, "pause doubled", 0, 3*s-1, 1)
	g.pick(t, "second trial", Set(0).With(1), 3*s, 0)
	g.Report(0, GivenUp, 3*s)
	g.pick(t, "trial given up: at once again", Set(0).With(1), 3*s, 0)
	g.Report(0, Answered, 3*s)
	if g.Healthy() != 2 {
		t.Errorf("%d are up, want 2", g.Healthy())
	}
	g.failTimes(0, 2, 4*s)
	if g.Healthy() != 2 {
		t.Error("failures before the success count")
	}
}

// TestTrialHasAnEnd: a trial of which nothing is heard does not keep a target out
// for ever.
func TestTrialHasAnEnd(t *testing.T) {
	const s = time.Second
	g := group(RoundRobin, 1, 1)
	g.failTimes(0, 3, 0)
	g.pick(t, "trial", Set(0).With(1), s, 0)
	g.pick(t, "one at a time", 0, s+DefaultHealth.PauseMax-1, 1)
	g.pick(t, "one at a time", 0, s+DefaultHealth.PauseMax-1, 1)
	g.pick(t, "another", Set(0).With(1), s+DefaultHealth.PauseMax, 0)
	g.pick(t, "one at a time", 0, s+DefaultHealth.PauseMax, 1)
	g.Report(0, Answered, 2*DefaultHealth.PauseMax)
	if g.Healthy() != 2 {
		t.Error("the answer does not count")
	}
}

func TestPauseHasAnEnd(t *testing.T) {
	g := group(RoundRobin, 1, 1)
	now := time.Duration(0)
	g.failTimes(0, 3, now)
	for range 20 {
		now += DefaultHealth.PauseMax
		if i, _ := g.Pick(0, Set(0).With(1), now); i != 0 {
			t.Fatalf("at %v: target %d", now, i)
		}
		g.Report(0, Failed, now)
	}
}

func TestAllDown(t *testing.T) {
	const s = time.Second
	g := group(LeastConnections, 1, 1)
	g.failTimes(0, 3, s)
	g.failTimes(1, 3, s/2)
	g.pick(t, "the one that is due first", 0, s, 1)
	g.Report(1, Failed, s)
	g.pick(t, "then the other", Set(0).With(1), s, 0)
	g.Report(0, Failed, s)
	if i, after := g.Pick(0, Set(0).With(0).With(1), s); i != -1 || after != s/2 {
		t.Errorf("target %d, again after %v, want none and %v: what fails before it is due lengthens no pause", i, after, s/2)
	}
	g.pick(t, "as a last resort", 0, s, 1)
	g.Report(1, Answered, s)
	if i, after := g.Pick(0, Set(0).With(0).With(1), s); i != -1 || after != 0 || g.Healthy() != 1 {
		t.Errorf("target %d, again after %v, %d healthy, though one answered", i, after, g.Healthy())
	}
	g.failTimes(1, 3, s)
	g.Check(1, true)
	g.pick(t, "checked", 0, s, 1)
}

// TestChecks: what active checks found down is not chosen, the only target neither,
// until they find it up; then requests count again.
func TestChecks(t *testing.T) {
	const s = time.Second
	for _, balance := range []Balance{RoundRobin, LeastConnections, Hash} {
		g := group(balance, 1, 1)
		g.Check(0, false)
		for range 3 {
			g.pick(t, "one is down", 0, 0, 1)
		}
		g.Report(0, Answered, 0) // a request from before
		g.pick(t, "requests do not count against checks", 0, 0, 1)
		g.Check(1, false)
		g.failTimes(1, 3, 0)
		if i, after := g.Pick(0, 0, 100*s); i != -1 || after != 0 || g.Healthy() != 0 {
			t.Errorf("%d: target %d, again after %v, %d healthy, though all are down", balance, i, after, g.Healthy())
		}
		g.Check(1, true)
		g.pick(t, "up again, and no pause left", 0, 0, 1)
		g.failTimes(1, 3, 0)
		if i, after := g.Pick(0, Set(0).With(1), 0); i != -1 || after != s {
			t.Errorf("%d: target %d, again after %v: failed requests do not count any more", balance, i, after)
		}
	}
	g := group(RoundRobin, 1)
	g.Check(0, false)
	if i, _ := g.Pick(0, 0, 0); i != -1 {
		t.Errorf("target %d", i)
	}
	g.Check(0, true)
	g.pick(t, "the only one", 0, 0, 0)
}

// TestLimit: a target that has as many requests as it may is passed over, and when
// all have, that is told apart from there being none.
func TestLimit(t *testing.T) {
	const s = time.Second
	for _, balance := range []Balance{RoundRobin, LeastConnections} {
		g := group(balance, 1, 1)
		g.Limit(2)
		count := [2]int{}
		for range 4 {
			i, _ := g.Pick(0, 0, 0)
			count[i]++
		}
		if count != [2]int{2, 2} || g.Active(0) != 2 {
			t.Errorf("%d: shares %v", balance, count)
		}
		g.pick(t, "all are busy", 0, 0, Busy)
		g.pick(t, "the other one is busy", Set(0).With(0), 0, Busy)
		g.pick(t, "none is left", Set(0).With(0).With(1), 0, None)
		g.Done(1)
		g.pick(t, "one is free", 0, 0, 1)
		g.failTimes(0, 3, 0)
		g.Done(1)
		g.pick(t, "the one that is up", 0, 0, 1)
		g.failTimes(1, 3, 0)
		g.pick(t, "both are left alone, and busy", 0, 0, Busy)
		g.pick(t, "a trial must wait as well", 0, s, Busy)
		g.Done(0)
		g.pick(t, "the trial", 0, s, 0)
	}
	g := group(Hash, 1, 1)
	g.Limit(1)
	i, _ := g.Pick(7, 0, 0)
	g.pick7(t, "its own is busy, the other is not asked", 0, Busy)
	g.pick7(t, "its own was tried", Set(0).With(i), 1-i)
	g.Done(i)
	g.pick7(t, "its own is free", 0, i)
}

// pick7 is pick for another key.
func (g *Group) pick7(t *testing.T, why string, tried Set, want int) {
	t.Helper()
	if i, _ := g.Pick(7, tried, 0); i != want {
		t.Fatalf("%s: target %d, want %d", why, i, want)
	}
}

// TestOnlyTarget: there is nothing to choose, so nothing is refused.
func TestOnlyTarget(t *testing.T) {
	g := group(RoundRobin, 1)
	g.failTimes(0, 100, 0)
	g.pick(t, "down", 0, 0, 0)
	g.pick(t, "in trial", 0, 0, 0)
	if i, _ := g.Pick(0, Set(0).With(0), 0); i != -1 {
		t.Errorf("tried target %d again", i)
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	for _, balance := range []Balance{RoundRobin, LeastConnections, Hash} {
		g := group(balance, 1, 2, 3)
		if n := testing.AllocsPerRun(100, func() {
			i, _ := g.Pick(3, 0, 0)
			g.Report(i, Answered, 0)
			g.Done(i)
		}); n != 0 {
			t.Errorf("%d: %v allocations", balance, n)
		}
	}
}
