package ja4_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"edge/ja4"
)

// vector is one hello with its fingerprints.
type vector struct {
	Name      string
	Transport string
	Hello     string `json:"client_hello_hex"`
	Records   string `json:"records_hex"`
	JA4       string
	JA4R      string `json:"ja4_r"`
	JA4O      string `json:"ja4_o"`
	JA4RO     string `json:"ja4_ro"`
	Options   map[string]string
}

func (v *vector) transport() ja4.Transport {
	if v.Transport == "quic" {
		return ja4.QUIC
	}
	return ja4.TCP
}

func vectors(t testing.TB, file string) []vector {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../testvectors/ja4", file))
	var list []vector
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatal(file, err)
	}
	return list
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVectors compares all four forms with the captures' and the hand-made
// hellos', which are listed by the sentence of the specification they test: counts,
// absences and order among them (J03).
func TestVectors(t *testing.T) {
	var h ja4.Hello
	for _, file := range []string{"pcap_tcp.json", "pcap_quic.json", "synthetic.json"} {
		for _, v := range vectors(t, file) {
			if err := h.Read(unhex(t, v.Hello)); err != nil {
				t.Errorf("%s: %v", v.Name, err)
				continue
			}
			tr := v.transport()
			compare(t, v.Name+" ja4", h.JA4(tr).String(), v.JA4)
			compare(t, v.Name+" ja4_o", h.JA4O(tr).String(), v.JA4O)
			compare(t, v.Name+" ja4_r", string(h.AppendJA4R(nil, tr)), v.JA4R)
			compare(t, v.Name+" ja4_ro", string(h.AppendJA4RO(nil, tr)), v.JA4RO)
		}
	}
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}
