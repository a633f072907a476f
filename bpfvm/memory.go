package bpfvm

// memory.go: the guest's address space.
//
// Guest addresses start at guestBase, so that a null pointer, with any small
// offset, is out of bounds. From there the arena holds, in this order:
//
//	read-only data     loads
//	stack              loads and stores    } one writable range
//	data, bss          loads and stores    }
//	maps               loads and stores    }
//	input              loads, and stores if the object asks for it
//
// Loads reach one range from the first byte to the end of the input, stores one
// that starts at the stack, so a bound is one comparison each. The input stands
// last because its length differs from run to run.
//
// The offset is then masked to the arena's size, a power of two. After the
// comparison the mask changes nothing; it holds a speculating processor inside.

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	guestBase = 0x10000
	pageBytes = 4096
	statePage = pageBytes

	// arenaBytesMax bounds one instance's address space; memory is used only as
	// it is touched.
	arenaBytesMax = 1 << 30
	// inputBytesMax bounds the input of a run.
	inputBytesMax = 1 << 20
	// regionAlign keeps atomics aligned and regions apart by a cache line.
	regionAlign = 64
)

// layout says where everything is, as offsets from the anchor.
type layout struct {
	data     []uint32 // of each data section
	maps     []uint32 // of each map's values
	stack    uint32   // start of the stack, and of what can be stored to
	stackEnd uint32
	input    uint32
	size     uint32 // of the arena: a power of two
}

// newLayout places sections, stack, maps and input.
func newLayout(o *Object, frames int) (layout, error) {
	l := layout{data: make([]uint32, len(o.data)), maps: make([]uint32, len(o.maps))}
	var at uint64
	place := func(n, align uint64) uint32 {
		at = (at + align - 1) &^ (align - 1)
		start := at
		at += n
		return uint32(min(start, arenaBytesMax))
	}
	sections := func(readOnly bool) {
		for i, d := range o.data {
			if d.ReadOnly == readOnly {
				l.data[i] = place(uint64(len(d.Bytes)), regionAlign)
			}
		}
	}
	sections(true)
	l.stack = place(uint64(frames)*stackFrame, regionAlign)
	l.stackEnd = uint32(at)
	sections(false)
	for i, m := range o.maps {
		l.maps[i] = place(m.spec.valuesBytes(), pageBytes)
		place(0, pageBytes)
	}
	l.input = place(uint64(o.inputMax), regionAlign)
	if at > arenaBytesMax {
		return l, fmt.Errorf("data, maps and input take %d bytes, more than arenaBytesMax %d", at, arenaBytesMax)
	}
	l.size = pageBytes
	for uint64(l.size) < at {
		l.size *= 2
	}
	return l, nil
}

// arena is one instance's mapping. It is never Go memory: the collector does not
// look at it and native code may keep its address.
type arena struct {
	mapping []byte
	anchor  uintptr
	st      *state
	mem     []byte // from the anchor on
}

// newArena maps all of it readable and writable: no address that a masked offset
// can form is without memory. The margin takes the displacement of stores and
// the width of an access at the last offset.
func newArena(l layout) (*arena, error) {
	margin := (l.stack+pageBytes-1)&^uint32(pageBytes-1) + pageBytes
	total := statePage + int(l.size) + int(margin)
	m, err := unix.Mmap(-1, 0, total, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for a program's memory: %w", total, err)
	}
	a := &arena{mapping: m, mem: m[statePage:]}
	a.st = stateBefore(a.mem)
	a.anchor = addressOf(a.mem)
	return a, nil
}

func (a *arena) close() error {
	m := a.mapping
	*a = arena{}
	return unix.Munmap(m)
}

// setInput sets the bounds for an input of n bytes.
func (a *arena) setInput(l *layout, n int, writable bool) {
	end := uint64(l.input) + uint64(n)
	storeEnd := uint64(l.input)
	if writable {
		storeEnd = end
	}
	for w := range a.st.loadLimit {
		a.st.loadLimit[w] = end - 1<<w
		a.st.storeLimit[w] = storeEnd - uint64(l.stack) - 1<<w
	}
}

// widthIndex returns log2 of an access width, the index of its limit.
func widthIndex(bytes int) int {
	switch bytes {
	case 1:
		return 0
	case 2:
		return 1
	case 4:
		return 2
	}
	return 3
}
