// Package proxyproto reads and makes PROXY protocol headers, versions 1 and 2:
// the first bytes of a connection, in which a proxy says between which addresses
// the connection runs that it passes on (haproxy.org: proxy-protocol.txt).
//
//	v1:  "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443" CRLF        at most 107 bytes
//	v2:  signature(12) version|command(1) family|protocol(1) length(2) addresses TLVs
//
// It owns no socket. Whom to believe such a header, and how long to wait for it,
// is for the caller: a header must only be asked of peers that always send one.
package proxyproto

import (
	"errors"
	"net/netip"
)

// BytesMax is the longest header that Parse takes: what a connection must be
// able to buffer. Version 2 could announce 65,551 bytes; what is in use stays
// under 4 KiB even with a client certificate in it.
const BytesMax = headBytes + 4096

// Header is what a header says.
type Header struct {
	Version int // 1 or 2

	// Source and Destination are the ends of the connection passed on, IPv4
	// addresses in their IPv4 form. They are invalid if the header leaves them
	// open (LOCAL, UNKNOWN, UNSPEC, unix and datagram sockets): then those of the
	// socket itself count.
	Source, Destination netip.AddrPort

	// TLVs are the extensions of version 2, checked; they borrow the bytes handed
	// to Parse.
	TLVs []byte
}

// Errors of Parse. The connection is to be dropped without an answer.
var (
	ErrMissing   = errors.New("proxyproto: connection does not begin with a PROXY header")
	ErrTooLong   = errors.New("proxyproto: header longer than it may be")
	ErrMalformed = errors.New("proxyproto: malformed version 1 line")
	ErrVersion   = errors.New("proxyproto: version or command unknown")
	ErrFamily    = errors.New("proxyproto: address family or protocol unknown")
	ErrLength    = errors.New("proxyproto: header too short for its addresses")
	ErrTLV       = errors.New("proxyproto: TLV runs past the header")
	ErrChecksum  = errors.New("proxyproto: wrong CRC32C")
)

// Parse reads the header at the start of b into h. n is its length: the bytes of
// the connection proper start there. n is 0 if b holds only a part of a header:
// call again with the same bytes and more.
func Parse(b []byte, h *Header) (n int, err error) {
	*h = Header{}
	switch {
	case len(b) == 0:
		return 0, nil
	case b[0] == signature[0]:
		n, err = parse2(b, h)
	case b[0] == prefix[0]:
		n, err = parse1(b, h)
	default:
		err = ErrMissing
	}
	if err != nil {
		*h = Header{}
		return 0, err
	}
	return n, nil
}

// startsLike says that b and the start of a header do not differ as far as both go.
func startsLike(b []byte, start string) bool {
	n := min(len(b), len(start))
	return string(b[:n]) == start[:n]
}
