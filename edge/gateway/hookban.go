package gateway

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// bans are the clients that a program has sent away for a time, of all workers.
// They outlive reloads. While there are none, asking costs one load.
type bans struct {
	count atomic.Int64 // of until
	mu    sync.Mutex
	until map[netip.Addr]time.Time // by sourceOf
}

const (
	// bansMax bounds what programs may be made to remember: some 6 MB.
	bansMax = 65536
	// banMax is the longest: an address has another owner sooner or later.
	banMax = 24 * time.Hour
)

// add bans a for some seconds; false: there are too many bans.
func (b *bans) add(a netip.Addr, now time.Time, seconds uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := sourceOf(a)
	if _, again := b.until[key]; !again && len(b.until) >= bansMax && !b.expire(now) {
		return false
	}
	if b.until == nil {
		b.until = map[netip.Addr]time.Time{}
	}
	length := banMax
	if seconds < uint64(banMax/time.Second) {
		length = time.Duration(seconds) * time.Second
	}
	b.until[key] = now.Add(length)
	b.count.Store(int64(len(b.until)))
	return true
}

// expire forgets the bans that are over; false: there are none of them.
func (b *bans) expire(now time.Time) bool {
	before := len(b.until)
	for a, until := range b.until {
		if !now.Before(until) {
			delete(b.until, a)
		}
	}
	b.count.Store(int64(len(b.until)))
	return len(b.until) < before
}

// has says whether a is banned now.
func (b *bans) has(a netip.Addr, now time.Time) bool {
	if b.count.Load() == 0 || !a.IsValid() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := sourceOf(a)
	until, banned := b.until[key]
	if banned && !now.Before(until) {
		delete(b.until, key)
		b.count.Store(int64(len(b.until)))
		banned = false
	}
	return banned
}
