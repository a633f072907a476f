// Content of small files that were asked for, kept in memory under a budget.

package site

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
)

// content is one file's. It is never written to once it is published: responses
// that send it outlive its place in the cache.
type content struct {
	bytes []byte
	hot   atomic.Bool // sent since the hand last passed
}

// cache keeps content until the budget is spent; then a hand goes round and
// what was not sent since its last round makes room. Readers take no lock.
type cache struct {
	budget  int64
	fileMax int64
	kept    []atomic.Pointer[content] // by entry

	mu   sync.Mutex
	used int64
	ring []int32 // the entries that are kept
	hand int     // in ring
}

func (c *cache) init(entries int, opts *Options) {
	c.budget, c.fileMax = opts.CacheBytes, min(opts.CacheFileBytesMax, opts.CacheBytes)
	c.kept = make([]atomic.Pointer[content], entries)
}

// get is the content of entry i, or nil.
func (c *cache) get(i int) *content {
	kept := c.kept[i].Load()
	if kept != nil && !kept.hot.Load() {
		kept.hot.Store(true)
	}
	return kept
}

// Keep hands in the content of entry, which was read whole: the number and the
// size are those of a response that asked for it by Response.Entry. b is copied.
// What was read of an archive that is stale must not be handed in.
func (s *Site) Keep(entry int, b []byte) {
	if e := &s.index.entries[entry]; int64(len(b)) != e.size {
		panic(fmt.Sprintf("BUG: site.Keep: %d bytes for an entry of %d", len(b), e.size))
	}
	s.cache.keep(entry, b)
}

func (c *cache) keep(i int, b []byte) {
	if int64(len(b)) > c.fileMax || c.kept[i].Load() != nil {
		return
	}
	fresh := &content{bytes: bytes.Clone(b)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[i].Load() != nil {
		return // another worker was here first
	}
	c.makeRoom(int64(len(b)))
	c.kept[i].Store(fresh)
	c.used += int64(len(b))
	c.ring = append(c.ring, int32(i))
}

// makeRoom lets content go until n more bytes fit. Two rounds are enough: the
// first cools everything down.
func (c *cache) makeRoom(n int64) {
	for c.used+n > c.budget && len(c.ring) > 0 {
		c.hand %= len(c.ring)
		i := c.ring[c.hand]
		old := c.kept[i].Load()
		if old.hot.Swap(false) {
			c.hand++
			continue
		}
		c.kept[i].Store(nil)
		c.used -= int64(len(old.bytes))
		last := len(c.ring) - 1
		c.ring[c.hand] = c.ring[last]
		c.ring = c.ring[:last]
	}
}
