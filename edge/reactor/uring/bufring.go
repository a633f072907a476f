// Receive buffers, and the ring through which the kernel is lent them.

package uring

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/pawelgaczynski/giouring"

	"edge/edge/reactor"
)

// bufGroup is the one buffer group of a ring.
const bufGroup = 0

const noBuffer int32 = -1

// bufRing is the receive buffers and the ring through which they are lent to the
// kernel. There are more buffers than the ring has entries: a buffer that is
// held back or kept is replaced in the ring by another one, so a connection that
// is not read does not starve the rest. Buffers come off the free list last in,
// first out, so those beyond what is needed are never touched.
//
//	free ──publish──▶ lent ──completion──▶ ours (delivered, held, kept) ──put──▶ free
type bufRing struct {
	entries []giouring.BufAndRing // the ring shared with the kernel
	tail    uint16                // our tail: entries up to it are filled
	shown   uint16                // the tail the kernel was shown
	lent    int                   // buffers the kernel has
	target  int                   // how many it should have
	peak    int                   // the most it used up in a turn since the last trim

	size int    // bytes of a buffer
	mem  []byte // all buffers
	free reactor.FreeList
	next int // first buffer never used
	max  int

	inUse []bool // ours: neither free nor lent
	busy  int    // how many are
	holds holds
}

// bufRingBytes is the memory a bufRing needs for its entries.
func bufRingBytes(o reactor.Options) int {
	return o.RecvLent * int(unsafe.Sizeof(giouring.BufAndRing{}))
}

// lentLeast is how many buffers are lent when little happens.
const lentLeast = 32

// newBufRing registers the ring; entries and mem are the memory for it.
func newBufRing(r *ring, o reactor.Options, pool *reactor.Buffers, entries, mem []byte) (*bufRing, error) {
	b := &bufRing{
		entries: unsafe.Slice((*giouring.BufAndRing)(unsafe.Pointer(&entries[0])), o.RecvLent),
		size:    o.RecvBytes,
		mem:     mem,
		max:     o.RecvBuffers,
		target:  min(lentLeast, o.RecvLent),
		holds:   newHolds(pool),
	}
	reg := giouring.BufReg{
		RingAddr:    uint64(uintptr(unsafe.Pointer(&entries[0]))),
		RingEntries: uint32(o.RecvLent),
		Bgid:        bufGroup,
	}
	if _, err := r.lib.RegisterBufferRing(&reg, 0); err != nil {
		return nil, thisHost.explain("io_uring_register(PBUF_RING)", err)
	}
	return b, nil
}

// bytes is the memory of a buffer, or of a copy.
func (b *bufRing) bytes(id int) []byte {
	if id >= b.max {
		return b.holds.copies[id-b.max].mem
	}
	return b.mem[id*b.size : (id+1)*b.size : (id+1)*b.size]
}

// took notes that the kernel filled buffer id: it is ours until put.
func (b *bufRing) took(id int) {
	if id >= b.next || b.inUse[id] {
		panic(fmt.Sprintf("BUG: kernel filled receive buffer %d, which it did not have", id))
	}
	b.inUse[id] = true
	b.busy++
	b.lent--
}

// put gives a buffer back, or a copy.
func (b *bufRing) put(id int) {
	if id >= b.max {
		b.putCopy(id)
		return
	}
	if id >= b.next || !b.inUse[id] {
		panic(fmt.Sprintf("BUG: receive buffer %d given back twice", id))
	}
	b.inUse[id] = false
	b.busy--
	b.free.Put(int32(id))
}

// fill lends buffers up to the target; what it added is shown to the kernel.
// A turn that used up more than half of what was lent doubles the target.
func (b *bufRing) fill() {
	b.peak = max(b.peak, b.target-b.lent)
	if b.lent <= b.target/2 && b.target < len(b.entries) && b.next > 0 {
		b.target *= 2
	}
	for b.lent < b.target {
		id, ok := b.pop()
		if !ok {
			break
		}
		b.add(id)
	}
	b.show()
}

func (b *bufRing) pop() (int, bool) {
	if id, ok := b.free.Take(); ok {
		return int(id), true
	}
	if b.next == b.max {
		return 0, false
	}
	b.next++
	b.inUse = append(b.inUse, false)
	return b.next - 1, true
}

func (b *bufRing) add(id int) {
	e := &b.entries[int(b.tail)&(len(b.entries)-1)]
	e.Addr = uint64(uintptr(unsafe.Pointer(&b.mem[id*b.size])))
	e.Len = uint32(b.size)
	e.Bid = uint16(id)
	b.tail++
	b.lent++
}

// show moves the tail the kernel sees. It is 16 bits wide and lies over the last
// two bytes of the first entry, behind that entry's buffer number:
//
//	entry 0:  addr (8) | len (4) | bid (2) | tail (2)
//
// sync/atomic has no 16-bit store, so number and tail are stored as the 32-bit
// word that they make: only we write the number, and the kernel reads either.
func (b *bufRing) show() {
	if b.shown == b.tail {
		return
	}
	b.shown = b.tail
	e := &b.entries[0]
	var word uint32
	pair := (*[2]uint16)(unsafe.Pointer(&word))
	pair[0], pair[1] = e.Bid, b.tail
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&e.Bid)), word)
}

// trim gives the kernel back the pages of buffers that were not needed since the
// last trim, and lends fewer if few were used; more says that another trim may
// find something.
func (b *bufRing) trim() (more bool) {
	more = b.free.Trim(func(first, count int) { reactor.Discard(b.mem[first*b.size : (first+count)*b.size]) })
	if b.peak < b.target/4 && b.target > lentLeast {
		b.target /= 2
		more = true
	}
	b.peak = 0
	return more
}
