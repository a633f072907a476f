package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vectorHello is one ClientHello out of testvectors.
type vectorHello struct {
	name string
	msg  []byte
}

// validHellos returns every ClientHello of testvectors that must parse.
func validHellos(t testing.TB) []vectorHello {
	t.Helper()
	hellos := capturedHellos(t)
	for _, f := range []string{"ech/server_accept.json", "ech/server_reject.json", "ech/server_hrr.json",
		"ja4/pcap_tcp.json", "ja4/pcap_quic.json"} {
		hellos = append(hellos, listedHellos(t, f)...)
	}
	return hellos
}

// listedHellos reads a JSON file that lists objects with a name and one or two
// hellos.
func listedHellos(t testing.TB, path string) []vectorHello {
	t.Helper()
	var entries []struct {
		Name   string
		Hello  string `json:"client_hello_hex"`
		Hello2 string `json:"client_hello2_hex"`
		Inner  struct {
			Hello string `json:"inner_client_hello_hex"`
		} `json:"expect"`
	}
	readJSON(t, path, &entries)
	var hellos []vectorHello
	for _, e := range entries {
		for _, h := range []string{e.Hello, e.Hello2, e.Inner.Hello} {
			if h != "" {
				hellos = append(hellos, vectorHello{path + " " + e.Name, unhex(t, h)})
			}
		}
	}
	if len(hellos) == 0 {
		t.Fatalf("%s: no hellos", path)
	}
	return hellos
}

// capturedHellos reads the hellos that real clients sent. Each came in one
// record.
func capturedHellos(t testing.TB) []vectorHello {
	t.Helper()
	var entries []struct {
		Client, Label string
		Records       []string
	}
	readJSON(t, "clients/captures.json", &entries)
	var hellos []vectorHello
	for _, e := range entries {
		for _, r := range e.Records {
			hellos = append(hellos, vectorHello{e.Client + " " + e.Label, unhex(t, r)[5:]})
		}
	}
	return hellos
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testvectors", path))
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
