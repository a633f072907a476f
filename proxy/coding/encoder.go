package coding

import (
	"io"

	"edge/proxy/httpmsg"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// PieceBytesMax is the most bytes that Write takes. What one Write costs is
	// bounded by it: some 0.3 ms, in brotli 1 ms.
	PieceBytesMax = 32 << 10

	// windowBytes is how far back a coder looks. What more would save of a page
	// is some 2 %, and it would cost its size twice.
	windowBytes = 64 << 10

	// outputBytesMax is the most coded bytes that wait: what a Write left, a block
	// and a piece at most, what a Close adds, a block, and what stored bytes cost
	// beside themselves.
	outputBytesMax = 2*windowBytes + PieceBytesMax + 1<<10

	// EncoderBytesMax is more memory than an Encoder ever takes: tables, window and
	// output. They have 0.9 (br), 1.0 (zstd) and 1.3 MB (gzip).
	EncoderBytesMax = 1536 << 10
)

// The levels are the fastest that are worth it, so that the three cost about the
// same memory. In MB/s of one core and as a share of its size, a page, prose and
// JSON come to:
//
//	zstd  fastest  200, 100, 230   31, 43, 15 %
//	gzip  2        320, 140, 520   31, 43, 18 %
//	br    2         65,  45,  90   29, 41, 15 %
const (
	zstdLevel   = zstd.SpeedFastest
	gzipLevel   = 2
	brotliLevel = 2

	brotliWindow = 16 // log2 of windowBytes
)

// Encoder codes one body. It hands out what is coded when it likes, but all of it
// at a Flush and at the end.
type Encoder struct {
	coding httpmsg.Coding
	coder  coder
	output output
	held   bool // bytes went in that a Flush would bring out
	closed bool
}

// coder is what the libraries have in common.
type coder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// output collects coded bytes, those before taken being gone already.
type output struct {
	bytes []byte
	taken int
}

// Write implements io.Writer for a coder; it never fails.
func (o *output) Write(p []byte) (int, error) {
	o.bytes = append(o.bytes, p...)
	return len(p), nil
}

func newEncoder(c httpmsg.Coding) *Encoder {
	e := &Encoder{coding: c}
	e.output.bytes = make([]byte, 0, PieceBytesMax)
	switch c {
	case httpmsg.Zstd:
		e.coder = newZstd()
	case httpmsg.Brotli:
		e.coder = brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: brotliLevel, LGWin: brotliWindow})
	default:
		e.coder = newGzip()
	}
	return e
}

func newZstd() coder {
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstdLevel),
		zstd.WithWindowSize(windowBytes),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderConcurrency(1), // else it starts goroutines
		zstd.WithEncoderCRC(false),     // TLS has a better one
		zstd.WithZeroFrames(true))      // an empty body is a frame, too
	if err != nil {
		panic("BUG: zstd: " + err.Error())
	}
	return z
}

func newGzip() coder {
	z, err := gzip.NewWriterLevel(nil, gzipLevel)
	if err != nil {
		panic("BUG: gzip: " + err.Error())
	}
	return z
}

// Cost is how much a byte costs, in bytes of the cheapest coding.
func (e *Encoder) Cost() int {
	if e.coding == httpmsg.Brotli {
		return 2
	}
	return 1
}

// start makes e ready for another body.
func (e *Encoder) start() {
	e.output.bytes, e.output.taken = e.output.bytes[:0], 0
	e.held, e.closed = false, false
	e.coder.Reset(&e.output)
}

// Write codes p, at most PieceBytesMax, all Output having been taken. An error
// here, in Flush or in Close is the coder's own failure: the body cannot go on.
func (e *Encoder) Write(p []byte) error {
	if len(p) > PieceBytesMax || e.Pending() > 0 || e.closed {
		panic("BUG: coding: a piece too long, or too early, or too late")
	}
	if len(p) == 0 {
		return nil
	}
	e.held = true
	_, err := e.coder.Write(p)
	return err
}

// Holds says that Flush would bring something out.
func (e *Encoder) Holds() bool { return e.held }

// Flush brings everything out that went in, so that the client can decode it.
func (e *Encoder) Flush() error {
	if !e.held || e.closed {
		return nil
	}
	e.held = false
	return e.coder.Flush()
}

// Close ends the body: what is left of it comes out.
func (e *Encoder) Close() error {
	if e.closed {
		return nil
	}
	e.held, e.closed = false, true
	return e.coder.Close()
}

// Closed says that Close was called.
func (e *Encoder) Closed() bool { return e.closed }

// Pending is how many bytes Output has.
func (e *Encoder) Pending() int { return len(e.output.bytes) - e.output.taken }

// Output is the coded bytes that were not taken yet, valid until the next call.
func (e *Encoder) Output() []byte { return e.output.bytes[e.output.taken:] }

// Take says that the first n bytes of Output are done with.
func (e *Encoder) Take(n int) {
	e.output.taken += n
	if e.output.taken == len(e.output.bytes) {
		e.output.bytes, e.output.taken = e.output.bytes[:0], 0
	}
}
