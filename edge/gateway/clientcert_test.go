package gateway

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"
)

// A subject is one line of printable ASCII, whatever a certificate holds, and
// names nobody else when it is long.
func TestSubjects(t *testing.T) {
	common := asn1.ObjectIdentifier{2, 5, 4, 3}
	long := strings.Repeat("a", subjectBytesMax)
	for _, c := range []struct {
		value, want string
	}{
		{"anna", "CN=anna"},
		{"Müller, A", `CN=M\C3\BCller\, A`},
		{"a\r\nX-Admin: 1", `CN=a\0D\0AX-Admin: 1`},
		{"a\x00b\x7f", `CN=a\00b\7F`},
		{long[:subjectBytesMax-3], "CN=" + long[:subjectBytesMax-3]},
		{long, ""},
	} {
		der, err := asn1.Marshal(pkix.RDNSequence{{{Type: common, Value: asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(c.value)}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendSubject([]byte("> "), der)); got != "> "+c.want {
			t.Errorf("%.40q: %.80q, want %.80q", c.value, got, c.want)
		}
	}
	if got := appendSubject(nil, []byte{0x30, 5}); len(got) != 0 {
		t.Errorf("of what is no name: %q", got)
	}
}
