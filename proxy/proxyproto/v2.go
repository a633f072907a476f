package proxyproto

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

//	 0                   12            13            14       16
//	+-------------------+-------------+-------------+--------+-----------+------
//	| 0D 0A 0D 0A 00 0D | version: 2  | family:  4  | length | addresses | TLVs
//	| 0A 51 55 49 54 0A | command: 4  | protocol: 4 |        |           |
//	+-------------------+-------------+-------------+--------+-----------+------
//	                                                 `-- of what follows it

const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"
	headBytes = len(signature) + 4

	commandLocal = 0x20
	commandProxy = 0x21

	familyUnspec  = 0x00
	familyStream4 = 0x11
	familyDgram4  = 0x12
	familyStream6 = 0x21
	familyDgram6  = 0x22
	familyUnix    = 0x31
	familyDgramUx = 0x32
)

// Types of TLVs (proxy-protocol.txt, 2.2).
const (
	TypeALPN      = 0x01 // the application protocol that was negotiated
	TypeAuthority = 0x02 // the server name that the client asked for
	TypeCRC32C    = 0x03 // of the whole header, with this value as zeros
	TypeUniqueID  = 0x05 // names the connection, at most 128 bytes
	TypeSSL       = 0x20 // the client's TLS: see AppendSSL
)

// Within TypeSSL (proxy-protocol.txt, 2.2.5).
const (
	sslOverTLS     = 0x01 // bits of the first byte
	sslCertHere    = 0x02 // a certificate came over this connection
	sslCertSession = 0x04 // or in the TLS session it belongs to

	sslVersion = 0x21
	sslCN      = 0x22
	sslCipher  = 0x23
)

// addressBytes is the length of the addresses of a family.
func addressBytes(family byte) (int, bool) {
	switch family {
	case familyUnspec:
		return 0, true
	case familyStream4, familyDgram4:
		return 2*4 + 2*2, true
	case familyStream6, familyDgram6:
		return 2*16 + 2*2, true
	case familyUnix, familyDgramUx:
		return 2 * 108, true
	}
	return 0, false
}

// parse2 reads a version 2 header.
func parse2(b []byte, h *Header) (int, error) {
	if !startsLike(b, signature) {
		return 0, ErrMissing
	}
	if len(b) < headBytes {
		return 0, nil
	}
	command, family := b[len(signature)], b[len(signature)+1]
	if command != commandLocal && command != commandProxy {
		return 0, ErrVersion
	}
	n := headBytes + int(binary.BigEndian.Uint16(b[len(signature)+2:]))
	if n > BytesMax {
		return 0, ErrTooLong
	}
	if len(b) < n {
		return 0, nil
	}
	h.Version = 2
	if command == commandLocal {
		return n, nil // whatever is in it counts for nothing: health checks
	}
	return n, h.proxied(b[:n:n], family)
}

// proxied reads the addresses and TLVs of the header b.
func (h *Header) proxied(b []byte, family byte) error {
	length, ok := addressBytes(family)
	if !ok {
		return ErrFamily
	}
	if len(b) < headBytes+length {
		return ErrLength
	}
	a := b[headBytes : headBytes+length]
	switch family {
	case familyUnspec:
		return nil // the receiver must skip what follows
	case familyStream4:
		h.Source = netip.AddrPortFrom(netip.AddrFrom4([4]byte(a)), binary.BigEndian.Uint16(a[8:]))
		h.Destination = netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:])), binary.BigEndian.Uint16(a[10:]))
	case familyStream6:
		h.Source = netip.AddrPortFrom(netip.AddrFrom16([16]byte(a)).Unmap(), binary.BigEndian.Uint16(a[32:]))
		h.Destination = netip.AddrPortFrom(netip.AddrFrom16([16]byte(a[16:])).Unmap(), binary.BigEndian.Uint16(a[34:]))
	}
	h.TLVs = b[headBytes+length:]
	return checkTLVs(b, headBytes+length)
}

