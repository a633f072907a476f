// Socket slots: index, generation, four states.

package reactor

import "math"

// SlotState is where a socket's slot stands.
//
//	free ──Take──▶ connecting ──▶ open ──Close──▶ closing ──last completion──▶ free
//	     └─────────Take──────────▶  └────────────────▲
//
// A closing slot is waited for: the kernel may still write to what its
// operations were given, so neither the slot nor a buffer is used again before
// the last completion came.
type SlotState uint8

// The four states of a slot.
const (
	SlotFree SlotState = iota
	SlotConnecting
	SlotOpen
	SlotClosing
)

// slotChunk is how many slots are allocated at a time: a pointer to a slot stays
// valid while the table grows, and an idle worker holds one chunk.
const slotChunk = 256

// SocketsMaxMax bounds Options.SocketsMax: an index must fit 24 bits, so that
// index, generation and an operation fit the 64 bits a completion carries.
const SocketsMaxMax = 1 << 24

// Slot is one socket's place in a reactor's table, with the reactor's own record
// of it.
type Slot[T any] struct {
	// Sock is the socket that has the slot now, or the one that had it last.
	Sock Sock
	// Pending counts operations that were started and have not completed.
	Pending int32
	State   SlotState
	// Op is the reactor's record; it is zeroed by Take.
	Op T
}

// Slots is the table of a reactor's sockets. An index is used again only after
// Free, and with the next generation, so that a late completion or a stale Sock
// finds nothing.
type Slots[T any] struct {
	chunks []*[slotChunk]Slot[T]
	free   []int32 // indices given back, the last first
	next   int     // first index never used
	max    int
	live   int
}

// NewSlots makes a table of at most max sockets.
func NewSlots[T any](max int) Slots[T] {
	return Slots[T]{max: max}
}

// Take gives a slot in the state given, nil when all are taken.
func (t *Slots[T]) Take(state SlotState) *Slot[T] {
	i, ok := t.index()
	if !ok {
		return nil
	}
	s := &t.chunks[i/slotChunk][i%slotChunk]
	*s = Slot[T]{Sock: nextGeneration(i, s.Sock), State: state}
	t.live++
	return s
}

func (t *Slots[T]) index() (int, bool) {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		return int(i), true
	}
	if t.next == t.max {
		return 0, false
	}
	i := t.next
	t.next++
	if i/slotChunk == len(t.chunks) {
		t.chunks = append(t.chunks, new([slotChunk]Slot[T]))
	}
	return i, true
}

// nextGeneration follows the generation of the socket that had the slot; 0 is
// skipped, for the zero Sock names nothing.
func nextGeneration(index int, last Sock) Sock {
	g := last.Generation()
	if g == math.MaxUint32 {
		g = 0
	}
	return MakeSock(index, g+1)
}

// Free gives a slot back.
func (t *Slots[T]) Free(s *Slot[T]) {
	if s.State == SlotFree || s.Pending != 0 {
		panic("BUG: slot freed twice, or with operations in flight")
	}
	s.State = SlotFree
	t.live--
	t.free = append(t.free, int32(s.Sock.Index()))
}

// Find gives the slot of s in whatever state but free, nil if s is stale.
func (t *Slots[T]) Find(s Sock) *Slot[T] {
	i := s.Index()
	if i < 0 || i >= t.next {
		return nil
	}
	slot := &t.chunks[i/slotChunk][i%slotChunk]
	if slot.Sock != s || slot.State == SlotFree {
		return nil
	}
	return slot
}

// Live gives the slot of s if it may still be used: neither stale nor closing.
func (t *Slots[T]) Live(s Sock) *Slot[T] {
	slot := t.Find(s)
	if slot == nil || slot.State == SlotClosing {
		return nil
	}
	return slot
}

// At gives the slot of an index below Top, whatever its state.
func (t *Slots[T]) At(index int) *Slot[T] {
	return &t.chunks[index/slotChunk][index%slotChunk]
}

// Len is the number of slots taken; Top is one more than the highest index ever
// taken; Max is the most there may be.
func (t *Slots[T]) Len() int { return t.live }

// Top is one more than the highest index ever taken.
func (t *Slots[T]) Top() int { return t.next }

// Max is the most slots there may be.
func (t *Slots[T]) Max() int { return t.max }
