package traffic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// Token names one request, and is what its bytes are made of.
type Token uint64

// String is the token as it stands in paths and fields.
func (t Token) String() string { return fmt.Sprintf("%016x", uint64(t)) }

// The streams of bytes that belong to a token.
const (
	answerBytes uint64 = iota
	uploadBytes
	messageBytes // and the number of the message added
)

// pattern is an endless stream of bytes made of a token.
type pattern struct{ seed, at uint64 }

func newPattern(t Token, stream uint64) pattern {
	return pattern{seed: spread(uint64(t) + stream*0x9e3779b97f4a7c15)}
}

// spread makes every bit of x matter to every bit of the result (the finalizer of
// MurmurHash3).
func spread(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Read fills p; it never fails.
func (g *pattern) Read(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		word, off := g.at/8, g.at%8
		x := (g.seed + word*0xbf58476d1ce4e5b9) * 0x94d049bb133111eb
		if off == 0 && len(p) >= 8 {
			binary.LittleEndian.PutUint64(p, x)
			p, g.at = p[8:], g.at+8
			continue
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		k := copy(p, b[off:])
		p, g.at = p[k:], g.at+uint64(k)
	}
	return n, nil
}

// checker takes bytes as a Writer and compares them with the stream they must be.
type checker struct {
	want    pattern
	scratch []byte
	got     int64
}

func newChecker(t Token, stream uint64) *checker {
	return &checker{want: newPattern(t, stream), scratch: make([]byte, 32<<10)}
}

func (c *checker) Write(p []byte) (n int, err error) {
	for n < len(p) {
		b := c.scratch[:min(len(c.scratch), len(p)-n)]
		c.want.Read(b)
		if !bytes.Equal(b, p[n:n+len(b)]) {
			return n, fmt.Errorf("MIXED UP: at byte %d or after there is %.32q, not %.32q", c.got, p[n:n+len(b)], b)
		}
		n += len(b)
		c.got += int64(len(b))
	}
	return n, nil
}

// checkStream reads r to its end, which must be n bytes of the token's stream.
func checkStream(r io.Reader, t Token, stream uint64, n int64) error {
	c := newChecker(t, stream)
	if _, err := io.CopyBuffer(c, struct{ io.Reader }{r}, make([]byte, 32<<10)); err != nil {
		return err
	}
	if c.got != n {
		return fmt.Errorf("TRUNCATED: %d bytes of %d, and a clean end", c.got, n)
	}
	return nil
}
