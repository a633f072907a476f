// Package record is the TLS 1.3 record layer (RFC 9846, 5): the five header
// bytes, opening a record in place, sealing one by append or in place, and
// putting handshake messages together from record fragments.
//
// It does not know the handshake: it is told when keys change, and says which
// content type it found. It owns no socket and no buffer that grows without a
// stated maximum. Failures are values of type Failure; the machine above maps
// them to alerts.
package record

// ContentType is the type of a record or, once records are protected, of what
// lies inside (RFC 9846, 5.1).
type ContentType uint8

// The content types of TLS 1.3. Invalid is also what the padding is made of.
const (
	Invalid          ContentType = 0
	ChangeCipherSpec ContentType = 20
	Alert            ContentType = 21
	Handshake        ContentType = 22
	ApplicationData  ContentType = 23
)

// Sizes in bytes.
const (
	// HeaderLen is the length of a record header:
	//
	//	 0      1            3            5
	//	+------+------------+------------+----------
	//	| type | 0x03  0x0? |   length   | fragment
	//	+------+------------+------------+----------
	HeaderLen = 5

	// PlaintextMax is the largest fragment of a plaintext record and the largest
	// content of a protected one (RFC 9846, 5.1).
	PlaintextMax = 1 << 14

	// CiphertextMax is the largest fragment of a protected record (RFC 9846, 5.2).
	CiphertextMax = PlaintextMax + 256

	// TagLen is the length of the authentication tag; all three suites of TLS 1.3
	// that are served here use 16.
	TagLen = 16

	// Overhead is what a protected record adds to its content: header, inner
	// content type, tag.
	Overhead = HeaderLen + 1 + TagLen
)

// Header is a parsed record header.
type Header struct {
	Type    ContentType
	Version uint16 // legacy_record_version
	Len     int    // of the fragment, 0 to CiphertextMax
}

// ParseHeader reads the header at the start of b, which holds at least HeaderLen
// bytes. protected says that the connection has keys for reading, which decides
// how long a fragment may be.
//
// legacy_record_version "MUST be ignored for all purposes" (RFC 9846, 5.1), but
// a first byte other than 3 is no TLS at all and is refused, so that a client
// that speaks another protocol does not wait for the end of a huge record.
func ParseHeader(b []byte, protected bool) (Header, error) {
	h := Header{
		Type:    ContentType(b[0]),
		Version: uint16(b[1])<<8 | uint16(b[2]),
		Len:     int(b[3])<<8 | int(b[4]),
	}
	if h.Type < ChangeCipherSpec || h.Type > ApplicationData {
		return h, UnknownType
	}
	if b[1] != 3 {
		return h, NotTLS
	}
	// RFC 9846, 5.1 and 5.2: "MUST terminate the connection with a
	// "record_overflow" alert". Protected records have type application_data
	// whether or not we can open them.
	limit := PlaintextMax
	if protected || h.Type == ApplicationData {
		limit = CiphertextMax
	}
	if h.Len > limit {
		return h, Overflow
	}
	return h, nil
}

// AppendHeader appends a record header for a fragment of n bytes. The version is
// 0x0303 in every record a TLS 1.3 server sends (RFC 9846, 5.1).
func AppendHeader(dst []byte, t ContentType, n int) []byte {
	return append(dst, byte(t), 3, 3, byte(n>>8), byte(n))
}

// AppendPlaintext appends unprotected records of type t that carry content, each
// with at most max bytes of it, 1 to PlaintextMax.
func AppendPlaintext(dst []byte, t ContentType, content []byte, max int) []byte {
	for len(content) > max {
		dst = AppendHeader(dst, t, max)
		dst = append(dst, content[:max]...)
		content = content[max:]
	}
	dst = AppendHeader(dst, t, len(content))
	return append(dst, content...)
}
