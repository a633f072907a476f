package proxy

import (
	"bytes"
	"fmt"
	"net/netip"
	"unsafe"

	"edge/proxy/httpmsg"
)

// Trust is the set of peers whose word on the client is taken: their
// X-Forwarded-* and Forwarded fields, request ids and PROXY headers. The zero
// prefix in it stands for the peers of unix sockets.
type Trust []netip.Prefix

// TrustMax is the greatest number of entries: each is compared for each request.
const TrustMax = 256

// ParseTrust reads the values of --trust: addresses, prefixes, and "unix" for the
// peers of unix sockets.
func ParseTrust(values []string) (Trust, error) {
	if len(values) > TrustMax {
		return nil, fmt.Errorf("trust: more than %d entries", TrustMax)
	}
	var t Trust
	for _, value := range values {
		if value == "unix" {
			t = append(t, netip.Prefix{})
			continue
		}
		p, err := netip.ParsePrefix(value)
		if err != nil {
			a, err := netip.ParseAddr(value)
			if err != nil || a.Zone() != "" {
				return nil, fmt.Errorf("trust %q: want an address, a prefix or unix", value)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		t = append(t, unmapPrefix(p.Masked()))
	}
	return t, nil
}

// unmapPrefix turns a prefix of mapped IPv4 addresses into one of IPv4 addresses:
// addresses are compared in that form.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// Has says that a is trusted. IPv4 addresses count the same in their mapped form;
// the invalid address is that of a unix socket's peer.
func (t Trust) Has(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	for _, p := range t {
		if p.Contains(a) || !a.IsValid() && !p.IsValid() {
			return true
		}
	}
	return false
}

// hopsMax is how many addresses of X-Forwarded-For are looked at, from the right.
// A chain of that many trusted proxies does not exist.
const hopsMax = 32

// Client is the address of the client of a request that came from peer: peer
// itself unless it is trusted, else the right-most address in X-Forwarded-For
// that is not (RFC 7239, 8.1: what stands further left anyone can have written).
// An entry that is no address ends the search at the proxy that passed it on.
// Where there is no X-Forwarded-For, Forwarded serves.
func (t Trust) Client(peer netip.Addr, h *httpmsg.Header) netip.Addr {
	peer = peer.Unmap()
	if !t.Has(peer) {
		return peer
	}
	hops, any := hops{trust: t, client: peer}, false
	for i := len(h.Fields) - 1; i >= 0 && !hops.over; i-- {
		if f := &h.Fields[i]; httpmsg.EqualFold(f.Name, "x-forwarded-for") {
			any = true
			hops.list(f.Value)
		}
	}
	if any {
		return hops.client
	}
	for i := len(h.Fields) - 1; i >= 0 && !hops.over; i-- {
		if f := &h.Fields[i]; httpmsg.EqualFold(f.Name, "forwarded") {
			hops.forwarded(f.Value)
		}
	}
	return hops.client
}

// hops is a walk along the proxies towards the client.
type hops struct {
	trust  Trust
	client netip.Addr // the furthest known so far
	count  int
	over   bool
}

// step goes on to the address written in b.
func (s *hops) step(b []byte) {
	a, ok := parseNode(b)
	s.count++
	if !ok || s.count > hopsMax {
		s.over = true
		return
	}
	s.client = a
	s.over = !s.trust.Has(a)
}

// list walks one value of X-Forwarded-For from its right.
func (s *hops) list(value []byte) {
	for !s.over {
		comma := bytes.LastIndexByte(value, ',')
		if entry := httpmsg.TrimBlanks(value[comma+1:]); len(entry) > 0 {
			s.step(entry)
		} else if s.count++; s.count > hopsMax {
			s.over = true
		}
		if comma < 0 {
			return
		}
		value = value[:comma]
	}
}

// parseNode reads an address with or without a port, an IPv6 address with or
// without brackets (RFC 7239, 6, and what proxies write into X-Forwarded-For).
func parseNode(b []byte) (netip.Addr, bool) {
	const longest = len("[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535")
	if len(b) == 0 || len(b) > longest {
		return netip.Addr{}, false
	}
	if b[0] == '[' {
		end := bytes.IndexByte(b, ']')
		if end < 0 || !isPort(b[end+1:]) {
			return netip.Addr{}, false
		}
		b = b[1:end]
	} else if colon := bytes.IndexByte(b, ':'); colon >= 0 && bytes.LastIndexByte(b, ':') == colon {
		if !isPort(b[colon:]) {
			return netip.Addr{}, false
		}
		b = b[:colon]
	}
	if len(b) == 0 {
		return netip.Addr{}, false
	}
	// A copy would be an allocation for each hop of each request. The string is
	// gone before b can change: an address keeps nothing of it but a zone, of
	// which it makes its own copy, and the error is dropped.
	a, err := netip.ParseAddr(unsafe.String(&b[0], len(b)))
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, false
	}
	return a.Unmap(), true
}

// isPort says that b is nothing, or a colon and digits.
func isPort(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	for _, c := range b[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return b[0] == ':' && len(b) > 1
}
