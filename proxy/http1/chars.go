package http1

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes, one bit each.
const (
	classToken  = 1 << iota // tchar (RFC 9110, 5.6.2)
	classTarget             // may stand in a request-target: VCHAR without #, and bytes above 127
	classHost               // may stand in a registered name: unreserved (RFC 3986, 2.3)
	classDigit
	classQuoted // qdtext (RFC 9110, 5.6.4)
)

// classes maps a byte to its classes.
var classes = makeClasses()

func makeClasses() (t [256]uint8) {
	for c := range t {
		b := byte(c)
		alpha := 'a' <= b|0x20 && b|0x20 <= 'z'
		digit := '0' <= b && b <= '9'
		if digit {
			t[c] |= classDigit
		}
		if alpha || digit || has("!#$%&'*+-.^_`|~", b) {
			t[c] |= classToken
		}
		if alpha || digit || has("-._~", b) {
			t[c] |= classHost
		}
		if b > ' ' && b != 0x7f && b != '#' {
			t[c] |= classTarget
		}
		if b == '\t' || b >= ' ' && b != 0x7f && b != '"' && b != '\\' {
			t[c] |= classQuoted
		}
	}
	return t
}

func has(set string, b byte) bool {
	for i := range len(set) {
		if set[i] == b {
			return true
		}
	}
	return false
}

// Eight bytes at once: every byte 1, and every byte's high bit.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// controls marks the high bit of bytes of x that are below 0x20 or DEL.
//
// x - 0x20 borrows into a byte's high bit where the byte is below 0x20 (and its
// own high bit is clear). A borrow also spoils the bytes above: the lowest mark
// is sure, and that there is none, but not the marks above the lowest.
func controls(x uint64) uint64 {
	del := x ^ 0x7f*ones
	return ((x-0x20*ones)&^x | (del-ones)&^del) & highs
}

// indexControl is the index of the first byte of b that is below 0x20 or DEL,
// or len(b).
func indexControl(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := controls(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] < ' ' || b[i] == 0x7f {
			break
		}
	}
	return i
}

// isValue says that b holds no byte that a field value may not (RFC 9110, 5.5).
func isValue(b []byte) bool {
	if len(b) < 8 {
		return valueEnd(b, 0) == len(b)
	}
	last := binary.LittleEndian.Uint64(b[len(b)-8:])
	m := controls(last)
	for i := 0; i < len(b)-8; i += 8 {
		m |= controls(binary.LittleEndian.Uint64(b[i:]))
	}
	return m == 0 || valueEnd(b, 0) == len(b) // a tab is a control byte that may
}

// trimBlanks cuts spaces and tabs off both ends of b (OWS: RFC 9110, 5.6.3).
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isToken says that b is a token (RFC 9110, 5.6.2).
func isToken(b []byte) bool {
	for _, c := range b {
		if classes[c]&classToken == 0 {
			return false
		}
	}
	return len(b) > 0
}
