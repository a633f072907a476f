package capture

import (
	"encoding/binary"
	"net/netip"
)

// segment is a TCP segment.
type segment struct {
	from, to netip.AddrPort
	seq      uint32 // of the first byte of data
	syn      bool
	data     []byte
}

// Link types (https://www.tcpdump.org/linktypes.html).
const (
	linkNull     = 0
	linkEthernet = 1
	linkRawBSD   = 12
	linkRawOpen  = 14
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

// Protocols above the link.
const (
	etherIPv4  = 0x0800
	etherIPv6  = 0x86dd
	etherVLAN  = 0x8100
	etherQinQ  = 0x88a8
	vlanTagMax = 4

	protocolTCP = 6
)

// networkOf finds the IP packet in a frame; nil if there is none.
func networkOf(link uint32, b []byte) []byte {
	switch link {
	case linkEthernet:
		return afterTags(b, 12)
	case linkSLL:
		return afterTags(b, 14)
	case linkSLL2:
		if len(b) >= 20 && isIP(binary.BigEndian.Uint16(b)) {
			return b[20:]
		}
	case linkNull, linkLoop: // the family is in the byte order of who captured
		if len(b) > 4 {
			return b[4:]
		}
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
		return b
	}
	return nil
}

// afterTags passes over the type at an offset, and VLAN tags.
func afterTags(b []byte, at int) []byte {
	for range vlanTagMax {
		if len(b) < at+2 {
			return nil
		}
		kind := binary.BigEndian.Uint16(b[at:])
		at += 2
		switch {
		case isIP(kind):
			return b[at:]
		case kind == etherVLAN || kind == etherQinQ:
			at += 2
		default:
			return nil
		}
	}
	return nil
}

func isIP(kind uint16) bool { return kind == etherIPv4 || kind == etherIPv6 }

// parseSegment takes a TCP segment out of a frame.
func parseSegment(link uint32, frame []byte) (s segment, ok bool) {
	b := networkOf(link, frame)
	if len(b) == 0 {
		return s, false
	}
	var from, to netip.Addr
	switch b[0] >> 4 {
	case 4:
		from, to, b = parseIPv4(b)
	case 6:
		from, to, b = parseIPv6(b)
	default:
		return s, false
	}
	if len(b) < 20 {
		return s, false
	}
	head := int(b[12]>>4) * 4
	if head < 20 || head > len(b) {
		return s, false
	}
	s.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(b))
	s.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(b[2:]))
	s.seq = binary.BigEndian.Uint32(b[4:])
	s.syn = b[13]&2 != 0
	if s.syn {
		s.seq++ // SYN takes a number of its own (RFC 9293, 3.4)
	}
	s.data = b[head:]
	return s, true
}

// parseIPv4 returns the TCP bytes; nil for another protocol, and for fragments.
func parseIPv4(b []byte) (from, to netip.Addr, tcp []byte) {
	if len(b) < 20 {
		return from, to, nil
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 { // left to the network card
		total = len(b)
	}
	fragment := binary.BigEndian.Uint16(b[6:])&0x3fff != 0
	if head < 20 || total < head || total > len(b) || fragment || b[9] != protocolTCP {
		return from, to, nil
	}
	from, _ = netip.AddrFromSlice(b[12:16])
	to, _ = netip.AddrFromSlice(b[16:20])
	return from, to, b[head:total]
}

// extensionHeadersMax is how many headers may stand before TCP.
const extensionHeadersMax = 8

// parseIPv6 is parseIPv4 for IPv6, with the extension headers that only have a
// length (hop-by-hop, routing, destination).
func parseIPv6(b []byte) (from, to netip.Addr, tcp []byte) {
	if len(b) < 40 {
		return from, to, nil
	}
	from, _ = netip.AddrFromSlice(b[8:24])
	to, _ = netip.AddrFromSlice(b[24:40])
	next, n := b[6], int(binary.BigEndian.Uint16(b[4:]))
	b = b[40:]
	if n > 0 {
		if n > len(b) {
			return from, to, nil
		}
		b = b[:n]
	}
	for range extensionHeadersMax {
		switch next {
		case protocolTCP:
			return from, to, b
		case 0, 43, 60:
			if len(b) < 8 || len(b) < 8*(1+int(b[1])) {
				return from, to, nil
			}
			next, b = b[0], b[8*(1+int(b[1])):]
		default:
			return from, to, nil
		}
	}
	return from, to, nil
}
