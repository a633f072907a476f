package coding

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"testing"

	"edge/proxy/httpmsg"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

var codings = []httpmsg.Coding{httpmsg.Brotli, httpmsg.Zstd, httpmsg.Gzip}

// text is n bytes that compress as an API's answers do.
func text(n int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, `{"id":%d,"name":"user %x","tags":["a","b%d"]},`, b.Len(), rnd.Uint32(), rnd.IntN(20))
	}
	return b.Bytes()[:n]
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// reader decodes what an Encoder made, with a decoder that is not of its library
// where the standard library has one.
func reader(t testing.TB, c httpmsg.Coding, coded []byte) io.Reader {
	t.Helper()
	switch c {
	case httpmsg.Brotli:
		return brotli.NewReader(bytes.NewReader(coded))
	case httpmsg.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(coded))
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	z, err := zstd.NewReader(bytes.NewReader(coded), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(windowBytes))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// decode is all of a body.
func decode(t testing.TB, c httpmsg.Coding, coded []byte) []byte {
	t.Helper()
	plain, err := io.ReadAll(reader(t, c, coded))
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return plain
}

// put writes body in pieces and returns what comes out.
func put(t testing.TB, e *Encoder, body []byte, piece int) (coded []byte) {
	t.Helper()
	for len(body) > 0 {
		n := min(piece, len(body))
		if err := e.Write(body[:n]); err != nil {
			t.Fatal(err)
		}
		body = body[n:]
		coded = take(e, coded)
	}
	return coded
}

func take(e *Encoder, coded []byte) []byte {
	coded = append(coded, e.Output()...)
	e.Take(e.Pending())
	return coded
}

func closed(t testing.TB, e *Encoder, coded []byte) []byte {
	t.Helper()
	if err := e.Close(); err != nil || !e.Closed() {
		t.Fatal(err)
	}
	return take(e, coded)
}

func TestRoundTrip(t *testing.T) {
	bodies := [][]byte{
		{}, {'x'}, text(100), text(windowBytes - 1), text(windowBytes), text(windowBytes + 1), text(300 << 10),
		noise(100), noise(200 << 10), bytes.Repeat([]byte{'a'}, 200<<10), append(noise(70000), text(70000)...),
	}
	p := NewPool(1)
	for _, c := range codings {
		for i, body := range bodies {
			for _, piece := range []int{1, 1000, PieceBytesMax} {
				if piece == 1 && len(body) > 1000 {
					continue
				}
				e := p.Get(c)
				coded := closed(t, e, put(t, e, body, piece))
				p.Put(e)
				if got := decode(t, c, coded); !bytes.Equal(got, body) {
					t.Errorf("%v, body %d in pieces of %d: %d bytes came back as %d, or others", c, i, piece, len(body), len(got))
				}
				if i == 6 && len(coded) > len(body)/3 {
					t.Errorf("%v: text of %d bytes has become %d", c, len(body), len(coded))
				}
			}
		}
	}
}

// What was flushed is whole for the client, wherever the cut is.
func TestFlushedAtEveryByte(t *testing.T) {
	body := text(400)
	p := NewPool(1)
	for _, c := range codings {
		for cut := range body {
			e := p.Get(c)
			coded := put(t, e, body[:cut], PieceBytesMax)
			if e.Holds() != (cut > 0) {
				t.Fatalf("%v, %d bytes: Holds is %v", c, cut, e.Holds())
			}
			if err := e.Flush(); err != nil || e.Holds() {
				t.Fatal("after a flush something is held:", err)
			}
			coded = take(e, coded)
			if cut > 0 {
				first := make([]byte, cut)
				if _, err := io.ReadFull(reader(t, c, coded), first); err != nil || !bytes.Equal(first, body[:cut]) {
					t.Fatalf("%v: %d bytes were flushed, of which are there %q: %v", c, cut, first, err)
				}
			}
			coded = closed(t, e, append(coded, put(t, e, body[cut:], 50)...))
			if !bytes.Equal(decode(t, c, coded), body) {
				t.Fatalf("%v: cut after %d bytes, another body came back", c, cut)
			}
			p.Put(e)
		}
	}
}

// A body that was not closed does not pass for a whole one.
func TestTruncatedShows(t *testing.T) {
	p := NewPool(1)
	for _, c := range codings {
		e := p.Get(c)
		coded := put(t, e, text(1000), PieceBytesMax)
		e.Flush()
		coded = take(e, coded)
		p.Put(e)
		if _, err := io.ReadAll(reader(t, c, coded)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v: a body without its end gives %v", c, err)
		}
	}
}

func TestMemory(t *testing.T) {
	for _, c := range codings {
		const n = 4
		p := NewPool(n)
		var before, after runtime.MemStats
		bodies := [][]byte{text(300 << 10), noise(300 << 10)}
		out := make([]byte, 0, 1<<20)
		runtime.ReadMemStats(&before)
		var all [n]*Encoder
		for i := range all {
			all[i] = p.Get(c)
			for _, body := range bodies {
				for len(body) > 0 {
					k := min(PieceBytesMax, len(body))
					all[i].Write(body[:k])
					out = take(all[i], out[:0])
					body = body[k:]
				}
			}
			all[i].Close()
			if got := cap(all[i].output.bytes); got > 2*outputBytesMax {
				t.Errorf("%v: %d bytes for output", c, got)
			}
		}
		runtime.ReadMemStats(&after)
		each := int(after.TotalAlloc-before.TotalAlloc) / n
		t.Logf("%v: %d KB", c, each>>10)
		if each > EncoderBytesMax {
			t.Errorf("%v: an encoder takes %d bytes", c, each)
		}
	}
}

// Once it is there, an encoder takes no memory, but for the frame header of zstd.
func TestAllocatesNothing(t *testing.T) {
	body := text(200 << 10)
	for _, c := range codings {
		p := NewPool(1)
		out := make([]byte, 0, 1<<20)
		n := testing.AllocsPerRun(20, func() {
			e := p.Get(c)
			out = out[:0]
			for rest := body; len(rest) > 0; {
				k := min(PieceBytesMax, len(rest))
				e.Write(rest[:k])
				out = take(e, out)
				e.Flush()
				out = take(e, out)
				rest = rest[k:]
			}
			e.Close()
			out = take(e, out)
			p.Put(e)
		})
		if most := map[httpmsg.Coding]float64{httpmsg.Zstd: 1}[c]; n > most {
			t.Errorf("%v: %v allocations for a body", c, n)
		}
	}
}

// Other people's decoders, where they are installed.
func TestOtherDecoders(t *testing.T) {
	body := append(text(300<<10), noise(1000)...)
	p := NewPool(1)
	for c, command := range map[httpmsg.Coding][]string{
		httpmsg.Brotli: {"brotli", "-dc"},
		httpmsg.Zstd:   {"zstd", "-dc"},
		httpmsg.Gzip:   {"gzip", "-dc"},
	} {
		t.Run(command[0], func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skip("there is no " + command[0])
			}
			e := p.Get(c)
			defer p.Put(e)
			coded := put(t, e, body, 10000)
			e.Flush()
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Stdin = bytes.NewReader(closed(t, e, take(e, coded)))
			if got, err := cmd.Output(); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes came back as %d: %v", len(body), len(got), err)
			}
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(uint8(0), uint16(1), []byte("hello hello hello"))
	f.Add(uint8(1), uint16(700), text(5000))
	f.Add(uint8(2), uint16(0), []byte{})
	p := NewPool(1)
	f.Fuzz(func(t *testing.T, which uint8, piece uint16, body []byte) {
		e := p.Get(codings[int(which)%len(codings)])
		defer p.Put(e)
		var coded []byte
		for rest := body; len(rest) > 0; {
			n := min(1+int(piece)%PieceBytesMax, len(rest))
			coded = append(coded, put(t, e, rest[:n], n)...)
			if piece&1 != 0 {
				e.Flush()
				coded = take(e, coded)
			}
			rest = rest[n:]
			piece = piece<<1 | piece>>15
		}
		coded = closed(t, e, coded)
		if got := decode(t, e.coding, coded); !bytes.Equal(got, body) {
			t.Fatalf("%v: %d bytes came back as %d, or others", e.coding, len(body), len(got))
		}
	})
}
