package http1

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

// readBody runs a body over in as it grows to each of the lengths in ends, the
// way a connection does: what is not consumed is handed over again. It gives the
// data, and how much of in was consumed if the body ended.
func readBody(d *Body, in string, ends ...int) (data []byte, n int, err error) {
	for _, end := range ends {
		for {
			piece, used, done, err := d.Next([]byte(in[n:end]))
			data = append(data, piece...)
			n += used
			if done || err != nil {
				return data, n, err
			}
			if used == 0 {
				break
			}
		}
	}
	return data, 0, nil
}

func chunkedOutcome(l *Limits, in string, ends ...int) (o outcome) {
	var d Body
	d.Start(httpmsg.BodyChunked, 0, l)
	data, n, err := readBody(&d, in, ends...)
	o.err = err
	if d.Done() {
		o.n = n
		o.facts = map[string]string{"data": string(data), "trailers": strconv.Itoa(len(d.Trailer.Fields))}
	}
	return o
}

// Field case H03, with more: chunked.txt has the forms.
func TestChunkedVectors(t *testing.T) {
	for _, v := range readVectors(t, "chunked.txt") {
		t.Run(v.name, func(t *testing.T) {
			in := v.in + v.rest
			o := testCuts(t, in, func(ends ...int) outcome { return chunkedOutcome(nil, in, ends...) })
			v.check(t, o.n, o.facts, o.err)
		})
	}
}

func TestBodyLimits(t *testing.T) {
	l := &Limits{ChunkLineBytes: 10, TrailerBytes: 20, Fields: 2, BodyBytes: 8}
	for _, c := range []struct {
		in     string
		want   int
		reason string
	}{
		{"5;abcdef\r\nhello\r\n0\r\n\r\n", 0, ""},
		{"5;abcdefg\r\nhello\r\n0\r\n\r\n", 400, "chunk-line-bytes"},
		{"00000000005\r\nhello\r\n0\r\n\r\n", 400, "chunk-line-bytes"},
		{"5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n", 0, ""},
		{"5\r\nhello\r\n4\r\nabcd\r\n0\r\n\r\n", 413, "body-bytes"},
		{"9\r\n", 413, "body-bytes"},
		{"0\r\nA: 1\r\nB: 2\r\n\r\n", 0, ""},
		{"0\r\nA:\r\nB:\r\nC:\r\n\r\n", 431, "fields"},
		{"0\r\nA: " + strings.Repeat("b", 13) + "\r\n\r\n", 0, ""},
		{"0\r\nA: " + strings.Repeat("b", 14) + "\r\n\r\n", 431, "trailer-bytes"},
		{"0\r\nA: " + strings.Repeat("b", 50), 431, "trailer-bytes"},
	} {
		o := testCuts(t, c.in, func(ends ...int) outcome { return chunkedOutcome(l, c.in, ends...) })
		if status(o.err) != c.want || c.want != 0 && !strings.Contains(o.err.Error(), c.reason) {
			t.Errorf("%q: %v (%d), want %d %s", c.in, o.err, status(o.err), c.want, c.reason)
		}
		if c.want == 0 && o.n != len(c.in) {
			t.Errorf("%q: n = %d", c.in, o.n)
		}
	}
}

// TestChunksOverflowTogether: no single size is too large.
func TestChunksOverflowTogether(t *testing.T) {
	o := chunkedOutcome(nil, "5\r\nhello\r\n7fffffffffffffff\r\n", 28)
	if status(o.err) != 400 || !strings.Contains(o.err.Error(), "too large") {
		t.Error(o.err)
	}
}

func TestBodyOfALength(t *testing.T) {
	const in = "hello, and what follows"
	for cut := range len(in) {
		var d Body
		d.Start(httpmsg.BodyLength, 5, nil)
		if d.Remaining() != 5 || d.Done() {
			t.Fatal("not at its start")
		}
		data, n, err := readBody(&d, in, cut, len(in))
		if string(data) != "hello" || n != 5 || err != nil || !d.Done() || d.End() != nil {
			t.Errorf("cut at %d: %q, %d, %v", cut, data, n, err)
		}
	}
}

func TestBodyUntilClose(t *testing.T) {
	var d Body
	d.Start(httpmsg.BodyClose, 0, &Limits{BodyBytes: 10})
	data, n, done, err := d.Next([]byte("0123456789"))
	if string(data) != "0123456789" || n != 10 || done || err != nil {
		t.Fatal(string(data), n, done, err)
	}
	if err := d.End(); err != nil || !d.Done() {
		t.Error(err)
	}
	d.Start(httpmsg.BodyClose, 0, &Limits{BodyBytes: 10})
	if _, _, _, err := d.Next([]byte("0123456789a")); status(err) != 413 {
		t.Error(err)
	}
	if err := d.End(); err == nil {
		t.Error("whole after an error")
	}
}

