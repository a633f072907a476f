// Content of small files that were asked for, kept in memory under a budget.

package site

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// content is one file's. It is never written to: responses that send it outlive
// its place in the cache.
type content struct {
	bytes []byte
	hot   atomic.Bool // sent since the hand last passed
}

// cache keeps content until the budget is spent. From then on a file must be
// asked for twice within a round before it is taken in, so that a walk over the
// whole site flushes nothing; and a hand goes round among those that are kept,
// and what was not sent since it last passed makes room. Readers take no lock.
type cache struct {
	budget  int64
	fileMax int64
	kept    []atomic.Pointer[content] // by entry
	used    atomic.Int64              // bytes in kept

	asked    []atomic.Uint32 // a bit per entry: asked for in this round
	askedNum atomic.Int64    // bits set
	round    atomic.Int64    // bits that end it

	mu   sync.Mutex // over changes to kept and all below
	ring []int32    // the entries that are kept
	hand int        // in ring
}

// A round ends when so many files were asked for once, as a multiple of those
// that are kept: long enough for what is asked for half as often as those.
const roundFactor, roundMin = 4, 64

func (c *cache) init(entries int, opts *Options) {
	c.budget, c.fileMax = opts.CacheBytes, min(opts.CacheFileBytesMax, opts.CacheBytes)
	c.kept = make([]atomic.Pointer[content], entries)
	c.asked = make([]atomic.Uint32, (entries+31)/32)
	c.round.Store(roundMin)
}

// get is the content of entry i, or nil.
func (c *cache) get(i int) *content {
	kept := c.kept[i].Load()
	if kept != nil && !kept.hot.Load() {
		kept.hot.Store(true)
	}
	return kept
}

// wants says whether the content of entry i, which get does not have, is to be
// handed in.
func (c *cache) wants(i int, size int64) bool {
	switch {
	case size > c.fileMax:
		return false
	case c.used.Load()+size <= c.budget:
		return true
	}
	bit := uint32(1) << (i % 32)
	if c.asked[i/32].Or(bit)&bit != 0 {
		return true
	}
	if c.askedNum.Add(1) > c.round.Load() {
		c.newRound()
	}
	return false
}

// newRound forgets what was asked for. It races with wants, where a bit too many
// or too few does no harm.
func (c *cache) newRound() {
	c.askedNum.Store(0)
	for i := range c.asked {
		c.asked[i].Store(0)
	}
}

// Keep hands in the content of entry, read whole, as a response asked for it by
// its Entry. b is the site's from here on: nobody may write to it. What was read
// of an archive that is stale must not be handed in.
func (s *Site) Keep(entry int, b []byte) {
	if e := &s.index.entries[entry]; int64(len(b)) != e.size {
		panic(fmt.Sprintf("BUG: site.Keep: %d bytes for an entry of %d", len(b), e.size))
	}
	s.cache.keep(entry, b)
}

func (c *cache) keep(i int, b []byte) {
	n := int64(len(b))
	if n > c.fileMax {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[i].Load() != nil {
		return // another worker was here first
	}
	c.makeRoom(n)
	c.kept[i].Store(&content{bytes: b})
	c.used.Add(n)
	c.ring = append(c.ring, int32(i))
	c.round.Store(int64(roundFactor*len(c.ring) + roundMin))
}

// makeRoom lets content go until n more bytes fit. It ends: whatever the hand
// passes is hot no longer.
func (c *cache) makeRoom(n int64) {
	for c.used.Load()+n > c.budget && len(c.ring) > 0 {
		c.hand %= len(c.ring)
		i := c.ring[c.hand]
		old := c.kept[i].Load()
		if old.hot.Swap(false) {
			c.hand++
			continue
		}
		c.kept[i].Store(nil)
		c.used.Add(-int64(len(old.bytes)))
		last := len(c.ring) - 1
		c.ring[c.hand] = c.ring[last]
		c.ring = c.ring[:last]
	}
}
