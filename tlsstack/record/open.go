package record

import (
	"crypto/cipher"
	"encoding/binary"
)

// NonceLen is the nonce length of the suites served here, in bytes.
const NonceLen = 12

// Direction is the traffic key of one direction: the AEAD, the static IV and the
// sequence number, from which each record's nonce is made (RFC 9846, 5.3):
//
//	iv     | 12 bytes                          |
//	seq    | 0 0 0 0 | 64-bit sequence number  |
//	nonce  = iv XOR seq
//
// The zero value is a direction without keys. It is not safe for concurrent use.
// The nonce is scratch that lives here because an array handed to an interface
// method would otherwise be allocated for each record.
type Direction struct {
	aead  cipher.AEAD // nil without keys and at rest
	keyed bool
	seq   uint64
	iv    [NonceLen]byte
	nonce [NonceLen]byte
}

// SetKey installs a new traffic key and starts the sequence at zero.
func (d *Direction) SetKey(aead cipher.AEAD, iv [NonceLen]byte) {
	*d = Direction{aead: aead, keyed: true, iv: iv}
}

// Rest lets the AEAD go, which holds most of what a direction takes; the IV and
// the sequence stay. Wake must come before the next record.
func (d *Direction) Rest() { d.aead = nil }

// Wake puts the AEAD of the same key back after Rest.
func (d *Direction) Wake(aead cipher.AEAD) { d.aead = aead }

// Protected reports whether the direction has keys.
func (d *Direction) Protected() bool { return d.keyed }

// Sequence returns how many records the current key has opened or sealed.
func (d *Direction) Sequence() uint64 { return d.seq }

// next sets the nonce for the next record.
func (d *Direction) next() []byte {
	d.nonce = d.iv
	tail := d.nonce[NonceLen-8:]
	binary.BigEndian.PutUint64(tail, binary.BigEndian.Uint64(tail)^d.seq)
	return d.nonce[:]
}

// openedMax is the hard limit on records opened under one key. The peer is the
// one that has to change keys; RFC 9846, 5.3 asks only that the sequence never
// wraps. 2^48 records are never reached by an honest peer.
const openedMax = 1 << 48

// Open authenticates and decrypts one whole record, header included, in place.
// It returns the inner content type and the content, which aliases rec.
//
//	before  | header | encrypted: content  type  zeros | tag |
//	after   | header | content | type  zeros           | tag |
//
// Failures: BadMAC, Overflow, NoContentType, SequenceSpent. After BadMAC the
// sequence number has not moved, which is what skipping refused early data needs
// (RFC 9846, 4.3.10), and the fragment is undefined.
func (d *Direction) Open(rec []byte) (ContentType, []byte, error) {
	if d.seq >= openedMax {
		return 0, nil, SequenceSpent
	}
	fragment := rec[HeaderLen:]
	if len(fragment) < TagLen {
		return 0, nil, BadMAC
	}
	inner, err := d.aead.Open(fragment[:0], d.next(), fragment, rec[:HeaderLen])
	if err != nil {
		return 0, nil, BadMAC
	}
	d.seq++
	return splitInner(inner)
}

// splitInner takes TLSInnerPlaintext apart: content, one type byte, zeros
// (RFC 9846, 5.2 and 5.4).
func splitInner(inner []byte) (ContentType, []byte, error) {
	// RFC 9846, 5.4: the whole inner plaintext, padding included, is at most
	// 2^14 + 1 bytes.
	if len(inner) > PlaintextMax+1 {
		return 0, nil, Overflow
	}
	end := len(inner)
	for end > 0 && inner[end-1] == 0 {
		end--
	}
	if end == 0 {
		return 0, nil, NoContentType
	}
	return ContentType(inner[end-1]), inner[:end-1], nil
}
