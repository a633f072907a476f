// Deadlines: one timer wheel per worker.

package reactor

import (
	"math/bits"
	"time"
)

// The wheel: wheelBuckets lists of timers, one per tick, 4.2 ms × 2,048 = 8.6 s
// around. A timer beyond that waits in the farthest bucket and is put in again
// when its turn comes, and so is one whose deadline was moved later meanwhile:
// moving a deadline later, the common case, is a store.
const (
	wheelTickShift = 22
	wheelTick      = time.Duration(1 << wheelTickShift)
	wheelBuckets   = 2048
	wheelWords     = wheelBuckets / 64

	// aftersMax bounds After timers in flight: worker-wide work is a handful.
	aftersMax = 4096
)

const noTimer int32 = -1

// ExpiryKind says what Wheel.Expire found.
type ExpiryKind uint8

// The kinds of expiry: a socket's deadline, an After, and a reactor's own.
const (
	ExpirySocket ExpiryKind = iota
	ExpiryAfter
	ExpiryOwn
)

// Expiry is a timer whose time has come: Tag is the Sock of a deadline, or the
// tag that After or Own was given.
type Expiry struct {
	Kind ExpiryKind
	Tag  uint64
}

// timer is a node of the wheel. A socket has the one of its slot index; Afters
// have their own.
type timer struct {
	at         Instant // the true deadline; 0 when cleared
	tag        uint64
	next, prev int32
	bucket     int16 // where it is linked, noTimer when it is not
	kind       ExpiryKind
}

// Wheel keeps a worker's deadlines. It has no clock: it is handed the time.
// Timers fire up to one tick late, never early.
type Wheel struct {
	heads    [wheelBuckets]int32
	occupied [wheelWords]uint64
	sockets  []timer  // id = 2*index
	afters   []timer  // id = 2*index+1
	free     []int32  // indices of afters
	current  int64    // ticks up to and with this one were expired
	earliest int64    // no occupied tick is before this one; 0 unknown, -1 none
	soon     []uint64 // tags of Afters without delay, the first soonDue due now
	soonDue  int
	soonNext int
}

// NewWheel makes a wheel that starts at the instant now.
func NewWheel(now Instant) *Wheel {
	w := &Wheel{current: int64(now) >> wheelTickShift}
	for i := range w.heads {
		w.heads[i] = noTimer
	}
	return w
}

// SetDeadline sets the deadline of s, or clears it with 0.
func (w *Wheel) SetDeadline(s Sock, at Instant) {
	i := s.Index()
	if i >= len(w.sockets) {
		if at == 0 {
			return
		}
		w.grow(i)
	}
	t := &w.sockets[i]
	t.tag = uint64(s)
	t.at = at
	if at == 0 || t.bucket != noTimerBucket && w.tickOf(at) >= w.tickIn(t.bucket) {
		return // looked at when its bucket comes
	}
	w.unlink(int32(i) << 1)
	w.link(int32(i) << 1)
}

const noTimerBucket int16 = -1

func (w *Wheel) grow(index int) {
	for len(w.sockets) <= index {
		w.sockets = append(w.sockets, timer{bucket: noTimerBucket, kind: ExpirySocket})
	}
}

// Forget drops the timer of a slot whose socket is gone.
func (w *Wheel) Forget(s Sock) {
	if i := s.Index(); i < len(w.sockets) {
		w.unlink(int32(i) << 1)
		w.sockets[i].at = 0
	}
}

// Soon has tag fire in the next turn, without a wait in between.
func (w *Wheel) Soon(tag uint64) { w.soon = append(w.soon, tag) }

// Ready says that something waits for the next turn, so that it must not sleep.
func (w *Wheel) Ready() bool { return len(w.soon) > 0 }

// BeginTurn makes due what Soon was told before. Expire then gives it first.
func (w *Wheel) BeginTurn() { w.soonDue, w.soonNext = len(w.soon), 0 }

func (w *Wheel) expireSoon() (Expiry, bool) {
	if w.soonNext < w.soonDue {
		w.soonNext++
		return Expiry{Kind: ExpiryAfter, Tag: w.soon[w.soonNext-1]}, true
	}
	if w.soonDue > 0 {
		w.soon = w.soon[:copy(w.soon, w.soon[w.soonDue:])]
		w.soonDue, w.soonNext = 0, 0
	}
	return Expiry{}, false
}

// After adds a timer for tag at the instant at.
func (w *Wheel) After(at Instant, tag uint64) { w.add(ExpiryAfter, at, tag) }

// Own adds a timer of the reactor itself.
func (w *Wheel) Own(at Instant, tag uint64) { w.add(ExpiryOwn, at, tag) }

