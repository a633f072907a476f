// The memory of a worker that the kernel reads and writes.

package reactor

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Buffer size classes are powers of two. The least holds a small response, the
// largest a 100 KB answer in sealed records. What a buffer has beyond its use
// costs address space alone: its pages are not touched.
const (
	bufferBytesMin = 4 << 10
	bufferBytesMax = 128 << 10
	bufferClasses  = 6
)

// BufferBytesMax is the largest buffer that Get gives.
const BufferBytesMax = bufferBytesMax

// chunkBytes: memory goes from class to class in chunks of the largest size.
const chunkBytes = bufferBytesMax

const noChunk int32 = -1

// chunk is the books of chunkBytes of memory, cut into buffers of one class:
//
//	class 0: 32 buffers of 4 KB … class 5: 1 buffer of 128 KB
type chunk struct {
	free       uint32 // a bit for each buffer not handed out
	class      int8
	prev, next int32 // in the list of its class's chunks that have free buffers
}

// all is the free mask of a chunk with nothing handed out.
func all(class int8) uint32 { return uint32(1<<(1<<(bufferClasses-1-class)) - 1) }

// Buffers is a worker's pool of memory that the kernel reads and writes: one
// anonymous map. Pages cost nothing until they are used, and Trim gives back
// those that a burst has left behind. It belongs to the reactor's thread.
type Buffers struct {
	mapped []byte // all of it
	arena  []byte // what Get cuts from
	chunks []chunk
	usable [bufferClasses]int32 // first chunk of a class with free buffers
	empty  FreeList             // chunks with nothing handed out
	used   int                  // bytes handed out now
	spoil  bool                 // overwrite what is put back
}

// NewBuffers maps budget bytes for Get, and reserved bytes more for Reserve.
func NewBuffers(budget, reserved int) (*Buffers, error) {
	mapped, err := unix.Mmap(-1, 0, budget+reserved, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes of address space for buffers: %w (ulimit -v, or sysctl vm.overcommit_memory=2)",
			budget+reserved, err)
	}
	// A huge page would make 2 MB of the first byte touched.
	_ = unix.Madvise(mapped, unix.MADV_NOHUGEPAGE)
	p := &Buffers{mapped: mapped, arena: mapped}
	for class := range p.usable {
		p.usable[class] = noChunk
	}
	return p, nil
}

// Reserve cuts n bytes, rounded up to whole pages, for a reactor's own use for
// as long as the pool lives. It comes before the first Get.
func (p *Buffers) Reserve(n int) []byte {
	n = PageCeil(n)
	b := p.arena[:n:n]
	p.arena = p.arena[n:]
	return b
}

// PageCeil rounds n up to whole pages.
func PageCeil(n int) int {
	const page = 4 << 10
	return (n + page - 1) &^ (page - 1)
}

// Get returns an empty buffer of capacity n or more, at most bufferBytesMax; nil
// when the budget is spent: try again at a later TurnEnd.
func (p *Buffers) Get(n int) []byte {
	class := classOf(n)
	i := p.usable[class]
	if i == noChunk {
		if i = p.takeChunk(); i == noChunk {
			return nil
		}
		p.chunks[i] = chunk{free: all(class), class: class, prev: noChunk, next: noChunk}
		p.link(i)
	}
	c := &p.chunks[i]
	bit := bits.TrailingZeros32(c.free)
	c.free &= c.free - 1
	if c.free == 0 {
		p.unlink(i)
	}
	size := bufferBytesMin << class
	p.used += size
	at := int(i)*chunkBytes + bit*size
	return p.arena[at : at : at+size]
}

// takeChunk gives a chunk with nothing handed out, noChunk if there is none.
func (p *Buffers) takeChunk() int32 {
	if i, ok := p.empty.Take(); ok {
		return i
	}
	if (len(p.chunks)+1)*chunkBytes > len(p.arena) {
		return noChunk
	}
	p.chunks = append(p.chunks, chunk{})
	return int32(len(p.chunks) - 1)
}

// Put takes back a buffer that Get returned; its capacity must be unchanged.
func (p *Buffers) Put(b []byte) {
	at := int(address(b) - address(p.arena))
	i := int32(at / chunkBytes)
	if at < 0 || int(i) >= len(p.chunks) {
		panic("BUG: Put of a buffer that is not from Get")
	}
	c := &p.chunks[i]
	size := bufferBytesMin << c.class
	bit := uint32(1) << (at % chunkBytes / size)
	if cap(b) != size || at%size != 0 || c.free&bit != 0 {
		panic("BUG: Put of a buffer that is not from Get, or was put back already")
	}
	p.used -= size
	if p.spoil {
		for j := range b[:cap(b)] {
			b[:cap(b)][j] = 0xdd
		}
	}
	if c.free == 0 {
		p.link(i)
	}
	c.free |= bit
	if c.free == all(c.class) {
		p.unlink(i)
		p.empty.Put(i)
	}
}

func (p *Buffers) link(i int32) {
	c := &p.chunks[i]
	c.prev, c.next = noChunk, p.usable[c.class]
	if c.next != noChunk {
		p.chunks[c.next].prev = i
	}
	p.usable[c.class] = i
}

func (p *Buffers) unlink(i int32) {
	c := &p.chunks[i]
	if c.next != noChunk {
		p.chunks[c.next].prev = c.prev
	}
	if c.prev != noChunk {
		p.chunks[c.prev].next = c.next
	} else {
		p.usable[c.class] = c.next
	}
}

// Trim gives the kernel back the pages of chunks that nothing was cut from since
// the last Trim; more says that another Trim may find some. A reactor calls it
// when Core.TrimDue says so.
func (p *Buffers) Trim() (more bool) {
	return p.empty.Trim(func(first, count int) {
		Discard(p.arena[first*chunkBytes : (first+count)*chunkBytes])
	})
}

// Discard gives the kernel back the pages of memory that holds nothing of worth;
// it reads as zero then, or as before. Parts of pages are left alone.
func Discard(b []byte) {
	const page = 4 << 10
	skip := int(-address(b) & (page - 1))
	if len(b) < skip+page {
		return
	}
	_ = unix.Madvise(b[skip:len(b)-(len(b)-skip)%page], unix.MADV_DONTNEED)
}

// Holds says that b lies in the pool's memory.
func (p *Buffers) Holds(b []byte) bool {
	at := address(b) - address(p.arena) // wraps around if b is before the arena
	return at < uintptr(len(p.arena)) && at+uintptr(len(b)) <= uintptr(len(p.arena))
}

// Available is the number of bytes that any mixture of Gets will be given: those
// of the chunks with nothing handed out.
func (p *Buffers) Available() int {
	return (p.empty.Len() + len(p.arena)/chunkBytes - len(p.chunks)) * chunkBytes
}

// SpoilOnPut overwrites every buffer put back from now on, so that a test sees
// who still uses it.
func (p *Buffers) SpoilOnPut() { p.spoil = true }

// Used is the number of bytes handed out now.
func (p *Buffers) Used() int { return p.used }

// Close unmaps the pool.
func (p *Buffers) Close() error { return unix.Munmap(p.mapped) }

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func classOf(n int) int8 {
	if n <= bufferBytesMin {
		return 0
	}
	if n > bufferBytesMax {
		panic(fmt.Sprintf("BUG: buffer of %d bytes, at most %d", n, bufferBytesMax))
	}
	return int8(bits.Len(uint(n-1)) - bits.Len(uint(bufferBytesMin-1)))
}
