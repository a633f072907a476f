package proxyproto

import (
	"bytes"
	"net/netip"
	"strconv"
)

const (
	prefix      = "PROXY "
	lineBytes   = 107 // proxy-protocol.txt, 2.1: with CRLF
	unknownLine = "PROXY UNKNOWN\r\n"
)

// parse1 reads a version 1 line:
//
//	"PROXY" SP ("TCP4" / "TCP6") SP source SP destination SP source-port SP destination-port CRLF
//	"PROXY" SP "UNKNOWN" anything CRLF
func parse1(b []byte, h *Header) (int, error) {
	if !startsLike(b, prefix) {
		return 0, ErrMissing
	}
	b = b[:min(len(b), lineBytes)]
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) == lineBytes {
			return 0, ErrTooLong
		}
		return 0, nil
	}
	if b[end-1] != '\r' {
		return 0, ErrMalformed
	}
	h.Version = 1
	line := string(b[len(prefix) : end-1])
	if line == "UNKNOWN" || len(line) > len("UNKNOWN ") && line[:len("UNKNOWN ")] == "UNKNOWN " {
		return end + 1, nil
	}
	if !parseLine(line, h) {
		return 0, ErrMalformed
	}
	return end + 1, nil
}

// parseLine reads what follows "PROXY ", but for UNKNOWN.
func parseLine(line string, h *Header) bool {
	var parts [5]string
	for i := range parts {
		end := len(line)
		if i < len(parts)-1 {
			if end = indexSpace(line); end < 0 {
				return false
			}
		}
		parts[i] = line[:end]
		line = line[min(end+1, len(line)):]
	}
	if parts[0] != "TCP4" && parts[0] != "TCP6" {
		return false
	}
	source, ok1 := parseEnd(parts[1], parts[3], parts[0] == "TCP6")
	destination, ok2 := parseEnd(parts[2], parts[4], parts[0] == "TCP6")
	h.Source, h.Destination = source, destination
	return ok1 && ok2
}

func indexSpace(s string) int {
	for i := range len(s) {
		if s[i] == ' ' {
			return i
		}
	}
	return -1
}

// parseEnd reads one address and its port, which has no leading zeros and no sign.
func parseEnd(address, port string, six bool) (netip.AddrPort, bool) {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is6() != six || a.Zone() != "" {
		return netip.AddrPort{}, false
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil || port[0] == '0' && port != "0" || port[0] == '+' {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(p)), true
}

// AppendV1 appends a version 1 header to dst: UNKNOWN unless both addresses are
// valid. Of two families the line is TCP6, with the IPv4 address mapped.
func AppendV1(dst []byte, source, destination netip.AddrPort) []byte {
	if !source.IsValid() || !destination.IsValid() {
		return append(dst, unknownLine...)
	}
	from, to, six := sameFamily(source.Addr(), destination.Addr())
	dst = append(dst, prefix...)
	if six {
		dst = append(dst, "TCP6 "...)
	} else {
		dst = append(dst, "TCP4 "...)
	}
	dst = append(from.AppendTo(dst), ' ')
	dst = append(to.AppendTo(dst), ' ')
	dst = append(strconv.AppendUint(dst, uint64(source.Port()), 10), ' ')
	dst = strconv.AppendUint(dst, uint64(destination.Port()), 10)
	return append(dst, '\r', '\n')
}

// sameFamily makes both addresses IPv4, or both IPv6, without zones.
func sameFamily(a, b netip.Addr) (x, y netip.Addr, six bool) {
	a, b = a.Unmap().WithZone(""), b.Unmap().WithZone("")
	if a.Is4() && b.Is4() {
		return a, b, false
	}
	return netip.AddrFrom16(a.As16()), netip.AddrFrom16(b.As16()), true
}
