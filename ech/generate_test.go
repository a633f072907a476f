package ech_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"edge/ech"
)

// TestGenerate makes keys and checks that what is published is what decrypts.
func TestGenerate(t *testing.T) {
	for _, kem := range []uint16{ech.KEMX25519, ech.KEMP256} {
		key := generate(t, ech.KeyParameters{KEM: kem, MaximumNameLength: 64, Suites: ech.Suites[:2]})
		text, err := ech.Base64ConfigList(key)
		if err != nil {
			t.Fatal(err)
		}
		list, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		configs, err := ech.ParseConfigList(list)
		if err != nil || len(configs) != 1 || configs[0].Usable() != nil {
			t.Fatal(configs, err)
		}
		c := &configs[0]
		if c.KEM != kem || c.MaximumNameLength != 64 || c.PublicName != "public.example" || len(c.Suites) != 2 {
			t.Errorf("%+v", c)
		}
		msg := newClient(t, c, ech.Suites[1]).seal(t, newOuter(), newInner(groups, keyShare, schemes).body())
		if outcome, _, err := openMessage(t, newSet(t, key), msg); outcome != ech.Accepted || err != nil {
			t.Errorf("KEM %#x: %v, %v", kem, outcome, err)
		}
	}
}

// TestGenerateAvoidsIDs: RFC 9849, 4.1 "allocate distinct config_id values for
// each ECHConfig in its known set".
func TestGenerateAvoidsIDs(t *testing.T) {
	var taken []uint8
	for range 256 {
		key := generate(t, ech.KeyParameters{Taken: taken})
		if bytes.IndexByte(taken, key.Config.ID) >= 0 {
			t.Fatalf("config_id %d again", key.Config.ID)
		}
		taken = append(taken, key.Config.ID)
	}
	if _, err := ech.GenerateKey(ech.KeyParameters{KEM: ech.KEMX25519, Suites: ech.Suites, Taken: taken}, rand.Reader); err == nil {
		t.Error("a config_id where none is left")
	}
}

// TestGenerateRefuses what would make a config that nobody can use.
func TestGenerateRefuses(t *testing.T) {
	good := ech.KeyParameters{PublicName: "public.example", KEM: ech.KEMX25519, Suites: ech.Suites}
	for what, change := range map[string]func(*ech.KeyParameters){
		"no name":   func(p *ech.KeyParameters) { p.PublicName = "" },
		"address":   func(p *ech.KeyParameters) { p.PublicName = "192.0.2.1" },
		"long name": func(p *ech.KeyParameters) { p.PublicName = strings.Repeat("a.", 150) + "example" },
		"KEM":       func(p *ech.KeyParameters) { p.KEM = 0x21 },
		"no suite":  func(p *ech.KeyParameters) { p.Suites = nil },
		"suite":     func(p *ech.KeyParameters) { p.Suites = []ech.Suite{{KDF: 2, AEAD: 1}} },
	} {
		p := good
		change(&p)
		if key, err := ech.GenerateKey(p, rand.Reader); err == nil {
			t.Errorf("%s: %v", what, key)
		}
	}
	for n := range 33 {
		if _, err := ech.GenerateKey(good, bytes.NewReader(make([]byte, n))); err == nil {
			t.Errorf("a key from %d random bytes", n)
		}
	}
}

// TestKeyMustFit: a private key of another config is refused, and so are too many
// keys.
func TestKeyMustFit(t *testing.T) {
	a, b := generate(t, ech.KeyParameters{}), generate(t, ech.KeyParameters{})
	if _, err := ech.NewKey(a.Config.Raw, privateBytes(t, b)); err == nil {
		t.Error("key of another config")
	}
	if _, err := ech.NewKey(a.Config.Raw, []byte{1}); err == nil {
		t.Error("key of one byte")
	}
	if _, err := ech.NewSet(make([]*ech.Key, ech.KeysMax+1)); err == nil {
		t.Error("too many keys")
	}
}