func (w *Wheel) add(kind ExpiryKind, at Instant, tag uint64) {
	var i int32
	if n := len(w.free); n > 0 {
		i = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		if len(w.afters) == aftersMax {
			panic("BUG: more than 4096 After timers")
		}
		i = int32(len(w.afters))
		w.afters = append(w.afters, timer{})
	}
	w.afters[i] = timer{at: at, tag: tag, bucket: noTimerBucket, kind: kind}
	w.link(i<<1 | 1)
}

// Next is the earliest instant at which Expire may have something, 0 if there
// is no timer.
func (w *Wheel) Next() Instant {
	if w.earliest == 0 {
		w.earliest = w.scan()
	}
	if w.earliest < 0 {
		return 0
	}
	return Instant(w.earliest << wheelTickShift)
}

// scan finds the next occupied tick, -1 if none.
func (w *Wheel) scan() int64 {
	from := w.current + 1
	at := int(from % wheelBuckets)
	word, bit := at/64, at%64
	for n := 0; n <= wheelWords; n++ {
		set := w.occupied[word]
		if n == 0 {
			set &= ^uint64(0) << bit
		}
		if set != 0 {
			found := word*64 + bits.TrailingZeros64(set)
			return from + int64((found-at+wheelBuckets)%wheelBuckets)
		}
		word = (word + 1) % wheelWords
	}
	return -1
}

// Expire gives a timer whose time has come by now; call it until ok is false.
func (w *Wheel) Expire(now Instant) (e Expiry, ok bool) {
	if e, ok := w.expireSoon(); ok {
		return e, true
	}
	last := int64(now) >> wheelTickShift
	for {
		next := w.earliest
		if next == 0 {
			next = w.scan()
			w.earliest = next
		}
		if next < 0 || next > last {
			w.current = max(w.current, last)
			return Expiry{}, false
		}
		w.current = next - 1
		for id := w.heads[next%wheelBuckets]; id != noTimer; id = w.heads[next%wheelBuckets] {
			if e, ok := w.take(id, next); ok {
				return e, true
			}
		}
		w.current, w.earliest = next, 0
	}
}

// take unlinks a timer of the bucket of tick; it is due, or goes to a later one.
func (w *Wheel) take(id int32, tick int64) (Expiry, bool) {
	t := w.timer(id)
	w.unlink(id)
	if t.at == 0 {
		return Expiry{}, false
	}
	if ceilTick(t.at) > tick {
		w.current = tick // the bucket itself is now the farthest
		w.link(id)
		w.current = tick - 1
		return Expiry{}, false
	}
	t.at = 0
	e := Expiry{Kind: t.kind, Tag: t.tag}
	if id&1 == 1 {
		w.free = append(w.free, id>>1)
	}
	return e, true
}

func ceilTick(at Instant) int64 { return (int64(at) + int64(wheelTick) - 1) >> wheelTickShift }

// tickOf is the tick in whose bucket a deadline waits.
func (w *Wheel) tickOf(at Instant) int64 {
	return min(max(ceilTick(at), w.current+1), w.current+wheelBuckets-1)
}

// tickIn is the tick that a bucket stands for now.
func (w *Wheel) tickIn(bucket int16) int64 {
	from := w.current + 1
	return from + (int64(bucket)-from%wheelBuckets+wheelBuckets)%wheelBuckets
}

func (w *Wheel) timer(id int32) *timer {
	if id&1 == 0 {
		return &w.sockets[id>>1]
	}
	return &w.afters[id>>1]
}

func (w *Wheel) link(id int32) {
	t := w.timer(id)
	tick := w.tickOf(t.at)
	b := tick % wheelBuckets
	t.bucket, t.prev, t.next = int16(b), noTimer, w.heads[b]
	if t.next != noTimer {
		w.timer(t.next).prev = id
	}
	w.heads[b] = id
	w.occupied[b/64] |= 1 << (b % 64)
	if w.earliest < 0 || w.earliest > 0 && tick < w.earliest {
		w.earliest = tick
	}
}

func (w *Wheel) unlink(id int32) {
	t := w.timer(id)
	if t.bucket == noTimerBucket {
		return
	}
	if t.next != noTimer {
		w.timer(t.next).prev = t.prev
	}
	if t.prev != noTimer {
		w.timer(t.prev).next = t.next
	} else {
		w.heads[t.bucket] = t.next
		if t.next == noTimer {
			w.occupied[t.bucket/64] &^= 1 << (t.bucket % 64)
		}
	}
	t.bucket = noTimerBucket
}
