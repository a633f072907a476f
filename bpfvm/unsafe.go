package bpfvm

// unsafe.go: every conversion between memory we mapped and typed pointers that
// the engines and the atomics need. Nothing here touches Go's heap.

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// addressOf returns where a mapped slice starts.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// stateBefore returns the state that ends where the arena starts.
func stateBefore(mem []byte) *state {
	return (*state)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), -int(stateBytes)))
}

// word32 and word64 return aligned words of mapped memory for package atomic.
func word32(mem []byte, off uint64) *uint32 { return (*uint32)(unsafe.Pointer(&mem[off : off+4][0])) }

func word64(mem []byte, off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&mem[off : off+8][0])) }

// mapFixed maps a shared file over n bytes of our own mapping at addr.
func mapFixed(addr *byte, n, fd int) (unsafe.Pointer, error) {
	return unix.MmapPtr(fd, 0, unsafe.Pointer(addr), uintptr(n),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
}
