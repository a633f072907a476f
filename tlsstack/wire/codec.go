package wire

import "golang.org/x/crypto/cryptobyte"

// The few helpers over cryptobyte that both directions share.
//
// Parsing uses cryptobyte.String, whose nested lengths cannot be left half-read
// unseen: every list is read to its end or refused. Writing appends to the
// caller's buffer and fills lengths in afterwards, because cryptobyte.Builder
// allocates a child for each nested length and a flight has dozens of them.

// HeaderBytes is the size of a handshake message header (RFC 9846, 4).
const HeaderBytes = 4

var (
	errMessageShort = decodeError("handshake message shorter than its header says (RFC 9846, 4)")
	errMessageLong  = decodeError("bytes after the end of the handshake message (RFC 9846, 4)")
	errMessageType  = &Error{AlertUnexpectedMessage, "handshake message of another type (RFC 9846, 4)"}
)

// body checks the header of a whole handshake message and returns what follows.
func body(msg []byte, want HandshakeType) (cryptobyte.String, error) {
	s := cryptobyte.String(msg)
	var typ uint8
	var length uint32
	if !s.ReadUint8(&typ) || !s.ReadUint24(&length) || len(s) < int(length) {
		return nil, errMessageShort
	}
	if HandshakeType(typ) != want {
		return nil, errMessageType
	}
	if len(s) > int(length) {
		return nil, errMessageLong
	}
	return s, nil
}

// Uint16List is a list of 16-bit code points as received: even in length,
// without its length prefix.
type Uint16List []byte

// Len returns the number of entries.
func (l Uint16List) Len() int { return len(l) / 2 }

// At returns entry i, 0 ≤ i < Len.
func (l Uint16List) At(i int) uint16 { return uint16(l[2*i])<<8 | uint16(l[2*i+1]) }

// Contains reports whether v is in the list.
func (l Uint16List) Contains(v uint16) bool {
	hi, lo := byte(v>>8), byte(v)
	for i := 0; i+1 < len(l); i += 2 {
		if l[i] == hi && l[i+1] == lo {
			return true
		}
	}
	return false
}

// repeats reports whether a value is in the list twice. Its cost is quadratic:
// for lists whose length one byte bounds.
func (l Uint16List) repeats() bool {
	for i := 0; i < l.Len(); i++ {
		if l[:2*i].Contains(l.At(i)) {
			return true
		}
	}
	return false
}

func appendUint16(dst []byte, v uint16) []byte { return append(dst, byte(v>>8), byte(v)) }

func appendUint24(dst []byte, v int) []byte {
	return append(dst, byte(v>>16), byte(v>>8), byte(v))
}

func appendUint32(dst []byte, v uint32) []byte {
	return append(dst, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// begin opens a value with a length prefix of size bytes; end fills it in.
func begin(dst []byte, size int) ([]byte, int) {
	for range size {
		dst = append(dst, 0)
	}
	return dst, len(dst)
}

// end closes the value that begin opened at offset at.
func end(dst []byte, at, size int) []byte {
	n := len(dst) - at
	if n>>(8*size) != 0 {
		panic("BUG: wire: value too long for its length prefix")
	}
	for i := 1; i <= size; i++ {
		dst[at-i] = byte(n)
		n >>= 8
	}
	return dst
}

// appendVector appends a length of size bytes and v.
func appendVector(dst []byte, size int, v []byte) []byte {
	dst, at := begin(dst, size)
	return end(append(dst, v...), at, size)
}

// beginMessage opens a handshake message; close it with end(dst, at, 3).
func beginMessage(dst []byte, typ HandshakeType) ([]byte, int) {
	return begin(append(dst, byte(typ)), 3)
}

// beginExtension opens an extension; close it with end(dst, at, 2).
func beginExtension(dst []byte, typ ExtensionType) ([]byte, int) {
	return begin(appendUint16(dst, uint16(typ)), 2)
}
