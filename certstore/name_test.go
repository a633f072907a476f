package certstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// nameTests are spellings of host names in SNI and their normal form, or why they
// have none.
var nameTests = []struct {
	raw, want string
	err       error
}{
	{"a.example", "a.example", nil},
	{"A.Example", "a.example", nil},
	{"a.example.", "a.example", nil},
	{"localhost", "localhost", nil},
	{"foo_bar.example", "foo_bar.example", nil},
	{"_acme-challenge.example", "_acme-challenge.example", nil},
	{"r3---sn-abc.example", "r3---sn-abc.example", nil},
	{"-a-.example", "-a-.example", nil},
	{"xn--bcher-kva.example", "xn--bcher-kva.example", nil},
	{"XN--BCHER-KVA.example", "xn--bcher-kva.example", nil},
	{"bücher.example", "xn--bcher-kva.example", nil},
	{"BÜCHER.Example.", "xn--bcher-kva.example", nil},
	{"bu\u0308cher.example", "xn--bcher-kva.example", nil},
	{"bücher。example", "xn--bcher-kva.example", nil},
	{"bücher_x.example", "xn--bcher_x-n2a.example", nil},
	{"4.example", "4.example", nil},
	{"1.2.3.4.example", "1.2.3.4.example", nil},
	{"web.1a", "web.1a", nil},
	{"0xfg", "0xfg", nil},
	{strings.Repeat("a", 63) + ".example", strings.Repeat("a", 63) + ".example", nil},
	{strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "a", nil},
	{strings.Repeat("a.", 126) + "a.", strings.Repeat("a.", 126) + "a", nil},

	{"", "", ErrNameEmpty},
	{".", "", ErrNameEmpty},
	{"\u3002", "", ErrNameEmpty},

	{"192.0.2.1", "", ErrNameAddress},
	{"192.0.2.1.", "", ErrNameAddress},
	{"127.1", "", ErrNameAddress},
	{"2130706433", "", ErrNameAddress},
	{"0x7f.1", "", ErrNameAddress},
	{"0X7F000001", "", ErrNameAddress},
	{"999.0.2.1", "", ErrNameAddress},
	{"１９２.0.2.1", "", ErrNameAddress},
	{"::1", "", ErrNameAddress},
	{"2001:db8::192.0.2.1", "", ErrNameAddress},
	{"fe80::1%eth0", "", ErrNameAddress},

	{"a..example", "", ErrNameSyntax},
	{"a.example..", "", ErrNameSyntax},
	{".example", "", ErrNameSyntax},
	{"*.example", "", ErrNameSyntax},
	{"a b.example", "", ErrNameSyntax},
	{" a.example", "", ErrNameSyntax},
	{"a.example\x00", "", ErrNameSyntax},
	{"a/../b", "", ErrNameSyntax},
	{"../../etc/passwd", "", ErrNameSyntax},
	{"..", "", ErrNameSyntax},
	{"%2e%2e", "", ErrNameSyntax},
	{"a.example:443", "", ErrNameSyntax},
	{"[::1]", "", ErrNameSyntax},
	{"::g", "", ErrNameSyntax},
	{"b\xfccher.example", "", ErrNameSyntax},
	{"a\u200d.example", "", ErrNameSyntax},
	{"\u2f3f", "", nil}, // some mapping or other: must not crash

	{strings.Repeat("a", 64) + ".example", "", ErrNameLength},
	{"a." + strings.Repeat("b", 64), "", ErrNameLength},
	{strings.Repeat("a.", 127) + "a", "", ErrNameLength},
	{strings.Repeat("a", 254), "", ErrNameLength},
	{strings.Repeat("a", 65535), "", ErrNameLength},
	{strings.Repeat("ü", 60000), "", ErrNameLength},
	{strings.Repeat("ü", 100), "", ErrNameLength},
}

func TestAppendName(t *testing.T) {
	for _, test := range nameTests {
		got, err := AppendName([]byte("x"), []byte(test.raw))
		if !errors.Is(err, test.err) {
			t.Errorf("%.80q: error %v, want %v", test.raw, err, test.err)
		}
		if test.want == "" && test.err == nil {
			continue
		}
		if want := "x" + test.want; string(got) != want {
			t.Errorf("%.80q: got %.80q, want %.80q", test.raw, got, want)
		}
	}
}

