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
	Owned bool   // the buffer goes back by ID; otherwise by Bytes
}

const (
	// ChunksMax bounds the chunks a pipe holds.
	ChunksMax = 8

	// HighWater is how many bytes make a pipe ask its source to pause. They are
	// worth one send of a large answer, and few enough that thousands of targets
	// that do not read cost what a machine can spare.
	HighWater = 128 << 10
)

// Pipe is one direction. The zero value is open and empty.
//
//	chunks   sent | being sent | waiting | free
//	              ^first       ^first+flying     count = flying + waiting
type Pipe struct {
	chunks [ChunksMax]Chunk
	first  uint8 // of chunks, a ring
	count  uint8
	flying uint8 // chunks at the front that are being sent
	ended  bool  // the source sent FIN
	finned bool  // and FIN was passed on
	bytes  int32 // in chunks
	total  int64
}

// Push takes a chunk from the source; false: the pipe is full, which it cannot
// be for a source that pauses when Full says so.
func (p *Pipe) Push(c Chunk) bool {
	if p.count == ChunksMax || p.ended {
		return false
	}
	p.count++
	*p.last() = c
	p.add(len(c.Bytes))
	return true
}

// Append copies b behind the last chunk's bytes, if that chunk waits, has room
// and is not Owned; false: it must be a chunk of its own. A source that drips so
// fills one buffer, not one for each drop.
func (p *Pipe) Append(b []byte) bool {
	if !p.Waiting() {
		return false
	}
	c := p.last()
	if c.Owned || len(b) > cap(c.Bytes)-len(c.Bytes) {
		return false
	}
	c.Bytes = append(c.Bytes, b...)
	p.add(len(b))
	return true
}

func (p *Pipe) last() *Chunk { return &p.chunks[(p.first+p.count-1)%ChunksMax] }

func (p *Pipe) add(n int) {
	p.bytes += int32(n)
	p.total += int64(n)
}

// Waiting says that there are bytes that are not being sent yet.
func (p *Pipe) Waiting() bool { return p.count > p.flying }

// Empty says that nothing is on its way.
func (p *Pipe) Empty() bool { return p.count == 0 }

// Next appends the bytes to send now to bufs: all that wait, if none is being
// sent.
func (p *Pipe) Next(bufs [][]byte) [][]byte {
	if p.flying > 0 {
		return bufs
	}
	for p.flying < p.count {
		bufs = append(bufs, p.chunks[(p.first+p.flying)%ChunksMax].Bytes)
		p.flying++
	}
	return bufs
}

// Sent takes out, one by one, the chunks that Next gave, once they are sent or
// cannot be; false: it has given all of them.
func (p *Pipe) Sent() (Chunk, bool) {
	if p.flying == 0 {
		return Chunk{}, false
	}
	c := p.chunks[p.first]
	p.chunks[p.first] = Chunk{}
	p.first = (p.first + 1) % ChunksMax
	p.count--
	p.flying--
	p.bytes -= int32(len(c.Bytes))
	return c, true
}

// Drop takes out, one by one, the chunks that wait, when the connection is over.
func (p *Pipe) Drop() (Chunk, bool) {
	if !p.Waiting() {
		return Chunk{}, false
	}
	c := *p.last()
	*p.last() = Chunk{}
	p.count--
	p.bytes -= int32(len(c.Bytes))
	return c, true
}

// End notes that the source sent FIN.
func (p *Pipe) End() { p.ended = true }

// FinDue says that the source's FIN is to be passed on now: every byte before it
// is sent.
func (p *Pipe) FinDue() bool { return p.ended && !p.finned && p.count == 0 }

// Fin notes that it was.
func (p *Pipe) Fin() { p.finned = true }

// Done says that nothing more goes this way.
func (p *Pipe) Done() bool { return p.finned }

// Full says that the source is to pause, before it is received from again.
func (p *Pipe) Full() bool { return p.bytes >= HighWater || p.count == ChunksMax }

// Low says that a paused source is to go on.
func (p *Pipe) Low() bool { return p.bytes < HighWater/2 && p.count <= ChunksMax/2 }

// Total is the number of bytes that came from the source.
func (p *Pipe) Total() int64 { return p.total }
