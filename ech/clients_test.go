package ech_test

import (
	"bytes"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// capture is what a real client sent in one connection, up to two hellos, each
// in one record.
type capture struct {
	Client, Label string
	ECH           string // none, grease or real
	Records       []hexBytes
	KeyPEM        string     `json:"ech_key_pem"`
	Encoded       []hexBytes `json:"encoded_inner"`
}

func (c *capture) hello(t testing.TB, i int) *wire.ClientHello {
	t.Helper()
	var h wire.ClientHello
	if err := wire.ParseClientHello(c.Records[i][5:], &h); err != nil {
		t.Fatal(c.Client, c.Label, err)
	}
	return &h
}

func fileKeys(t testing.TB, text string) *ech.Set {
	t.Helper()
	keys, err := ech.ParseKeyFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set, err := ech.NewSet(keys)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestRealClients opens what browsers and libraries sent. Those that were set up
// to offer TLS 1.2 inside are refused (RFC 9849, 7.1).
func TestRealClients(t *testing.T) {
	var b ech.Buffers
	var anyKey *ech.Set
	for _, c := range readVectors[capture](t, "clients/captures.json") {
		name := c.Client + ", " + c.Label
		if c.ECH != "real" {
			continue
		}
		set := fileKeys(t, c.KeyPEM)
		anyKey = set
		var inner wire.ClientHello
		outcome, ctx, err := set.Open(c.hello(t, 0), &inner, &b)
		if c.Label == "inner-offers-tls12" {
			checkAlert(t, name, err, expectation{Alert: "illegal_parameter"})
			continue
		}
		if err != nil || outcome != ech.Accepted {
			t.Errorf("%s: %v, %v", name, outcome, err)
			continue
		}
		checkInner(t, name, &inner, c.Encoded[0])
		if len(c.Records) == 2 {
			var second wire.ClientHello
			if err := ctx.OpenSecond(c.hello(t, 1), &second, &b); err != nil {
				t.Errorf("%s, second: %v", name, err)
				continue
			}
			checkInner(t, name, &second, c.Encoded[1])
		}
	}
	for _, c := range readVectors[capture](t, "clients/captures.json") {
		var inner wire.ClientHello
		want := map[string]ech.Outcome{"grease": ech.Rejected, "none": ech.None}
		if c.ECH == "real" {
			continue
		}
		if outcome, _, err := anyKey.Open(c.hello(t, 0), &inner, &b); err != nil || outcome != want[c.ECH] {
			t.Errorf("%s, %s: %v, %v", c.Client, c.Label, outcome, err)
		}
	}
}

// checkInner compares the parts that the client did not compress: version,
// random, suites.
func checkInner(t *testing.T, name string, inner *wire.ClientHello, encoded []byte) {
	t.Helper()
	if !bytes.Equal(inner.Raw[4:38], encoded[:34]) || !bytes.HasPrefix(encoded[37:], inner.CipherSuites) {
		t.Errorf("%s: inner hello %x does not come from %x", name, inner.Raw, encoded)
	}
	if string(inner.ServerName) != "hidden.example" {
		t.Errorf("%s: inner server name %q", name, inner.ServerName)
	}
}
