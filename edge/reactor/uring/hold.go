// What came in for paused sockets.

package uring

import "edge/edge/reactor"

// What comes in for a paused socket is held back in the buffer it came in. When
// that would leave too few buffers for the others, it is moved to memory of the
// pool, so that any number of paused sockets starve nobody; as long as that leaves
// the pool enough for what they wait for.

// holds is the books of what is held back.
type holds struct {
	pool   *reactor.Buffers
	leave  int      // bytes of the pool that copies leave alone
	notes  []note   // by buffer number
	copies []copied // numbered on from the buffers
	free   []int32  // copies not used
}

// newHolds makes the books of copies that leave an eighth of the pool alone, and three
// buffers of the largest size at the least: output needs some of it to go on.
func newHolds(pool *reactor.Buffers) holds {
	return holds{pool: pool, leave: max(pool.Available()/8, 3*reactor.BufferBytesMax)}
}

// manyHeld says that a quarter of the buffers is held back, kept or on its way.
func (b *bufRing) manyHeld() bool { return b.busy > b.max/4 }

// note is a link of a socket's chain of held buffers.
type note struct {
	bytes int32
	next  int32 // number of a buffer or a copy, noBuffer at the end
}

// copied is bytes that were moved out of their receive buffer.
type copied struct {
	mem []byte // nil when not used
	note
}

func (b *bufRing) note(id int) *note {
	if id >= b.max {
		return &b.holds.copies[id-b.max].note
	}
	for len(b.holds.notes) <= id {
		b.holds.notes = append(b.holds.notes, note{})
	}
	return &b.holds.notes[id]
}

// hold puts buffer id with n bytes at the end of a socket's chain.
func (b *bufRing) hold(head, tail *int32, id, n int) {
	if b.busy > b.max/2 {
		id = b.move(id, n)
	}
	*b.note(id) = note{bytes: int32(n), next: noBuffer}
	if *tail == noBuffer {
		*head = int32(id)
	} else {
		b.note(int(*tail)).next = int32(id)
	}
	*tail = int32(id)
}

// shift takes the first buffer off a chain.
func (b *bufRing) shift(head, tail *int32) (id, n int) {
	id = int(*head)
	held := *b.note(id)
	*head = held.next
	if held.next == noBuffer {
		*tail = noBuffer
	}
	return id, int(held.bytes)
}

// move copies n bytes of buffer id to the pool and gives the buffer back. The
// number of the copy comes back, or id when the pool has no room.
func (b *bufRing) move(id, n int) int {
	if n > reactor.BufferBytesMax || b.holds.pool.Available() <= b.holds.leave {
		return id
	}
	mem := b.holds.pool.Get(n)
	if mem == nil {
		return id
	}
	mem = append(mem, b.bytes(id)[:n]...)
	b.put(id)
	h := &b.holds
	if k := len(h.free); k > 0 {
		i := h.free[k-1]
		h.free = h.free[:k-1]
		h.copies[i].mem = mem
		return b.max + int(i)
	}
	h.copies = append(h.copies, copied{mem: mem})
	return b.max + len(h.copies) - 1
}

func (b *bufRing) putCopy(id int) {
	h := &b.holds
	i := id - b.max
	if i >= len(h.copies) || h.copies[i].mem == nil {
		panic("BUG: receive buffer given back twice")
	}
	h.pool.Put(h.copies[i].mem[:0])
	h.copies[i].mem = nil
	h.free = append(h.free, int32(i))
}
