package ja4

import (
	"crypto/sha256"

	"edge/tlsstack/wire"
)

// Transport is what carries the hello, the first character of a fingerprint:
// "If the protocol is QUIC then the first character of the fingerprint is “q”,
// if DTLS it is "d", else it is “t”."
type Transport byte

// Transports. DTLS hellos have another form and are not read here.
const (
	TCP  Transport = 't'
	QUIC Transport = 'q'
)

// Lengths of the parts in characters. "A 12 character truncated sha256
// hash".
const (
	partABytes = 10
	hashBytes  = 12
)

// Bytes is the length of the hashed forms, three parts and two underscores.
const Bytes = partABytes + 1 + hashBytes + 1 + hashBytes

// Fingerprint is the text of a ja4 or ja4_o.
type Fingerprint [Bytes]byte

// String returns the text.
func (f Fingerprint) String() string { return string(f[:]) }

// JA4 returns the fingerprint with sorted lists.
func (h *Hello) JA4(t Transport) Fingerprint { return h.hashed(t, sortedOrder) }

// JA4O returns the fingerprint with lists in the order sent.
func (h *Hello) JA4O(t Transport) Fingerprint { return h.hashed(t, originalOrder) }

// AppendJA4R appends ja4_r, the lists that JA4 hashes, to dst.
func (h *Hello) AppendJA4R(dst []byte, t Transport) []byte { return h.appendRaw(dst, t, sortedOrder) }

// AppendJA4RO appends ja4_ro, the lists that JA4O hashes, to dst.
func (h *Hello) AppendJA4RO(dst []byte, t Transport) []byte {
	return h.appendRaw(dst, t, originalOrder)
}

func (h *Hello) hashed(t Transport, o order) (f Fingerprint) {
	out := h.appendPartA(f[:0], t)
	out = append(out, '_')
	h.text = h.appendCiphers(h.text[:0], o)
	out = appendHash(out, h.text)
	out = append(out, '_')
	h.text = h.appendExtensions(h.text[:0], o)
	if len(h.text) > 0 {
		h.text = h.appendSchemes(h.text)
	}
	appendHash(out, h.text)
	return f
}

func (h *Hello) appendRaw(dst []byte, t Transport, o order) []byte {
	dst = append(h.appendPartA(dst, t), '_')
	dst = append(h.appendCiphers(dst, o), '_')
	dst = h.appendExtensions(dst, o)
	return h.appendSchemes(dst)
}

// appendHash appends the first twelve hex digits of the SHA-256 of a list. "If
// there are no ciphers in the sorted cipher list, then the value of JA4_b is set
// to 000000000000"; of extensions and JA4_c the same is said.
func appendHash(dst, list []byte) []byte {
	if len(list) == 0 {
		return append(dst, "000000000000"...)
	}
	sum := sha256.Sum256(list)
	for _, b := range sum[:hashBytes/2] {
		dst = append(dst, hexDigit(b>>4), hexDigit(b&15))
	}
	return dst
}

// appendPartA appends the legible part.
func (h *Hello) appendPartA(dst []byte, t Transport) []byte {
	dst = append(dst, byte(t))
	dst = append(dst, versionName(h.version)...)
	// "If the SNI does not exist, then the destination is an IP address, or “i”."
	name := byte('i')
	if h.serverName {
		name = 'd'
	}
	dst = append(dst, name)
	dst = appendCount(dst, len(h.ciphers))
	dst = appendCount(dst, len(h.extensions)) // "Include SNI and ALPN."
	return appendProtocol(dst, h.protocol)
}

// versionName returns the two characters of a version: the table of section "TLS
// and DTLS Version", of which a hello over TCP or QUIC can show these. "Unknown
// = 00".
func versionName(v uint16) string {
	switch v {
	case wire.VersionTLS13:
		return "13"
	case wire.VersionTLS12:
		return "12"
	case 0x0302:
		return "11"
	case wire.VersionTLS10:
		return "10"
	case 0x0300:
		return "s3"
	case 0x0002:
		return "s2"
	case 0xfeff:
		return "d1"
	case 0xfefd:
		return "d2"
	case 0xfefc:
		return "d3"
	}
	return "00"
}

// countMax is the largest count two digits show: "If there’s > 99, which there
// should never be, then output “99”."
const countMax = 99

func appendCount(dst []byte, n int) []byte {
	n = min(n, countMax)
	return append(dst, '0'+byte(n/10), '0'+byte(n%10))
}

// appendProtocol appends the two characters for the first ALPN name. "If there is
// no ALPN extension, no ALPN values, or the first ALPN value is empty, then we
// print "00"". "If the first or last byte of the first ALPN is not an ASCII
// alphanumeric character (meaning not 0x30-0x39, 0x41-0x5A, or 0x61-0x7A), then
// we print the first and last characters of the hex representation of the first
// ALPN instead."
func appendProtocol(dst, name []byte) []byte {
	if len(name) == 0 {
		return append(dst, "00"...)
	}
	first, last := name[0], name[len(name)-1]
	if !alphanumeric(first) || !alphanumeric(last) {
		return append(dst, hexDigit(first>>4), hexDigit(last&15))
	}
	return append(dst, first, last)
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
