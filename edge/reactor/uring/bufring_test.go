package uring

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"

	"edge/edge/reactor"
)

// newTestRing is a bufRing that no kernel knows of.
func newTestRing(t *testing.T, lent, buffers, size int) *bufRing {
	t.Helper()
	pool, err := reactor.NewBuffers(1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return &bufRing{
		entries: make([]giouring.BufAndRing, lent),
		mem:     make([]byte, buffers*size),
		size:    size, max: buffers,
		target: min(lentLeast, lent),
		holds:  newHolds(pool),
	}
}

// kernel takes buffers from a ring as the kernel does.
type kernel struct {
	b    *bufRing
	head uint16
}

func (k *kernel) take() (id int, ok bool) {
	if k.head == k.tail() {
		return 0, false
	}
	e := k.b.entries[int(k.head)&(len(k.b.entries)-1)]
	k.head++
	if e.Addr != uint64(uintptr(unsafe.Pointer(&k.b.mem[int(e.Bid)*k.b.size]))) || int(e.Len) != k.b.size {
		panic(fmt.Sprintf("entry %+v", e))
	}
	k.b.took(int(e.Bid))
	return int(e.Bid), true
}

// tail is the 16 bits at offset 14 of the ring.
func (k *kernel) tail() uint16 {
	return binary.NativeEndian.Uint16((*[16]byte)(unsafe.Pointer(&k.b.entries[0]))[14:])
}

// TestBufRing runs the ring for long, the tail around its 16 bits: no buffer is
// in two places, and none is lost.
func TestBufRing(t *testing.T) {
	for _, entries := range []int{1, 16, 2048} {
		b := newTestRing(t, entries, 3*entries, 512)
		k := &kernel{b: b}
		rng := rand.New(rand.NewPCG(1, uint64(entries)))
		out := map[int]bool{}
		for b.tail < 60000 || len(out) < entries/2 {
			b.fill()
			for range rng.IntN(2*entries + 1) {
				id, ok := k.take()
				if !ok {
					break
				}
				if out[id] {
					t.Fatalf("buffer %d was filled while in use", id)
				}
				out[id] = true
			}
			for id := range out {
				if rng.IntN(3) > 0 {
					delete(out, id)
					b.put(id)
				}
			}
			if n := b.lent + len(out) + b.free.Len() + b.max - b.next; n != b.max || b.busy != len(out) {
				t.Fatalf("%d of %d buffers accounted for, %d busy of %d", n, b.max, b.busy, len(out))
			}
		}
	}
}

// TestBufRingGrows: what is lent follows the need, and so does what is touched.
func TestBufRingGrows(t *testing.T) {
	b := newTestRing(t, 256, 1024, 512)
	k := &kernel{b: b}
	turn := func(use int) {
		b.fill()
		for range use {
			if id, ok := k.take(); ok {
				b.put(id)
			}
		}
	}
	for range 100 {
		turn(10)
	}
	if b.target != lentLeast || b.next > 2*lentLeast {
		t.Errorf("with 10 a turn %d are lent, %d were touched", b.target, b.next)
	}
	for range 10 {
		turn(1000)
	}
	if b.target != 256 {
		t.Errorf("with all of them used %d are lent", b.target)
	}
	for range 10 {
		for range 100 {
			turn(7)
		}
		b.trim()
	}
	if b.target != lentLeast || b.lent > lentLeast {
		t.Errorf("after the burst %d are lent, %d are to be", b.lent, b.target)
	}
	if b.trim() {
		t.Error("trimming finds no end")
	}
}

// TestHold: with few buffers free, held bytes move to the pool; chains keep their
// order either way; all goes back.
func TestHold(t *testing.T) {
	b := newTestRing(t, 16, 16, 512)
	k := &kernel{b: b}
	type chain struct{ head, tail int32 }
	chains := [3]chain{{noBuffer, noBuffer}, {noBuffer, noBuffer}, {noBuffer, noBuffer}}
	for i := range 60 {
		b.fill()
		id, ok := k.take()
		if !ok {
			t.Fatalf("no buffer left for number %d", i)
		}
		c := &chains[i%3]
		b.hold(&c.head, &c.tail, id, copy(b.bytes(id), fmt.Sprint("bytes ", i)))
	}
	if b.busy > b.max/2+1 {
		t.Errorf("held bytes take %d of %d buffers", b.busy, b.max)
	}
	for i := range 60 {
		c := &chains[i%3]
		id, n := b.shift(&c.head, &c.tail)
		if got, want := string(b.bytes(id)[:n]), fmt.Sprint("bytes ", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		b.put(id)
	}
	if b.busy != 0 || b.holds.pool.Used() != 0 || chains[0].tail != noBuffer {
		t.Errorf("%d buffers and %d bytes of the pool are not back", b.busy, b.holds.pool.Used())
	}
}

// TestHoldWithoutPool: with the pool spent, but for what output needs to go on, held
// bytes stay where they are.
func TestHoldWithoutPool(t *testing.T) {
	b := newTestRing(t, 16, 16, 512)
	for b.holds.pool.Available() > b.holds.leave {
		b.holds.pool.Get(reactor.BufferBytesMax)
	}
	if b.holds.leave < 3*reactor.BufferBytesMax {
		t.Errorf("copies leave %d bytes alone", b.holds.leave)
	}
	k := &kernel{b: b}
	head, tail := noBuffer, noBuffer
	for range 16 {
		b.fill()
		id, ok := k.take()
		if !ok {
			t.Fatal("no buffer")
		}
		b.hold(&head, &tail, id, 1)
	}
	if b.fill(); b.lent != 0 || b.busy != 16 {
		t.Fatalf("%d lent, %d busy", b.lent, b.busy)
	}
	for head != noBuffer {
		id, _ := b.shift(&head, &tail)
		b.put(id)
	}
	if b.fill(); b.lent != 16 {
		t.Fatalf("%d lent after all are back", b.lent)
	}
}

func TestBufRingMisuse(t *testing.T) {
	for name, misuse := range map[string]func(b *bufRing, id int){
		"put twice":            func(b *bufRing, id int) { b.put(id); b.put(id) },
		"put unknown":          func(b *bufRing, id int) { b.put(15) },
		"put unknown copy":     func(b *bufRing, id int) { b.put(16) },
		"filled without being": func(b *bufRing, id int) { b.took(id) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestRing(t, 4, 16, 512)
			b.fill()
			id, _ := (&kernel{b: b}).take()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			misuse(b, id)
		})
	}
}
