package bpfvm

// maptable.go: the index of hash maps. All memory is taken when the map is made;
// nothing is allocated later. Entries are chained from buckets, and each stands in
// a ring as well: the free ones in one, those in use in another, least recently
// used first.
//
//	buckets[hash] → entry → entry …           (next)
//	used ring:  head ⇄ oldest ⇄ … ⇄ newest    (older, newer)
//	free ring:  head ⇄ …

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// none ends a chain.
const none = ^uint32(0)

// table maps keys to slots. An array map has an empty one.
type table struct {
	seed     maphash.Seed // keyed: peers choose keys, and must not choose collisions
	keyBytes int
	keys     []byte
	buckets  []uint32
	next     []uint32
	older    []uint32 // two more than slots: the heads of the rings
	newer    []uint32
	used     uint32 // index of the ring's head
	free     uint32
	count    int
}

func newTable(s MapSpec) table {
	if s.isArray() {
		return table{}
	}
	n := s.EntriesMax
	t := table{
		seed: maphash.MakeSeed(), keyBytes: int(s.KeyBytes),
		keys:    make([]byte, int(n)*int(s.KeyBytes)),
		buckets: make([]uint32, 1<<bits.Len32(n-1)),
		next:    make([]uint32, n),
		older:   make([]uint32, n+2),
		newer:   make([]uint32, n+2),
		used:    n, free: n + 1,
	}
	for i := range t.buckets {
		t.buckets[i] = none
	}
	for _, head := range []uint32{t.used, t.free} {
		t.older[head], t.newer[head] = head, head
	}
	for slot := range n {
		t.enter(t.free, slot)
	}
	return t
}

// enter puts a slot at the newest end of a ring; leave takes it out of its ring.
func (t *table) enter(head, slot uint32) {
	last := t.older[head]
	t.older[slot], t.newer[slot] = last, head
	t.newer[last], t.older[head] = slot, slot
}

func (t *table) leave(slot uint32) {
	o, n := t.older[slot], t.newer[slot]
	t.newer[o], t.older[n] = n, o
}

func (t *table) bucket(key []byte) *uint32 {
	return &t.buckets[maphash.Bytes(t.seed, key)&uint64(len(t.buckets)-1)]
}

func (t *table) key(slot uint32) []byte {
	at := int(slot) * t.keyBytes
	return t.keys[at : at+t.keyBytes]
}

// find returns the slot of key and, if touch is set, makes it the newest.
func (t *table) find(key []byte, touch bool) (uint32, bool) {
	for slot := *t.bucket(key); slot != none; slot = t.next[slot] {
		if !bytes.Equal(t.key(slot), key) {
			continue
		}
		if touch {
			t.leave(slot)
			t.enter(t.used, slot)
		}
		return slot, true
	}
	return 0, false
}

// insert takes a slot for a key that is not there. If none is free, evict pushes
// the oldest entry out.
func (t *table) insert(key []byte, evict bool) (uint32, bool) {
	slot := t.newer[t.free]
	if slot == t.free {
		if !evict {
			return 0, false
		}
		slot = t.newer[t.used]
		t.unlink(slot)
	}
	t.leave(slot)
	t.enter(t.used, slot)
	copy(t.key(slot), key)
	b := t.bucket(key)
	t.next[slot], *b = *b, slot
	t.count++
	return slot, true
}

func (t *table) remove(key []byte) bool {
	slot, ok := t.find(key, false)
	if ok {
		t.unlink(slot)
		t.leave(slot)
		t.enter(t.free, slot)
	}
	return ok
}

// unlink takes a slot out of its bucket's chain.
func (t *table) unlink(slot uint32) {
	at := t.bucket(t.key(slot))
	for *at != slot {
		at = &t.next[*at]
	}
	*at = t.next[slot]
	t.count--
}

// each visits the entries, an array's by index, a hash's oldest first.
func (t *table) each(s MapSpec, visit func(key []byte, slot uint32) bool) {
	if s.isArray() {
		var key [4]byte
		for i := range s.EntriesMax {
			binary.LittleEndian.PutUint32(key[:], i)
			if !visit(key[:], i) {
				return
			}
		}
		return
	}
	for slot := t.newer[t.used]; slot != t.used; slot = t.newer[slot] {
		if !visit(t.key(slot), slot) {
			return
		}
	}
}

func (t *table) len(s MapSpec) int {
	if s.isArray() {
		return int(s.EntriesMax)
	}
	return t.count
}
