package httpmsg

import (
	"bytes"
	"net/netip"
)

// What may be wrong with an authority.
var (
	errHostLong     = &Error{400, "host longer than 300 bytes", "RFC 1035, 2.3.4"}
	errHostEmpty    = &Error{400, "empty host", "RFC 9110, 4.2.1"}
	errHostName     = &Error{400, "invalid character in host", "RFC 9110, 7.2"}
	errHostUserinfo = &Error{400, "userinfo in host", "RFC 9110, 4.2.4"}
	errHostLiteral  = &Error{400, "invalid IP literal in host", "RFC 3986, 3.2.2"}
	errHostPort     = &Error{400, "invalid port in host", "RFC 9110, 7.2"}
)

// AuthorityBytesMax is the longest authority that is taken: a name has at most 254
// bytes (RFC 1035, 2.3.4, written out with its last dot) and a port 6, colon included.
// What is made of a request holds it several times.
const AuthorityBytesMax = 300

// CheckAuthority says what is wrong with b as uri-host [":" port] of an http
// URI (RFC 9110, 4.2 and 7.2). It is stricter than RFC 3986 in registered names:
// percent-encoding and sub-delims, which neither DNS nor a certificate can hold,
// are refused.
func CheckAuthority(b []byte) *Error {
	if len(b) == 0 {
		return errHostEmpty
	}
	if len(b) > AuthorityBytesMax {
		return errHostLong
	}
	if b[0] == '[' {
		return checkLiteral(b)
	}
	i := 0
	for i < len(b) && Classes[b[i]]&ClassHost != 0 {
		i++
	}
	if i == len(b) {
		return nil
	}
	if b[i] != ':' || bytes.IndexByte(b, '@') >= 0 {
		if bytes.IndexByte(b, '@') >= 0 {
			return errHostUserinfo
		}
		return errHostName
	}
	if i == 0 {
		return errHostEmpty
	}
	return checkPort(b[i+1:])
}

// checkLiteral checks "[" IPv6address "]" [":" port]. Zones and IPvFuture are
// refused.
func checkLiteral(b []byte) *Error {
	const longest = len("[0000:0000:0000:0000:0000:ffff:255.255.255.255]")
	end := bytes.IndexByte(b, ']')
	if end < 0 || end >= longest {
		return errHostLiteral
	}
	a, err := netip.ParseAddr(string(b[1:end]))
	if err != nil || !a.Is6() || a.Zone() != "" {
		return errHostLiteral
	}
	if end+1 == len(b) {
		return nil
	}
	if b[end+1] != ':' {
		return errHostLiteral
	}
	return checkPort(b[end+2:])
}

// checkPort checks *DIGIT, between 1 and 65535 unless empty.
func checkPort(b []byte) *Error {
	if len(b) == 0 {
		return nil
	}
	port := 0
	for _, c := range b {
		if Classes[c]&ClassDigit == 0 || port > 65535 {
			return errHostPort
		}
		port = port*10 + int(c-'0')
	}
	if port == 0 || port > 65535 {
		return errHostPort
	}
	return nil
}
