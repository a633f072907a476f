package ja4_test

import (
	"testing"

	"edge/ja4"
	"edge/tlsstack/wire"
)

// TestAmbiguous holds the choices that the package comment states.
func TestAmbiguous(t *testing.T) {
	chosen := map[string]string{
		"alpn-first-grease":              "hex rule on the first value",
		"supported-versions-grease-only": "unknown -> 00",
		"ja4-o-only-sni":                 "hash",
	}
	var h ja4.Hello
	for _, v := range vectors(t, "ambiguous.json") {
		want := v.Options[chosen[v.Name]]
		if err := h.Read(unhex(t, v.Hello)); err != nil || want == "" {
			t.Fatal(v.Name, err)
		}
		got := h.JA4(ja4.TCP)
		if v.Name == "ja4-o-only-sni" {
			got = h.JA4O(ja4.TCP)
		}
		compare(t, v.Name, got.String(), want)
	}
}

// TestFragmentedRecords joins what several records carry: the fingerprint is of
// the message, not of its packing.
func TestFragmentedRecords(t *testing.T) {
	var h ja4.Hello
	for _, v := range vectors(t, "fragmented_records.json") {
		var msg []byte
		for stream := unhex(t, v.Records); len(stream) > 0; {
			n := 5 + int(stream[3])<<8 + int(stream[4])
			msg = append(msg, stream[5:n]...)
			stream = stream[n:]
		}
		if err := h.Read(msg); err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		compare(t, v.Name, h.JA4(ja4.TCP).String(), v.JA4)
	}
}

// hello builds a ClientHello from suites and extensions.
type hello struct {
	suites     []uint16
	extensions []extension
}

type extension struct {
	typ  wire.ExtensionType
	body []byte
}

func (h hello) message() []byte {
	body := append([]byte{3, 3}, make([]byte, 33)...)
	body = append(body, byte(len(h.suites)>>7), byte(len(h.suites)<<1))
	for _, s := range h.suites {
		body = append(body, byte(s>>8), byte(s))
	}
	body = append(body, 1, 0)
	var block []byte
	for _, e := range h.extensions {
		block = append(block, byte(e.typ>>8), byte(e.typ), byte(len(e.body)>>8), byte(len(e.body)))
		block = append(block, e.body...)
	}
	body = append(append(body, byte(len(block)>>8), byte(len(block))), block...)
	return append([]byte{1, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

func (h hello) ja4(t *testing.T) string {
	t.Helper()
	var parsed ja4.Hello
	if err := parsed.Read(h.message()); err != nil {
		t.Fatal(err)
	}
	return parsed.JA4(ja4.TCP).String()
}

// TestProtocolCharacters runs the rule for the two ALPN characters over names
// that are not letters and digits at both ends (J01).
func TestProtocolCharacters(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"\xab", "ab"}, {"\x20", "20"}, {"z", "zz"}, {"\xab\xcd", "ad"}, {"\x20a", "21"},
		{"0\xab", "3b"}, {"a\x20", "60"}, {"01\xab\xcd", "3d"}, {"0\xab\xcd1", "01"},
		{"__", "5f"}, {"", "00"}, {"http/1.1", "h1"}, {"h2", "h2"},
	} {
		list := append([]byte{0, byte(len(c.name) + 1), byte(len(c.name))}, c.name...)
		got := hello{extensions: []extension{{wire.ExtALPN, list}}}.ja4(t)
		compare(t, c.name, got[8:10], c.want)
	}
	compare(t, "no ALPN", hello{}.ja4(t)[8:10], "00")
}

// TestGREASELookalikes drops the sixteen values of RFC 8701 and no others (J02).
func TestGREASELookalikes(t *testing.T) {
	base := hello{
		suites: []uint16{0x1301},
		extensions: []extension{
			{wire.ExtSignatureAlgorithms, []byte{0, 2, 4, 3}},
			{wire.ExtSupportedVersions, []byte{2, 3, 4}},
		},
	}
	grease := hello{
		suites: []uint16{0x1301},
		extensions: []extension{
			{wire.ExtSignatureAlgorithms, []byte{0, 4, 0x1a, 0x1a, 4, 3}},
			{wire.ExtSupportedVersions, []byte{4, 0xfa, 0xfa, 3, 4}},
		},
	}
	for i := range uint16(16) {
		grease.suites = append(grease.suites, 0x0a0a+i*0x1010)
		grease.extensions = append(grease.extensions, extension{wire.ExtensionType(0x0a0a + i*0x1010), nil})
	}
	compare(t, "GREASE", grease.ja4(t), base.ja4(t))

	for i, v := range []uint16{0x0a1a, 0x1a0a, 0x0aaa, 0xaa0a, 0x2a3a} {
		base.suites = append(base.suites, v)
		base.extensions = append(base.extensions, extension{wire.ExtensionType(v), nil})
		n := string(rune('2' + i))
		m := string(rune('3' + i))
		compare(t, "look-alike", base.ja4(t)[4:8], "0"+n+"0"+m)
	}
}

// TestCut cuts every captured hello at every byte.
func TestCut(t *testing.T) {
	var h ja4.Hello
	for _, v := range vectors(t, "pcap_tcp.json") {
		msg := unhex(t, v.Hello)
		for n := range msg {
			if err := h.Read(msg[:n]); err == nil {
				t.Fatalf("%s cut at %d was read", v.Name, n)
			}
		}
	}
}

// TestAllocatesNothing covers all four forms in reused memory.
func TestAllocatesNothing(t *testing.T) {
	var h ja4.Hello
	var raw []byte
	msg := unhex(t, vectors(t, "pcap_tcp.json")[0].Hello)
	run := func() {
		if h.Read(msg) != nil || h.JA4(ja4.TCP) == h.JA4O(ja4.TCP) {
			t.Fatal("read")
		}
		raw = h.AppendJA4R(raw[:0], ja4.TCP)
		raw = h.AppendJA4RO(raw[:0], ja4.TCP)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRead(f *testing.F) {
	for _, file := range []string{"pcap_tcp.json", "synthetic.json", "ambiguous.json"} {
		for _, v := range vectors(f, file) {
			f.Add(unhex(f, v.Hello))
		}
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var h ja4.Hello
		if h.Read(msg) != nil {
			return
		}
		sum, raw := h.JA4(ja4.TCP), h.AppendJA4R(nil, ja4.TCP)
		if string(sum[:11]) != string(raw[:11]) {
			t.Errorf("%s and %s differ in part a", sum, raw)
		}
		for _, c := range sum {
			if c < '0' || c > 'z' {
				t.Errorf("%q is not text", sum)
			}
		}
	})
}

func BenchmarkJA4(b *testing.B) {
	var h ja4.Hello
	msg := unhex(b, vectors(b, "pcap_tcp.json")[0].Hello)
	for b.Loop() {
		if h.Read(msg) != nil {
			b.Fatal("read")
		}
		h.JA4(ja4.TCP)
	}
}
