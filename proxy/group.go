package proxy

import (
	"math"
	"time"
)

// Balance is how a Group spreads requests.
type Balance uint8

const (
	RoundRobin       Balance = iota // in turn, by weight
	LeastConnections                // fewest requests under way for its weight
	Hash                            // by a key: the same target for the same key
)

// Set is a set of targets, by index.
type Set uint64

// Has says that target i is in s.
func (s Set) Has(i int) bool { return s&(1<<i) != 0 }

// With is s and target i.
func (s Set) With(i int) Set { return s | 1<<i }

// What Pick gives where it gives no target.
const (
	None = -1 // none may be asked
	Busy = -2 // one may, but has as many requests under way as it may have
)

// Group is the targets of one route as one worker sees them.
type Group struct {
	limit   int // requests under way at each target; 0: none
	balance Balance
	policy  HealthPolicy
	members []member
}

// member is one target of a group.
type member struct {
	health
	weight int
	credit int    // of taking turns
	active int    // requests under way
	out    bool   // active checks found it down
	seed   uint64 // for Hash: of the target's name without its weight, so that a change of that moves few keys
}

// NewGroup makes a group of at most TargetsMax targets. A nil policy is
// DefaultHealth.
func NewGroup(targets []Target, balance Balance, policy *HealthPolicy) *Group {
	if len(targets) == 0 || len(targets) > TargetsMax {
		panic("BUG: proxy: group without targets, or with too many")
	}
	if policy == nil {
		policy = &DefaultHealth
	}
	g := &Group{balance: balance, policy: *policy, members: make([]member, len(targets))}
	for i := range targets {
		g.members[i] = member{weight: max(targets[i].Weight, 1), seed: HashKey([]byte(targets[i].appendOptions(targets[i].url(), false)))}
	}
	return g
}

// Pick chooses a target for a request and counts it as under way there, until
// Done; Report is owed as well. key is that of Hash (HashKey). Targets in tried are not chosen. now is on
// the monotonic clock. It is None if no target is left: then after is how long until
// one of those that are left alone is due, 0 if others are not. It is Busy if a Done
// must be waited for: with Hash that of the key's own target, else of any.
//
// Where all that is left are targets that are left alone, one of them is chosen all
// the same: refusing without asking would help nobody, and one that was started
// anew a moment ago answers before its pause is over. One that active checks found
// down is not chosen, though it be the only one or the last: they know better than
// a request that would wait for it.
func (g *Group) Pick(key uint64, tried Set, now time.Duration) (i int, after time.Duration) {
	switch g.balance {
	case LeastConnections:
		i = g.leastConnections(tried, now)
	case Hash:
		i = g.byHash(key, tried, now)
	default:
		i = g.roundRobin(tried, now)
	}
	switch {
	case i >= 0 && !g.free(i), i < 0 && g.limit > 0 && g.anyOpen(tried, now):
		return Busy, 0
	case i >= 0:
		g.members[i].picked(&g.policy, now)
	default:
		// Not a trial: that it fails again, before it is due, says nothing new.
		if i = g.lastResort(tried); i < 0 {
			return None, g.nextTrial(now)
		}
		if !g.free(i) {
			return Busy, 0
		}
	}
	g.members[i].active++
	return i, 0
}

// lastResort is, of the targets that are left alone, the one that is due first.
func (g *Group) lastResort(tried Set) int {
	best := -1
	for i := range g.members {
		m := &g.members[i]
		if !tried.Has(i) && !m.out && (best < 0 || m.due < g.members[best].due) {
			best = i
		}
	}
	return best
}

// Outcome is what came of a request to a target.
type Outcome uint8

const (
	Answered Outcome = iota // it answered, whatever
	Failed                  // no connection, no answer in time, or a broken one
	GivenUp                 // the client went away before either
)

// Report takes in what a request says of target i: as soon as it is known, which for Answered is when the head of the answer came. A later
// failure within the body may be reported too.
func (g *Group) Report(i int, outcome Outcome, now time.Duration) {
	m := &g.members[i]
	switch outcome {
	case Answered:
		m.success()
	case Failed:
		m.failure(&g.policy, now)
	case GivenUp:
		m.givenUp()
	}
}