// checkTLVs walks the TLVs of the header b, which begin at index at: each must
// end within the header, and a checksum must be right.
func checkTLVs(b []byte, at int) error {
	for at < len(b) {
		if len(b)-at < 3 {
			return ErrTLV
		}
		value := at + 3
		next := value + int(binary.BigEndian.Uint16(b[at+1:]))
		if next > len(b) {
			return ErrTLV
		}
		if b[at] == TypeCRC32C {
			if next-value != 4 || binary.BigEndian.Uint32(b[value:]) != checksum(b, value) {
				return ErrChecksum
			}
		}
		at = next
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the CRC32C of b with the four bytes at index at as zeros.
func checksum(b []byte, at int) uint32 {
	var zeros [4]byte
	sum := crc32.Update(0, castagnoli, b[:at])
	sum = crc32.Update(sum, castagnoli, zeros[:])
	return crc32.Update(sum, castagnoli, b[at+4:])
}

// TLV is the value of the first TLV of the given type.
func (h *Header) TLV(kind byte) (value []byte, ok bool) {
	for b := h.TLVs; len(b) >= 3; {
		length := int(binary.BigEndian.Uint16(b[1:]))
		if b[0] == kind {
			return b[3 : 3+length : 3+length], true
		}
		b = b[3+length:]
	}
	return nil, false
}

// AppendTLV appends one TLV to the tlvs of AppendV2. value is shorter than 4 KiB.
func AppendTLV(tlvs []byte, kind byte, value []byte) []byte {
	if len(value) >= BytesMax {
		panic("BUG: proxyproto: TLV longer than a header may be")
	}
	tlvs = append(tlvs, kind)
	tlvs = binary.BigEndian.AppendUint16(tlvs, uint16(len(value)))
	return append(tlvs, value...)
}

// SSL is what AppendSSL tells of a client that came over TLS.
type SSL struct {
	Version    string // such as TLSv1.3
	Cipher     string // as OpenSSL names it, which for TLS 1.3 is the registry's name
	Cert       bool   // the client has shown a certificate, and it was verified
	Resumed    bool   // it did so in the session that this one resumes
	CommonName string // in the certificate; empty: not told
}

// AppendSSL appends the TLV of a client's TLS (proxy-protocol.txt, 2.2.5).
func AppendSSL(tlvs []byte, s SSL) []byte {
	client, verify := byte(sslOverTLS), uint32(1) // 0: a certificate, verified
	if s.Cert {
		client, verify = client|sslCertSession, 0
		if !s.Resumed {
			client |= sslCertHere
		}
	}
	tlvs = append(tlvs, TypeSSL, 0, 0, client)
	value := len(tlvs) - 1
	tlvs = binary.BigEndian.AppendUint32(tlvs, verify)
	tlvs = appendText(tlvs, sslVersion, s.Version)
	tlvs = appendText(tlvs, sslCipher, s.Cipher)
	if s.CommonName != "" {
		tlvs = appendText(tlvs, sslCN, s.CommonName)
	}
	binary.BigEndian.PutUint16(tlvs[value-2:], uint16(len(tlvs)-value))
	return tlvs
}

func appendText(tlvs []byte, kind byte, s string) []byte {
	if len(s) >= BytesMax {
		panic("BUG: proxyproto: text longer than a header may be")
	}
	tlvs = append(tlvs, kind, byte(len(s)>>8), byte(len(s)))
	return append(tlvs, s...)
}

// AppendV2 appends a version 2 header to dst, with TLVs made by AppendTLV (nil:
// none): LOCAL, without TLVs, unless both addresses are valid. Of two families the
// header is for IPv6, with the IPv4 address mapped.
func AppendV2(dst []byte, source, destination netip.AddrPort, tlvs []byte) []byte {
	dst = append(dst, signature...)
	if !source.IsValid() || !destination.IsValid() {
		return append(dst, commandLocal, familyUnspec, 0, 0)
	}
	from, to, six := sameFamily(source.Addr(), destination.Addr())
	family := byte(familyStream4)
	if six {
		family = familyStream6
	}
	length, _ := addressBytes(family)
	length += len(tlvs)
	if headBytes+length > BytesMax {
		panic("BUG: proxyproto: TLVs longer than a header may be")
	}
	dst = append(dst, commandProxy, family)
	dst = binary.BigEndian.AppendUint16(dst, uint16(length))
	if six {
		x, y := from.As16(), to.As16()
		dst = append(append(dst, x[:]...), y[:]...)
	} else {
		x, y := from.As4(), to.As4()
		dst = append(append(dst, x[:]...), y[:]...)
	}
	dst = binary.BigEndian.AppendUint16(dst, source.Port())
	dst = binary.BigEndian.AppendUint16(dst, destination.Port())
	return append(dst, tlvs...)
}
