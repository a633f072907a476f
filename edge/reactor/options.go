// The sizes of a reactor, each with its default and its reason.

package reactor

import (
	"fmt"
	"time"
)

// Options are the sizes of one reactor. Zero fields take their defaults.
type Options struct {
	// SocketsMax is the most sockets at once, listeners included.
	SocketsMax int

	// BufferBytes is the budget of Buffers.
	BufferBytes int

	// RecvBytes is the size of a receive buffer. Two whole TLS records fit 32 KB:
	// what is relayed or uploaded moves in few pieces. A ClientHello or a request
	// touches only the first page or two of it.
	RecvBytes int

	// RecvBuffers is the most receive buffers there are: those lent to the
	// kernel, held back for paused sockets, and kept by the Handler. They are
	// touched only when they are needed.
	RecvBuffers int

	// RecvLent is the most receive buffers lent to the kernel at a time, a power
	// of two up to 2,048 (io_uring alone: the size of its buffer ring).
	RecvLent int

	// Entries is the size of the submission queue, a power of two (io_uring
	// alone). A turn that needs more submits twice.
	Entries int

	// Completions is the size of the completion queue, a power of two and at
	// least Entries (io_uring alone). What does not fit waits in the kernel.
	Completions int

	// GatherTime is the most that turns lie apart so that what comes meanwhile shares
	// one wake, under load and where the kernel can wait so (io_uring, Linux 6.12).
	// Negative: every completion has its own.
	GatherTime time.Duration

	// Log is told, in one line of words, what was made smaller than asked.
	Log func(line string)
}

// Defaults of Options, each per worker.
const (
	socketsMaxDefault  = 32768
	bufferBytesDefault = 256 << 20
	recvBytesDefault   = 32 << 10
	recvBuffersDefault = 4096
	recvLentDefault    = 256
	entriesDefault     = 256
	completionsDefault = 4096
	gatherTimeDefault  = time.Millisecond // little next to the way through a network
)

// recvLentMax: a larger ring is more than the library can address (it multiplies
// in 16 bits).
const recvLentMax = 2048

// recvBuffersMax: the kernel counts buffers in 16 bits.
const recvBuffersMax = 1 << 16

// WithDefaults fills in what was left zero and checks the rest.
func (o Options) WithDefaults() (Options, error) {
	fill := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	fill(&o.SocketsMax, socketsMaxDefault)
	fill(&o.BufferBytes, bufferBytesDefault)
	fill(&o.RecvBytes, recvBytesDefault)
	fill(&o.RecvBuffers, recvBuffersDefault)
	fill(&o.RecvLent, min(recvLentDefault, floorPower(o.RecvBuffers)))
	fill(&o.Entries, entriesDefault)
	fill(&o.Completions, max(completionsDefault, o.Entries))
	if o.GatherTime == 0 {
		o.GatherTime = gatherTimeDefault
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o, o.check()
}

func (o Options) check() error {
	switch {
	case o.SocketsMax < 1 || o.SocketsMax > SocketsMaxMax:
		return fmt.Errorf("SocketsMax %d: not within 1 to %d", o.SocketsMax, SocketsMaxMax)
	case o.BufferBytes < bufferBytesMax:
		return fmt.Errorf("BufferBytes %d: less than %d, one buffer", o.BufferBytes, bufferBytesMax)
	case o.RecvBytes < 512 || o.RecvBytes > 1<<20:
		return fmt.Errorf("RecvBytes %d: not within 512 to %d", o.RecvBytes, 1<<20)
	case o.RecvLent < 1 || o.RecvLent > recvLentMax || !isPower(o.RecvLent):
		return fmt.Errorf("RecvLent %d: not a power of two within 1 to %d", o.RecvLent, recvLentMax)
	case o.RecvBuffers < o.RecvLent || o.RecvBuffers > recvBuffersMax:
		return fmt.Errorf("RecvBuffers %d: not within RecvLent (%d) to %d", o.RecvBuffers, o.RecvLent, recvBuffersMax)
	case o.Entries < 8 || o.Entries > 32768 || !isPower(o.Entries):
		return fmt.Errorf("Entries %d: not a power of two within 8 to 32768", o.Entries)
	case o.Completions < o.Entries || o.Completions > 65536 || !isPower(o.Completions):
		return fmt.Errorf("Completions %d: not a power of two within Entries (%d) to 65536", o.Completions, o.Entries)
	}
	return nil
}

func isPower(n int) bool { return n > 0 && n&(n-1) == 0 }

// floorPower is the largest power of two that is at most n.
func floorPower(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}
