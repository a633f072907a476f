package gateway

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"time"

	"edge/ech"
)

// echWatch tells the operator when hellos that were meant for our keys stop to
// open after the keys were changed: DNS publishes an old config for longer than its
// key was kept, or one that a machine does not hold. GREASE is never among them, a
// visitor of the public name itself may be; so what counts is that they became more
// than they were.
type echWatch struct {
	started echCounts // when the keys in service came into it
	before  echCounts // what the keys before them saw
	changed time.Time // zero: they never changed
	next    int64     // stale hellos of which the next line is due
}

// echCounts counts hellos that were meant for our keys.
type echCounts struct{ opened, stale int64 }

func (c echCounts) minus(o echCounts) echCounts {
	return echCounts{c.opened - o.opened, c.stale - o.stale}
}

func (c echCounts) String() string { return fmt.Sprintf("%d of %d", c.stale, c.stale+c.opened) }

// staleMin is how few stale hellos are no news.
const staleMin = 10

// moreOftenThan says whether the share of stale hellos is more than twice that of
// o, and more than one in a hundred.
func (c echCounts) moreOftenThan(o echCounts) bool {
	all := float64(max(c.stale+c.opened, 1))
	share := float64(c.stale) / all
	return share > 0.01 && share > 2*float64(o.stale)/float64(max(o.stale+o.opened, 1))
}

// keysChanged begins anew: other keys come into service.
func (e *echWatch) keysChanged(now time.Time, counts echCounts) {
	e.before = counts.minus(e.started)
	e.started, e.changed, e.next = counts, now, staleMin
}

// look returns a line when there is something to say; the next one comes when
// there are twice as many.
func (e *echWatch) look(counts echCounts) string {
	since := counts.minus(e.started)
	if e.changed.IsZero() || since.stale < e.next || !since.moreOftenThan(e.before) {
		return ""
	}
	e.next = 2 * since.stale
	return fmt.Sprintf("ECH: since the keys changed at %s, %v hellos that were meant for them did not open, before %v: "+
		"clients encrypt to keys that are gone: run `edge keys check`, and keep old keys longer than the TTL of the records",
		e.changed.UTC().Format(time.RFC3339), since, e.before)
}

// echCounts sums up what is watched.
func (s *server) echCounts() echCounts {
	return echCounts{
		opened: s.sum(func(st *stats) *atomic.Int64 { return &st.echAccepted }),
		stale:  s.sum(func(st *stats) *atomic.Int64 { return &st.echRejected }),
	}
}

// watchECH looks for clients with stale configs.
func (s *server) watchECH() {
	if line := s.echWatch.look(s.echCounts()); line != "" {
		s.log.Printf("%s", line)
	}
}

// sameKeys compares what clients can notice of two sets: the configs, and which of
// them are given out.
func sameKeys(a, b *ech.Set) bool {
	x, y := a.Keys(), b.Keys()
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i].Role != y[i].Role || !bytes.Equal(x[i].Config.Raw, y[i].Config.Raw) {
			return false
		}
	}
	return true
}
