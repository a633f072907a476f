package proxyproto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// v2 builds a header by hand: command, family, addresses and TLVs as they are.
func v2(command, family byte, rest string) string {
	return signature + string([]byte{command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

const (
	addresses4 = "\xc0\x00\x02\x01\xc6\x33\x64\x01\xdc\x04\x01\xbb" // 192.0.2.1:56324 198.51.100.1:443
	hello      = "\x16\x03\x01\x02\x00"                             // what follows: a TLS record
)

var (
	addresses6 = strings.Repeat("\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07", 2) + "\xdc\x04\x01\xbb"
	mapped6    = strings.Repeat("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xc0\x00\x02\x01", 2) + "\xdc\x04\x01\xbb"
	unix       = strings.Repeat("\x00", 216)
)

// withChecksum appends a CRC32C to a header whose length allows for it, off by wrong.
func withChecksum(wrong uint32) string {
	h := []byte(v2(commandProxy, familyStream4, addresses4+"\x03\x00\x04\x00\x00\x00\x00"))
	binary.BigEndian.PutUint32(h[len(h)-4:], checksum(h, len(h)-4)+wrong)
	return string(h)
}

var cases = []struct {
	name, in, source string // source: empty if left open
	err              error
}{
	{"v1 TCP4", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "192.0.2.1:56324", nil},
	{"v1 TCP6", "PROXY TCP6 2001:db8::7 2001:db8::8 56324 443\r\n", "[2001:db8::7]:56324", nil},
	{"v1 TCP6 mapped", "PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 56324 443\r\n", "192.0.2.1:56324", nil},
	{"v1 longest", "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
		"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", nil},
	{"v1 UNKNOWN", "PROXY UNKNOWN\r\n", "", nil},
	{"v1 UNKNOWN and more", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "", nil},
	{"v1 port 0", "PROXY TCP4 192.0.2.1 198.51.100.1 0 0\r\n", "192.0.2.1:0", nil},
	{"v1 UNKNOWNX", "PROXY UNKNOWNX\r\n", "", ErrMalformed},
	{"v1 UDP4", "PROXY UDP4 192.0.2.1 198.51.100.1 56324 443\r\n", "", ErrMalformed},
	{"v1 families mixed", "PROXY TCP4 2001:db8::7 2001:db8::8 56324 443\r\n", "", ErrMalformed},
	{"v1 IPv4 as TCP6", "PROXY TCP6 192.0.2.1 198.51.100.1 56324 443\r\n", "", ErrMalformed},
	{"v1 zone", "PROXY TCP6 fe80::1%eth0 fe80::2 56324 443\r\n", "", ErrMalformed},
	{"v1 leading zero", "PROXY TCP4 192.0.2.01 198.51.100.1 56324 443\r\n", "", ErrMalformed},
	{"v1 port with zero", "PROXY TCP4 192.0.2.1 198.51.100.1 056324 443\r\n", "", ErrMalformed},
	{"v1 port with sign", "PROXY TCP4 192.0.2.1 198.51.100.1 +1 443\r\n", "", ErrMalformed},
	{"v1 port too large", "PROXY TCP4 192.0.2.1 198.51.100.1 65536 443\r\n", "", ErrMalformed},
	{"v1 no ports", "PROXY TCP4 192.0.2.1 198.51.100.1\r\n", "", ErrMalformed},
	{"v1 two blanks", "PROXY TCP4  192.0.2.1 198.51.100.1 56324 443\r\n", "", ErrMalformed},
	{"v1 more at the end", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 \r\n", "", ErrMalformed},
	{"v1 bare LF", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\n", "", ErrMalformed},
	{"v1 empty", "PROXY \r\n", "", ErrMalformed},
	{"v1 too long", "PROXY UNKNOWN " + strings.Repeat("x", 107), "", ErrTooLong},
	{"v1 in lower case", "proxy TCP4 192.0.2.1 198.51.100.1 56324 443\r\n", "", ErrMissing},
	{"missing, POST", "POST / HTTP/1.1\r\n", "", ErrMissing},
	{"missing, TLS", hello, "", ErrMissing},
	{"missing, empty lines", "\r\n\r\nGET / HTTP/1.1\r\n", "", ErrMissing},

	{"v2 TCP4", v2(commandProxy, familyStream4, addresses4), "192.0.2.1:56324", nil},
	{"v2 TCP6", v2(commandProxy, familyStream6, addresses6), "[2001:db8::7]:56324", nil},
	{"v2 TCP6 mapped", v2(commandProxy, familyStream6, mapped6), "192.0.2.1:56324", nil},
	{"v2 LOCAL", v2(commandLocal, familyUnspec, ""), "", nil},
	{"v2 LOCAL with addresses", v2(commandLocal, familyStream4, addresses4), "", nil},
	{"v2 LOCAL with nonsense", v2(commandLocal, 0xff, "xyz"), "", nil},
	{"v2 UNSPEC", v2(commandProxy, familyUnspec, ""), "", nil},
	{"v2 UNSPEC with addresses", v2(commandProxy, familyUnspec, addresses4), "", nil},
	{"v2 unix", v2(commandProxy, familyUnix, unix), "", nil},
	{"v2 UDP", v2(commandProxy, familyDgram4, addresses4), "", nil},
	{"v2 length 11 for IPv4", v2(commandProxy, familyStream4, addresses4[:11]), "", ErrLength},
	{"v2 length 35 for IPv6", v2(commandProxy, familyStream6, addresses6[:35]), "", ErrLength},
	{"v2 length 215 for unix", v2(commandProxy, familyUnix, unix[:215]), "", ErrLength},
	{"v2 length 65535", signature + "\x21\x11\xff\xff" + addresses4, "", ErrTooLong},
	{"v2 version 1", v2(0x11, familyStream4, addresses4), "", ErrVersion},
	{"v2 version 3", v2(0x31, familyStream4, addresses4), "", ErrVersion},
	{"v2 command 2", v2(0x22, familyStream4, addresses4), "", ErrVersion},
	{"v2 family 4", v2(commandProxy, 0x41, addresses4), "", ErrFamily},
	{"v2 protocol open", v2(commandProxy, 0x10, addresses4), "", ErrFamily},
	{"v2 protocol 3", v2(commandProxy, 0x13, addresses4), "", ErrFamily},
	{"v2 TLVs", v2(commandProxy, familyStream4, addresses4+"\x04\x00\x02\x00\x00\x02\x00\x01a\xee\x00\x00\x20\x00\x05\x01\x00\x00\x00\x00"), "192.0.2.1:56324", nil},
	{"v2 TLV past the end", v2(commandProxy, familyStream4, addresses4+"\x04\x00\x03\x00\x00"), "", ErrTLV},
	{"v2 half a TLV", v2(commandProxy, familyStream4, addresses4+"\x04\x00"), "", ErrTLV},
	{"v2 checksum", withChecksum(0), "192.0.2.1:56324", nil},
	{"v2 wrong checksum", withChecksum(1), "", ErrChecksum},
	{"v2 checksum of three bytes", v2(commandProxy, familyStream4, addresses4+"\x03\x00\x03\x00\x00\x00"), "", ErrChecksum},
}

func TestParse(t *testing.T) {
	for _, c := range cases {
		in := []byte(c.in + hello)
		var h Header
		n, err := Parse(in, &h)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.err)
			continue
		}
		if err == nil && n != len(c.in) {
			t.Errorf("%s: n = %d, want %d", c.name, n, len(c.in))
		}
		if c.source == "" && h.Source.IsValid() || c.source != "" && h.Source.String() != c.source {
			t.Errorf("%s: source %v, want %q", c.name, h.Source, c.source)
		}
		if h.Source.IsValid() != h.Destination.IsValid() {
			t.Errorf("%s: destination %v", c.name, h.Destination)
		}
	}
}

// TestParseGrowing has each case come byte by byte: until the result of the whole
// comes, more is asked for.
func TestParseGrowing(t *testing.T) {
	for _, c := range cases {
		in := []byte(c.in + hello)
		var whole, h Header
		wantN, wantErr := Parse(in, &whole)
		n, err := 0, error(nil)
		for end := 0; n == 0 && err == nil && end <= len(in); end++ {
			n, err = Parse(bytes.Clone(in[:end]), &h)
		}
		if n != wantN || err != wantErr || h.Source != whole.Source || h.Destination != whole.Destination || !bytes.Equal(h.TLVs, whole.TLVs) {
			t.Errorf("%s: byte by byte %d %v %+v, whole %d %v %+v", c.name, n, err, h, wantN, wantErr, whole)
		}
	}
}

func TestAppend(t *testing.T) {
	four, six := netip.MustParseAddrPort("192.0.2.1:56324"), netip.MustParseAddrPort("[2001:db8::7]:443")
	mapped := netip.AddrPortFrom(netip.MustParseAddr("::ffff:192.0.2.1"), 56324)
	zoned := netip.MustParseAddrPort("[fe80::1%eth0]:1")
	tlvs := AppendTLV(AppendTLV(nil, TypeAuthority, []byte("a.example")), TypeUniqueID, []byte("id"))
	for _, c := range []struct {
		source, destination netip.AddrPort
		v1                  string
		wantSource          netip.AddrPort
	}{
		{four, four, "PROXY TCP4 192.0.2.1 192.0.2.1 56324 56324\r\n", four},
		{six, six, "PROXY TCP6 2001:db8::7 2001:db8::7 443 443\r\n", six},
		{four, six, "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::7 56324 443\r\n", four},
		{mapped, four, "PROXY TCP4 192.0.2.1 192.0.2.1 56324 56324\r\n", four},
		{zoned, six, "PROXY TCP6 fe80::1 2001:db8::7 1 443\r\n", netip.MustParseAddrPort("[fe80::1]:1")},
		{netip.AddrPort{}, four, "PROXY UNKNOWN\r\n", netip.AddrPort{}},
		{four, netip.AddrPort{}, "PROXY UNKNOWN\r\n", netip.AddrPort{}},
	} {
		v1 := AppendV1([]byte("x"), c.source, c.destination)[1:]
		if string(v1) != c.v1 {
			t.Errorf("%q, want %q", v1, c.v1)
		}
		for _, made := range [][]byte{v1, AppendV2(nil, c.source, c.destination, tlvs)} {
			var h Header
			n, err := Parse(made, &h)
			if n != len(made) || err != nil || h.Source != c.wantSource {
				t.Errorf("%q: n = %d, error %v, source %v, want %v", made, n, err, h.Source, c.wantSource)
			}
			name, ok := h.TLV(TypeAuthority)
			if want := h.Version == 2 && c.wantSource.IsValid(); ok != want || ok && string(name) != "a.example" {
				t.Errorf("%q: authority %q", made, name)
			}
			if _, ok := h.TLV(TypeALPN); ok {
				t.Errorf("%q has an ALPN", made)
			}
		}
	}
}

// TestSSL holds AppendSSL against the layout of the specification.
func TestSSL(t *testing.T) {
	for want, c := range map[string]SSL{
		"\x20\x00\x13\x01\x00\x00\x00\x01\x21\x00\x07TLSv1.3\x23\x00\x01C":               {Version: "TLSv1.3", Cipher: "C"},
		"\x20\x00\x18\x07\x00\x00\x00\x00\x21\x00\x07TLSv1.3\x23\x00\x01C\x22\x00\x02me": {Version: "TLSv1.3", Cipher: "C", Cert: true, CommonName: "me"},
		"\x20\x00\x13\x05\x00\x00\x00\x00\x21\x00\x07TLSv1.3\x23\x00\x01C":               {Version: "TLSv1.3", Cipher: "C", Cert: true, Resumed: true},
	} {
		if got := string(AppendSSL([]byte("x"), c)); got != "x"+want {
			t.Errorf("%+v: % x, want % x", c, got[1:], want)
		}
	}
}

// TestReferenceBytes holds AppendV2 against the layout of the specification.
func TestReferenceBytes(t *testing.T) {
	source, destination := netip.MustParseAddrPort("192.0.2.1:56324"), netip.MustParseAddrPort("198.51.100.1:443")
	want := "\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21\x11\x00\x0c" + addresses4
	if got := AppendV2(nil, source, destination, nil); string(got) != want {
		t.Errorf("% x, want % x", got, want)
	}
	if got := AppendV2(nil, netip.AddrPort{}, netip.AddrPort{}, nil); string(got) != want[:12]+"\x20\x00\x00\x00" {
		t.Errorf("LOCAL is % x", got)
	}
}

func TestAllocatesNothing(t *testing.T) {
	source, destination := netip.MustParseAddrPort("192.0.2.1:56324"), netip.MustParseAddrPort("198.51.100.1:443")
	b := make([]byte, 0, 256)
	var h Header
	if n := testing.AllocsPerRun(100, func() {
		b = AppendV1(b[:0], source, destination)
		if _, err := Parse(b, &h); err != nil {
			t.Fatal(err)
		}
		b = AppendV2(b[:0], source, destination, nil)
		if _, err := Parse(b, &h); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the line of version 1 is made a string once
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.in+hello), uint16(5))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		var h, part Header
		n, err := Parse(in, &h)
		if n < 0 || n > len(in) || n > BytesMax || n > 0 && err != nil {
			t.Fatalf("n = %d, error %v", n, err)
		}
		if m, e := Parse(in[:int(cut)%(len(in)+1)], &part); (m != 0 || e != nil) && (m != n || e != err) {
			t.Fatalf("a part gives %d %v, the whole %d %v", m, e, n, err)
		}
		if n == 0 && err == nil && len(in) >= BytesMax {
			t.Fatalf("asks for more than %d bytes", len(in))
		}
		if n == 0 || !h.Source.IsValid() {
			return
		}
		var again Header
		made := AppendV2(nil, h.Source, h.Destination, h.TLVs[:0])
		if _, err := Parse(made, &again); err != nil || again.Source != h.Source || again.Destination != h.Destination {
			t.Fatalf("%v %v came back as %v %v, %v", h.Source, h.Destination, again.Source, again.Destination, err)
		}
	})
}
