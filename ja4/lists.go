package ja4

import (
	"slices"

	"edge/tlsstack/wire"
)

// Parts b and c: lists of "the 4 character hex values […], lower case, comma
// delimited".

// order says in which order the lists of suites and extensions are written.
type order uint8

const (
	sortedOrder   order = iota // "sorted in hex order"
	originalOrder              // as they appear in the hello
)

func (h *Hello) appendCiphers(dst []byte, o order) []byte {
	if o == originalOrder {
		return appendList(dst, h.ciphers)
	}
	h.sorted = append(h.sorted[:0], h.ciphers...)
	slices.Sort(h.sorted)
	return appendList(dst, h.sorted)
}

// appendExtensions appends the list of extensions; the sorted one without those
// that part a shows. "Ignore the SNI extension (0000) and the ALPN extension
// (0010) as we’ve already captured them in the _a_ section of the fingerprint."
func (h *Hello) appendExtensions(dst []byte, o order) []byte {
	if o == originalOrder {
		return appendList(dst, h.extensions)
	}
	h.sorted = h.sorted[:0]
	for _, e := range h.extensions {
		if e != uint16(wire.ExtServerName) && e != uint16(wire.ExtALPN) {
			h.sorted = append(h.sorted, e)
		}
	}
	slices.Sort(h.sorted)
	return appendList(dst, h.sorted)
}

// appendSchemes appends the signature algorithms "to the end of the list in the
// order that they appear (not sorted) with an underscore delimiting the two
// lists". "If there are no signature algorithms in the hello packet, then the
// string ends without an underscore".
func (h *Hello) appendSchemes(dst []byte) []byte {
	if len(h.schemes) == 0 {
		return dst
	}
	return appendList(append(dst, '_'), h.schemes)
}

// appendList appends values as hex, with commas between them.
func appendList(dst []byte, values []uint16) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, hexDigit(byte(v>>12)), hexDigit(byte(v>>8&15)),
			hexDigit(byte(v>>4&15)), hexDigit(byte(v&15)))
	}
	return dst
}

// hexDigit returns the digit for n, 0 ≤ n < 16.
func hexDigit(n byte) byte { return "0123456789abcdef"[n] }
