package reactor

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Buffer size classes are powers of two. The least holds a small response, the
// largest a 100 KB answer in sealed records.
const (
	bufferBytesMin = 4 << 10
	bufferBytesMax = 128 << 10
	bufferClasses  = 6
)

// BufferBytesMax is the largest buffer that Get gives.
const BufferBytesMax = bufferBytesMax

// Buffers is a worker's pool of memory that the kernel reads and writes: one
// anonymous map, cut by size class on demand. Pages cost nothing until they are
// used. It belongs to the reactor's thread.
type Buffers struct {
	mapped []byte // all of it
	arena  []byte // what Get cuts from
	next   int    // first byte never handed out
	free   [bufferClasses][][]byte
	used   int // bytes handed out now
}

// NewBuffers maps budget bytes for Get, and reserved bytes more for Reserve.
func NewBuffers(budget, reserved int) (*Buffers, error) {
	mapped, err := unix.Mmap(-1, 0, budget+reserved, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes of buffers: %w", budget+reserved, err)
	}
	return &Buffers{mapped: mapped, arena: mapped}, nil
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
	size := bufferBytesMin << class
	if f := p.free[class]; len(f) > 0 {
		b := f[len(f)-1]
		p.free[class] = f[:len(f)-1]
		p.used += size
		return b
	}
	if p.next+size > len(p.arena) {
		return nil
	}
	b := p.arena[p.next : p.next : p.next+size]
	p.next += size
	p.used += size
	return b
}

// Put takes back a buffer that Get returned; its capacity must be unchanged.
func (p *Buffers) Put(b []byte) {
	class := classOf(cap(b))
	if cap(b) != bufferBytesMin<<class {
		panic("BUG: Put of a buffer that is not from Get")
	}
	p.used -= cap(b)
	p.free[class] = append(p.free[class], b[:0])
}

// Holds says that b lies in the pool's memory.
func (p *Buffers) Holds(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from := uintptr(unsafe.Pointer(unsafe.SliceData(p.arena)))
	return at >= from && at+uintptr(len(b)) <= from+uintptr(len(p.arena))
}

// Used is the number of bytes handed out now.
func (p *Buffers) Used() int { return p.used }

// Available is the number of bytes that the budget has left.
func (p *Buffers) Available() int { return len(p.arena) - p.used }

// Close unmaps the pool.
func (p *Buffers) Close() error { return unix.Munmap(p.mapped) }

func classOf(n int) int {
	if n <= bufferBytesMin {
		return 0
	}
	if n > bufferBytesMax {
		panic(fmt.Sprintf("BUG: buffer of %d bytes, at most %d", n, bufferBytesMax))
	}
	return bits.Len(uint(n-1)) - bits.Len(uint(bufferBytesMin-1))
}
