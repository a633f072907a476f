package split

import "edge/tlsstack/record"

// framer follows the records of a stream without keeping them.
type framer struct {
	head   [record.HeaderLen]byte
	have   int    // bytes of head
	left   int    // bytes of the fragment not yet seen
	piece  []byte // of the fragment, in the bytes given to next
	broken bool   // what should be a header is none: this is no TLS
	unsent bool   // head was not flushed
}

// part is what next has come across.
type part uint8

const (
	nothing part = iota // of a header, not yet whole
	header              // the last byte of one
	payload             // piece
)

// next takes the next part of b, and returns its number of bytes.
func (f *framer) next(b []byte) (part, int) {
	if f.left > 0 {
		n := min(f.left, len(b))
		f.piece = b[:n]
		f.left -= n
		return payload, n
	}
	if f.have == record.HeaderLen {
		f.have = 0
	}
	n := copy(f.head[f.have:], b)
	f.have += n
	f.unsent = true
	if f.have < record.HeaderLen {
		return nothing, n
	}
	h, err := record.ParseHeader(f.head[:], true)
	f.broken = err != nil
	f.left = h.Len
	return header, n
}

// whole reports whether the header of the record at hand is there.
func (f *framer) whole() bool { return f.have == record.HeaderLen }

// kind is the type of that record.
func (f *framer) kind() record.ContentType { return record.ContentType(f.head[0]) }

// flush appends the header, whole or not, unless it was appended before.
func (f *framer) flush(dst []byte) []byte {
	if f.unsent {
		dst = append(dst, f.head[:f.have]...)
		f.forget()
	}
	return dst
}

// forget has flush not append the header any more.
func (f *framer) forget() { f.unsent = false }
