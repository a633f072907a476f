package certstore

// This file holds the one reading of a host name, used for SNI (RFC 6066, 3), for
// the HTTP Host field (RFC 9110, 7.2) and for the names in certificates, so that
// the three can never disagree.

import (
	"bytes"
	"errors"
	"net/netip"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// NameBytesMax is the longest host name, without a trailing dot (RFC 1035, 2.3.4:
// 255 octets on the wire). A buffer of this capacity holds any normal name.
const NameBytesMax = 253

const (
	labelBytesMax = 63   // RFC 1035, 2.3.4
	utf8BytesMax  = 1024 // a name in UTF-8 beyond this is not worth converting
)

// The ways in which a string is not a host name. ErrNameAddress is no offence:
// the peer named an IP address, for which the default certificate is meant. The
// others are malformed.
var (
	ErrNameAddress = errors.New("an IP address is not a host name (RFC 6066, 3)")
	ErrNameEmpty   = errors.New("empty host name")
	ErrNameLength  = errors.New("host name over 253 bytes, or a label over 63 (RFC 1035, 2.3.4)")
	ErrNameSyntax  = errors.New("host name with an empty label or a character other than letter, digit, hyphen and underscore")
)

// AppendName appends the normal form of a host name to dst: lower case, one
// trailing dot removed, UTF-8 converted to A-labels (RFC 5891). Underscores are
// allowed, hyphens anywhere. It allocates only for UTF-8, and when dst is too
// short. On error dst is returned as it was.
func AppendName(dst, raw []byte) ([]byte, error) {
	raw = bytes.TrimSuffix(raw, []byte{'.'})
	if len(raw) == 0 {
		return dst, ErrNameEmpty
	}
	for _, c := range raw {
		switch {
		case c >= utf8.RuneSelf:
			return appendUnicode(dst, raw)
		case c == ':':
			return dst, addressOr(raw, ErrNameSyntax)
		}
	}
	return appendASCII(dst, raw)
}

// AppendHost is AppendName for an HTTP Host field or authority: it takes off an
// optional ":port" first, and knows "[IPv6]".
func AppendHost(dst, host []byte) ([]byte, error) {
	if len(host) > 0 && host[0] == '[' {
		end := bytes.IndexByte(host, ']')
		if end < 0 || !isPort(host[end+1:]) {
			return dst, ErrNameSyntax
		}
		return dst, addressOr(host[1:end], ErrNameSyntax)
	}
	if colon := bytes.IndexByte(host, ':'); colon >= 0 {
		if !isPort(host[colon:]) {
			return dst, ErrNameSyntax
		}
		host = host[:colon]
	}
	return AppendName(dst, host)
}

// isPort says whether s is empty, ":" or ":port" (RFC 3986, 3.2.3).
func isPort(s []byte) bool {
	if len(s) == 0 {
		return true
	}
	if s[0] != ':' || len(s) > len(":65535") {
		return false
	}
	port := 0
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return false
		}
		port = port*10 + int(c-'0')
	}
	return port <= 65535
}

// addressOr returns ErrNameAddress when raw is an IPv6 address, else otherwise.
func addressOr(raw []byte, otherwise error) error {
	const longest = len("0000:0000:0000:0000:0000:0000:255.255.255.255%") + 16 // IFNAMSIZ
	if len(raw) > longest {
		return otherwise
	}
	if a, err := netip.ParseAddr(string(raw)); err == nil && a.Is6() {
		return ErrNameAddress
	}
	return otherwise
}

// appendASCII appends a name of ASCII characters without a trailing dot.
func appendASCII(dst, raw []byte) ([]byte, error) {
	if len(raw) > NameBytesMax {
		return dst, ErrNameLength
	}
	out := dst
	label := 0 // where the current label begins in raw
	for i, c := range raw {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '.' && i > label:
			label = i + 1
		default:
			return dst, ErrNameSyntax
		}
		if i-label >= labelBytesMax {
			return dst, ErrNameLength
		}
		out = append(out, c)
	}
	if label == len(raw) {
		return dst, ErrNameSyntax // ended in two dots
	}
	if isNumber(raw[label:]) {
		return dst, ErrNameAddress
	}
	return out, nil
}

// isNumber says whether a last label is a number, decimal or hexadecimal: what
// ends so is read as an IPv4 address or not at all by browsers and by inet_aton,
// in all its spellings (192.0.2.1, 127.1, 0x7f.1), and no such top-level domain
// can exist (RFC 3696, 2).
func isNumber(label []byte) bool {
	digits := label
	hex := len(label) >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X')
	if hex {
		digits = label[2:]
	}
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
		case hex && (c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'):
		default:
			return false
		}
	}
	return true
}

// lookup maps a name in UTF-8 as a user agent would (RFC 5895), keeps
// underscores, and checks neither length nor syntax: appendASCII does.
var lookup = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// appendUnicode appends a name that has characters beyond ASCII. RFC 6066, 3 asks
// for A-labels, but raw UTF-8 is met in SNI and in Host.
func appendUnicode(dst, raw []byte) ([]byte, error) {
	if len(raw) > utf8BytesMax {
		return dst, ErrNameLength
	}
	if !utf8.Valid(raw) {
		return dst, ErrNameSyntax
	}
	ascii, err := lookup.ToASCII(string(raw))
	if err != nil {
		return dst, ErrNameSyntax
	}
	// Mapping can make anything of it: dots of other scripts, digits of an
	// address, nothing at all. So the result is read as if it had come so.
	for i := range len(ascii) {
		if ascii[i] >= utf8.RuneSelf {
			return dst, ErrNameSyntax
		}
	}
	mapped := bytes.TrimSuffix([]byte(ascii), []byte{'.'})
	if len(mapped) == 0 {
		return dst, ErrNameEmpty
	}
	return appendASCII(dst, mapped)
}
