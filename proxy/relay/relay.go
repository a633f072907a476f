// Package relay is the state of a relayed connection: two pipes, one for each
// direction, that carry bytes as they are and end each on its own.
//
//	client ──received──▶ pipe ──next──▶ target
//	client ◀──next── pipe ◀──received── target
//
// It holds buffers it is lent and says when to stop and go on reading; it owns
// no socket and no memory, and looks at no byte.
package relay

// Chunk is some bytes on their way, in a buffer that somebody gets back when
// they are sent.
type Chunk struct {
	Bytes []byte
	ID    uint32 // of the buffer, for its owner
	Owned bool   // the buffer goes back by ID; otherwise by Bytes, or not at all
}

const (
	// ChunksMax bounds the chunks a pipe holds.
	ChunksMax = 16

	// HighWater is how many bytes make a pipe ask its source to pause. One that
	// was asked may still push what was on its way: PushRoom says how much.
	HighWater = 64 << 10
)

// Pipe is one direction. The zero value is open and empty.
type Pipe struct {
	chunks [ChunksMax]Chunk
	first  int // of chunks, a ring
	count  int
	bytes  int  // in chunks
	busy   bool // the first chunk is being sent
	ended  bool // the source sent FIN
	finned bool // and FIN was passed on
	total  int64
}

// Push takes a chunk from the source; false: the pipe is full, which it cannot
// be for a source that pauses when it is asked to.
func (p *Pipe) Push(c Chunk) bool {
	if p.count == ChunksMax || p.ended {
		return false
	}
	p.chunks[(p.first+p.count)%ChunksMax] = c
	p.count++
	p.bytes += len(c.Bytes)
	p.total += int64(len(c.Bytes))
	return true
}

// Next gives the chunk to send now; false: there is none, or one is being sent.
func (p *Pipe) Next() (Chunk, bool) {
	if p.busy || p.count == 0 {
		return Chunk{}, false
	}
	p.busy = true
	return p.chunks[p.first], true
}

// Sent takes the chunk that Next gave out of the pipe.
func (p *Pipe) Sent() Chunk {
	if !p.busy {
		panic("BUG: nothing was being sent")
	}
	c := p.chunks[p.first]
	p.chunks[p.first] = Chunk{}
	p.first = (p.first + 1) % ChunksMax
	p.count--
	p.bytes -= len(c.Bytes)
	p.busy = false
	return c
}

// End notes that the source sent FIN.
func (p *Pipe) End() { p.ended = true }

// FinDue says, once, that all bytes are sent and FIN is to follow them.
func (p *Pipe) FinDue() bool {
	if !p.ended || p.finned || p.count > 0 {
		return false
	}
	p.finned = true
	return true
}

// Done says that FIN was passed on: nothing more goes this way.
func (p *Pipe) Done() bool { return p.finned }

// Full says that the source should pause. It leaves room for what is on its way.
func (p *Pipe) Full() bool { return p.bytes >= HighWater || p.count >= ChunksMax/2 }

// Low says that a paused source should go on.
func (p *Pipe) Low() bool { return p.bytes < HighWater/2 && p.count < ChunksMax/4 }

// Total is the number of bytes that were pushed.
func (p *Pipe) Total() int64 { return p.total }

// Drop takes out what is left, one chunk at a time, when the connection is over:
// the owner of each buffer gets it back. The chunk being sent comes last, and
// only once its Send is over.
func (p *Pipe) Drop() (Chunk, bool) {
	if p.count == 0 || p.count == 1 && p.busy {
		return Chunk{}, false
	}
	last := (p.first + p.count - 1) % ChunksMax
	c := p.chunks[last]
	p.chunks[last] = Chunk{}
	p.count--
	p.bytes -= len(c.Bytes)
	return c, true
}
