package httpmsg

import (
	"encoding/binary"
	"math/bits"
)

// Class is a set of bytes that the grammar of HTTP names.
type Class uint8

// The classes, one bit each.
const (
	ClassToken  Class = 1 << iota // tchar (RFC 9110, 5.6.2)
	ClassTarget                   // may stand in a request-target: VCHAR without #, and bytes above 127
	ClassHost                     // may stand in a registered name: unreserved (RFC 3986, 2.3)
	ClassDigit
	ClassQuoted // qdtext (RFC 9110, 5.6.4)
)

// Classes has the classes of each byte. It is for loops that cannot afford a call,
// and never written.
var Classes = makeClasses()

func makeClasses() (t [256]Class) {
	for c := range t {
		b := byte(c)
		alpha := 'a' <= b|0x20 && b|0x20 <= 'z'
		digit := '0' <= b && b <= '9'
		if digit {
			t[c] |= ClassDigit
		}
		if alpha || digit || has("!#$%&'*+-.^_`|~", b) {
			t[c] |= ClassToken
		}
		if alpha || digit || has("-._~", b) {
			t[c] |= ClassHost
		}
		if b > ' ' && b != 0x7f && b != '#' {
			t[c] |= ClassTarget
		}
		if b == '\t' || b >= ' ' && b != 0x7f && b != '"' && b != '\\' {
			t[c] |= ClassQuoted
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

// ValueEnd is the index of the first byte from at on that no field value holds.
func ValueEnd(b []byte, at int) int {
	for {
		at += indexControl(b[at:])
		if at == len(b) || b[at] != '\t' {
			return at
		}
		at++
	}
}

// IsValue says that b holds no byte that a field value may not (RFC 9110, 5.5).
func IsValue(b []byte) bool {
	if len(b) < 8 {
		return ValueEnd(b, 0) == len(b)
	}
	last := binary.LittleEndian.Uint64(b[len(b)-8:])
	m := controls(last)
	for i := 0; i < len(b)-8; i += 8 {
		m |= controls(binary.LittleEndian.Uint64(b[i:]))
	}
	return m == 0 || ValueEnd(b, 0) == len(b) // a tab is a control byte that may
}

// TrimBlanks cuts spaces and tabs off both ends of b (OWS: RFC 9110, 5.6.3).
func TrimBlanks(b []byte) []byte {
	for len(b) > 0 && IsBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && IsBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// IsBlank says that c is a space or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// IsToken says that b is a token (RFC 9110, 5.6.2). It runs for every name that is
// written, so it takes eight bytes to a branch.
func IsToken(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	for ; len(b) >= 8; b = b[8:] {
		if Classes[b[0]]&Classes[b[1]]&Classes[b[2]]&Classes[b[3]]&
			Classes[b[4]]&Classes[b[5]]&Classes[b[6]]&Classes[b[7]]&ClassToken == 0 {
			return false
		}
	}
	for _, c := range b {
		if Classes[c]&ClassToken == 0 {
			return false
		}
	}
	return true
}

// IsTarget says that b holds only bytes that a request-target may.
func IsTarget(b []byte) bool {
	for _, c := range b {
		if Classes[c]&ClassTarget == 0 {
			return false
		}
	}
	return true
}

// ParseLength reads a Content-Length (RFC 9110, 8.6): 1*DIGIT up to the largest
// int64.
func ParseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > len("9223372036854775807") {
		return 0, false
	}
	for _, c := range b {
		if Classes[c]&ClassDigit == 0 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
		if n < 0 {
			return 0, false
		}
	}
	return n, true
}