func TestNoBody(t *testing.T) {
	var zero, none, empty Body
	none.Start(httpmsg.BodyNone, 0, nil)
	empty.Start(httpmsg.BodyLength, 0, nil)
	for _, d := range []*Body{&zero, &none, &empty} {
		data, n, done, err := d.Next([]byte("GET /"))
		if len(data) != 0 || n != 0 || !done || err != nil || d.End() != nil {
			t.Error(data, n, done, err)
		}
	}
}

// TestTruncatedBody: a body that did not reach its end is never taken as whole.
func TestTruncatedBody(t *testing.T) {
	const in = "5\r\nhello\r\n0\r\nA: b\r\n\r\n"
	for cut := range len(in) {
		var d Body
		d.Start(httpmsg.BodyChunked, 0, nil)
		if _, _, err := readBody(&d, in, cut); err != nil {
			t.Fatal(err)
		}
		if d.End() == nil {
			t.Errorf("cut at %d: whole", cut)
		}
	}
	var d Body
	d.Start(httpmsg.BodyLength, 100, nil)
	readBody(&d, strings.Repeat("x", 50), 50)
	if d.Remaining() != 50 || d.End() == nil {
		t.Error("50 of 100 bytes are a whole body")
	}
}

// TestErrorIsFinal: after an error nothing more is read out of the bytes.
func TestErrorIsFinal(t *testing.T) {
	var d Body
	d.Start(httpmsg.BodyChunked, 0, nil)
	if _, _, _, err := d.Next([]byte("x")); err == nil {
		t.Fatal("no error")
	}
	data, n, done, err := d.Next([]byte("5\r\nhello\r\n0\r\n\r\n"))
	if len(data) != 0 || n != 0 || done || !errors.Is(err, errBodyFailed) {
		t.Error(data, n, done, err)
	}
}

// TestBodyBorrows: data is a part of the input and cannot grow over the rest.
func TestBodyBorrows(t *testing.T) {
	in := []byte("5\r\nhello\r\n")
	var d Body
	d.Start(httpmsg.BodyChunked, 0, nil)
	data, _, _, _ := d.Next(in)
	if &data[0] != &in[3] || cap(data) != 5 {
		t.Errorf("data %q of capacity %d", data, cap(data))
	}
}

func TestBodyAllocatesNothing(t *testing.T) {
	in := []byte("5;a=\"b\"\r\nhello\r\n0\r\nX: y\r\n\r\n")
	var d Body
	allocations := testing.AllocsPerRun(100, func() {
		d.Start(httpmsg.BodyChunked, 0, nil)
		for rest := in; !d.Done(); {
			_, n, _, err := d.Next(rest)
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
	})
	if allocations != 0 || len(d.Trailer.Fields) != 1 {
		t.Errorf("%v allocations, %d trailers", allocations, len(d.Trailer.Fields))
	}
}

// TestChunksWritten: what the writer makes, the reader takes.
func TestChunksWritten(t *testing.T) {
	var trailer httpmsg.Header
	trailer.Add("X-Sum", "1")
	trailer.Add("Content-Length", "5")
	trailer.Add("X-Bad", "a\r\nb")
	for _, n := range []int{1, 15, 16, 255, 16384} {
		want := bytes.Repeat([]byte{'x'}, n)
		b := AppendChunkHead(nil, n)
		b = AppendChunkEnd(append(b, want...))
		gap := len(b)
		b = append(b, make([]byte, ChunkHeadBytes)...)
		PutChunkHead(b[gap:], n)
		b = AppendChunkEnd(append(b, want...))
		b = AppendLastChunk(b, &trailer)
		var d Body
		d.Start(httpmsg.BodyChunked, 0, nil)
		data, used, err := readBody(&d, string(b), len(b))
		if !bytes.Equal(data, append(want, want...)) || used != len(b) || err != nil {
			t.Errorf("%d bytes: %d of data, %d of %d used, %v", n, len(data), used, len(b), err)
		}
		if len(d.Trailer.Fields) != 1 || string(d.Trailer.Get("x-sum")) != "1" {
			t.Errorf("trailers %q", d.Trailer.Fields)
		}
	}
	most := make([]byte, ChunkHeadBytes)
	if PutChunkHead(most, ChunkBytesMax); string(most) != "ffffff\r\n" {
		t.Errorf("longest chunk %q", most)
	}
	if b := AppendLastChunk(nil, nil); string(b) != "0\r\n\r\n" {
		t.Errorf("last chunk %q", b)
	}
}