func TestAppendHost(t *testing.T) {
	tests := []struct {
		host, want string
		err        error
	}{
		{"a.example", "a.example", nil},
		{"A.example:8443", "a.example", nil},
		{"a.example.:443", "a.example", nil},
		{"a.example:", "a.example", nil},
		{"a.example:65535", "a.example", nil},
		{"bücher.example:80", "xn--bcher-kva.example", nil},
		{"192.0.2.1:80", "", ErrNameAddress},
		{"[::1]", "", ErrNameAddress},
		{"[::1]:8080", "", ErrNameAddress},
		{"[2001:db8::1]:", "", ErrNameAddress},

		{"", "", ErrNameEmpty},
		{":80", "", ErrNameEmpty},
		{"::1", "", ErrNameSyntax},
		{"[::1", "", ErrNameSyntax},
		{"[::1]x", "", ErrNameSyntax},
		{"[::1]:x", "", ErrNameSyntax},
		{"[192.0.2.1]", "", ErrNameSyntax},
		{"[a.example]", "", ErrNameSyntax},
		{"[]", "", ErrNameSyntax},
		{"[", "", ErrNameSyntax},
		{"a.example:65536", "", ErrNameSyntax},
		{"a.example:-1", "", ErrNameSyntax},
		{"a.example:80:80", "", ErrNameSyntax},
		{"a.example:000080", "", ErrNameSyntax},
		{"user@a.example", "", ErrNameSyntax},
		{"a.example, b.example", "", ErrNameSyntax},
	}
	for _, test := range tests {
		got, err := AppendHost(nil, []byte(test.host))
		if string(got) != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q: got %q, %v; want %q, %v", test.host, got, err, test.want, test.err)
		}
	}
}

// TestHostAgreesWithName holds what the two readings of a name must have in
// common: TLS and HTTP may not tell one name for another.
func TestHostAgreesWithName(t *testing.T) {
	for _, test := range nameTests {
		if strings.ContainsAny(test.raw, ":[") {
			continue
		}
		name, nameErr := AppendName(nil, []byte(test.raw))
		host, hostErr := AppendHost(nil, []byte(test.raw+":443"))
		if !bytes.Equal(name, host) || nameErr != hostErr {
			t.Errorf("%.80q: name %q, %v; host %q, %v", test.raw, name, nameErr, host, hostErr)
		}
	}
}

func TestNamesDoNotAllocate(t *testing.T) {
	names := [][]byte{[]byte("A.Example."), []byte("192.0.2.1"), []byte("a..b"), nil, bytes.Repeat([]byte("a"), 300)}
	host := []byte("a.example:443")
	var scratch [NameBytesMax]byte
	allocs := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			AppendName(scratch[:0], name)
		}
		if _, err := AppendHost(scratch[:0], host); err != nil {
			t.Error(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func FuzzAppendName(f *testing.F) {
	for _, test := range nameTests {
		if len(test.raw) < 1000 {
			f.Add([]byte(test.raw))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		name, err := AppendName([]byte("x"), raw)
		if err != nil {
			if string(name) != "x" {
				t.Fatalf("%q: error %v and the name %q", raw, err, name)
			}
			return
		}
		name = name[1:]
		if len(name) == 0 || len(name) > NameBytesMax || bytes.ContainsAny(name, "/\\%:\x00* ") || bytes.Contains(name, []byte("..")) {
			t.Fatalf("%q became %q", raw, name)
		}
		again, err := AppendName(nil, name)
		if err != nil || !bytes.Equal(again, name) {
			t.Fatalf("%q became %q, and that became %q, %v", raw, name, again, err)
		}
		host, err := AppendHost(nil, append(bytes.Clone(name), ":443"...))
		if err != nil || !bytes.Equal(host, name) {
			t.Fatalf("%q is another host, %q, %v", name, host, err)
		}
	})
}
