package wire

import "golang.org/x/crypto/cryptobyte"

// The ClientHello: its fixed part and the list of its extensions (RFC 9846,
// 4.2.2). What the extensions hold is read in client_extensions.go.
//
//	header  version random     session_id  suites      compression  extensions
//	+------+-------+----------+-+- - - - -+--+- - - - +-+- - - - - +--+- - -
//	| 4    | 2     | 32       |1| 0..32   |2 | 2..    |1| 1..       |2 | type, length, body …
//	+------+-------+----------+-+- - - - -+--+- - - - +-+- - - - - +--+- - -

// ClientHelloBytesMax is the longest ClientHello that is accepted, header
// included.
const ClientHelloBytesMax = 64 << 10

// ExtensionsMax is the largest number of extensions a ClientHello may have. Real
// clients send under 30; the list costs memory per connection.
const ExtensionsMax = 256

// sessionIDBytesMax is the longest legacy_session_id (RFC 9846, 4.2.2).
const sessionIDBytesMax = 32

var (
	errHelloLong          = decodeError("ClientHello longer than ClientHelloBytesMax")
	errHelloFixedPart     = decodeError("ClientHello cut short or a length in it is wrong (RFC 9846, 4.2.2)")
	errHelloSessionID     = decodeError("legacy_session_id longer than 32 bytes (RFC 9846, 4.2.2)")
	errHelloSuites        = decodeError("cipher_suites empty or of odd length (RFC 9846, 4.2.2)")
	errHelloNoCompression = decodeError("legacy_compression_methods empty (RFC 9846, 4.2.2)")
	errHelloExtensions    = decodeError("extension block does not end where the ClientHello does (RFC 9846, 4.2.2)")
	errExtensionCut       = decodeError("extension cut short (RFC 9846, 4.3)")
	errExtensionTwice     = decodeError("two extensions of one type (RFC 9846, 4.3)")
	errExtensionCount     = decodeError("more extensions than ExtensionsMax")
)

// Extension is one extension of a ClientHello, as received.
type Extension struct {
	Type   ExtensionType
	Offset int    // of Body within ClientHello.Raw
	Body   []byte // without type and length
}

// ClientHello is a parsed ClientHello. All slices are parts of Raw, so it is
// valid as long as the bytes it was parsed from. Reuse one value for many
// messages: only the extension list is memory of its own.
type ClientHello struct {
	Raw []byte // the whole message, header included

	LegacyVersion      uint16
	Random             []byte // 32 bytes
	SessionID          []byte // 0 to 32 bytes
	CipherSuites       Uint16List
	CompressionMethods []byte

	// ExtensionsOffset is where the two-byte length of the extension block lies
	// in Raw; len(Raw) when there is no block (older clients).
	ExtensionsOffset int
	Extensions       []Extension // in the order received

	// ClientHelloExtensions is what the known extensions hold; filled by
	// ParseClientHello, zero after ScanClientHello.
	ClientHelloExtensions

	seen uint64 // bit t%64 is set when an extension of type t is there
}

// ScanClientHello reads the fixed part and lists the extensions without looking
// into them. It is enough to fingerprint a hello or to find its ECH; a hello
// that will be answered must pass ParseClientHello. Fails with *Error.
func ScanClientHello(msg []byte, h *ClientHello) error {
	*h = ClientHello{Raw: msg, Extensions: h.Extensions[:0]}
	if len(msg) > ClientHelloBytesMax {
		return errHelloLong
	}
	s, err := body(msg, TypeClientHello)
	if err != nil {
		return err
	}
	if s, err = h.scanFixedPart(s); err != nil {
		return err
	}
	h.ExtensionsOffset = len(msg) - len(s)
	if s.Empty() {
		return nil // no extension block: TLS 1.2 or older
	}
	var block cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&block) || !s.Empty() {
		return errHelloExtensions
	}
	return h.scanExtensions(block)
}

// scanFixedPart reads everything up to the extension block.
func (h *ClientHello) scanFixedPart(s cryptobyte.String) (cryptobyte.String, error) {
	var sessionID, suites, compression cryptobyte.String
	if !s.ReadUint16(&h.LegacyVersion) || !s.ReadBytes(&h.Random, 32) ||
		!s.ReadUint8LengthPrefixed(&sessionID) || !s.ReadUint16LengthPrefixed(&suites) ||
		!s.ReadUint8LengthPrefixed(&compression) {
		return nil, errHelloFixedPart
	}
	switch {
	case len(sessionID) > sessionIDBytesMax:
		return nil, errHelloSessionID
	case len(suites) == 0 || len(suites)%2 != 0:
		return nil, errHelloSuites
	case len(compression) == 0:
		return nil, errHelloNoCompression
	}
	h.SessionID = sessionID
	h.CipherSuites = Uint16List(suites)
	h.CompressionMethods = compression
	return s, nil
}

// scanExtensions fills the extension list.
//
// RFC 9846, 4.3: "There MUST NOT be more than one extension of the same type in
// a given extension block." No alert is named there; decode_error is what the
// other strict servers answer.
func (h *ClientHello) scanExtensions(block cryptobyte.String) error {
	offset := h.ExtensionsOffset + 2
	for !block.Empty() {
		var typ uint16
		var data cryptobyte.String
		if !block.ReadUint16(&typ) || !block.ReadUint16LengthPrefixed(&data) {
			return errExtensionCut
		}
		offset += 4
		switch {
		case h.Has(ExtensionType(typ)):
			return errExtensionTwice
		case len(h.Extensions) == ExtensionsMax:
			return errExtensionCount
		}
		h.Extensions = append(h.Extensions, Extension{ExtensionType(typ), offset, data})
		h.seen |= 1 << (typ % 64)
		offset += len(data)
	}
	return nil
}

// Has reports whether an extension of type t is there.
func (h *ClientHello) Has(t ExtensionType) bool { return h.Find(t) != nil }

// Find returns the extension of type t, nil when there is none. It points into
// h.Extensions.
func (h *ClientHello) Find(t ExtensionType) *Extension {
	if h.seen&(1<<(t%64)) == 0 {
		return nil
	}
	for i := range h.Extensions {
		if h.Extensions[i].Type == t {
			return &h.Extensions[i]
		}
	}
	return nil
}

// OffersTLS13 reports whether supported_versions holds TLS 1.3. legacy_version
// does not count (RFC 9846, 4.3.1). Valid after ParseClientHello.
func (h *ClientHello) OffersTLS13() bool { return h.SupportedVersions.Contains(VersionTLS13) }

// AppendServerName appends the SNI host in lower case without a trailing dot,
// the form certificate sources are asked in. It appends nothing when the client
// sent no name.
func (h *ClientHello) AppendServerName(dst []byte) []byte {
	name := h.ServerName
	if n := len(name); n > 0 && name[n-1] == '.' {
		name = name[:n-1] // not legal in SNI (RFC 6066, 3), but met in the field
	}
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
