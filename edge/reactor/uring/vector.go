// What a SendVec has the kernel read.

package uring

import (
	"unsafe"

	"edge/edge/reactor"
)

// sendVector is what a SendVec has the kernel read, in memory that the collector
// does not look at: addresses stand in it as numbers, so that none that is stale
// is ever taken for a pointer. Whoever owns the buffers keeps them until Sent.
type sendVector struct {
	message message
	vector  [reactor.SendBuffersMax]iovec
}

// iovec is the kernel's struct iovec.
type iovec struct {
	base  uintptr
	bytes uint64
}

// message is the kernel's struct msghdr, for a connected socket: without a name,
// control data or flags.
type message struct {
	_       [2]uint64
	vector  uintptr
	vectors uint64
	_       [3]uint64
}

// set takes bufs and gives the number of their bytes.
func (v *sendVector) set(bufs [][]byte) (bytes int) {
	for i, b := range bufs {
		v.vector[i] = iovec{uintptr(unsafe.Pointer(unsafe.SliceData(b))), uint64(len(b))}
		bytes += len(b)
	}
	v.message.vector = uintptr(unsafe.Pointer(&v.vector))
	v.message.vectors = uint64(len(bufs))
	return bytes
}

// advance leaves out the first n bytes, which are not all.
func (v *sendVector) advance(n int) {
	first := 0
	for ; uint64(n) >= v.vector[first].bytes; first++ {
		n -= int(v.vector[first].bytes)
	}
	v.message.vectors -= uint64(first)
	copy(v.vector[:], v.vector[first:])
	v.vector[0].base += uintptr(n)
	v.vector[0].bytes -= uint64(n)
}