// Check takes in what active checks found of target i. That it is up ends a pause
// that failed requests brought: it has just answered.
func (g *Group) Check(i int, isUp bool) {
	m := &g.members[i]
	m.out = !isUp
	if isUp {
		m.success()
	}
}

// Done ends what Pick began: the request is not under way any more.
func (g *Group) Done(i int) {
	m := &g.members[i]
	if m.active == 0 {
		panic("BUG: proxy: request done twice")
	}
	m.active--
}

// Healthy counts the targets that are up.
func (g *Group) Healthy() (n int) {
	for i := range g.members {
		if m := &g.members[i]; m.state == up && !m.out {
			n++
		}
	}
	return n
}

// Limit sets how many requests may be under way at each target; 0: any number.
func (g *Group) Limit(n int) { g.limit = n }

// Active is how many requests are under way at target i.
func (g *Group) Active(i int) int { return g.members[i].active }

// free says that target i may have one more request.
func (g *Group) free(i int) bool { return g.limit == 0 || g.members[i].active < g.limit }

// anyOpen says that some target may be chosen, busy or not.
func (g *Group) anyOpen(tried Set, now time.Duration) bool {
	for i := range g.members {
		if g.open(i, tried, now) {
			return true
		}
	}
	return false
}

// open says that target i may be chosen, busy or not.
func (g *Group) open(i int, tried Set, now time.Duration) bool {
	m := &g.members[i]
	return !tried.Has(i) && !m.out && (len(g.members) == 1 || m.usable(now))
}

// roundRobin gives each open target its weight in credit and takes the sum from
// the richest, which is chosen: the turns of a heavy target are spread out.
func (g *Group) roundRobin(tried Set, now time.Duration) int {
	return g.inTurn(func(i int) bool { return g.free(i) && g.open(i, tried, now) })
}

// inTurn is roundRobin among the targets that among says yes to.
func (g *Group) inTurn(among func(i int) bool) int {
	best, sum := -1, 0
	for i := range g.members {
		if !among(i) {
			continue
		}
		m := &g.members[i]
		m.credit += m.weight
		sum += m.weight
		if best < 0 || m.credit > g.members[best].credit {
			best = i
		}
	}
	if best >= 0 {
		g.members[best].credit -= sum
	}
	return best
}

// leastConnections compares active/weight without dividing, and has equals take
// turns, by weight.
func (g *Group) leastConnections(tried Set, now time.Duration) int {
	var least *member
	for i := range g.members {
		if m := &g.members[i]; g.free(i) && g.open(i, tried, now) && (least == nil || m.active*least.weight < least.active*m.weight) {
			least = m
		}
	}
	if least == nil {
		return -1
	}
	active, weight := least.active, least.weight
	return g.inTurn(func(i int) bool {
		m := &g.members[i]
		return m.active*weight == active*m.weight && g.free(i) && g.open(i, tried, now)
	})
}

// byHash is rendezvous hashing: every target draws a number out of the key, and
// the best wins. When a target goes, only its keys move.
func (g *Group) byHash(key uint64, tried Set, now time.Duration) int {
	best, bestScore := -1, 0.0
	for i := range g.members {
		if !g.open(i, tried, now) {
			continue
		}
		m := &g.members[i]
		if score := draw(key, m.seed, m.weight); best < 0 || score > bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

// draw is weight / -ln(u) for a u in (0, 1) made of key and seed: the chance to
// have the greatest is in proportion to the weight.
func draw(key, seed uint64, weight int) float64 {
	u := (float64(mix(key^seed)>>11) + 0.5) / (1 << 53)
	return float64(weight) / -math.Log(u)
}

// nextTrial is how long until the first target that is left alone is due, 0 if one
// is not.
func (g *Group) nextTrial(now time.Duration) (after time.Duration) {
	for i := range g.members {
		m := &g.members[i]
		if m.state == up && !m.out {
			return 0
		}
		if left := m.due - now; m.state == down && !m.out && left > 0 && (after == 0 || left < after) {
			after = left
		}
	}
	return after
}

// HashKey makes a key of an address or of a field's value. It is the same in all
// workers and processes (FNV-1a, then mixed).
func HashKey(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return mix(h)
}

// mix spreads every bit over all (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
