package ech_test

import (
	"crypto/sha256"
	"math/rand/v2"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// fuzzKey is always the same key, so that a failing input fails again.
func fuzzKey(t testing.TB) *ech.Key {
	t.Helper()
	seed := rand.NewChaCha8(sha256.Sum256([]byte("fuzz")))
	key, err := ech.GenerateKey(ech.KeyParameters{
		PublicName: "public.example", KEM: ech.KEMX25519, Suites: ech.Suites[:1]}, seed)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// FuzzOpen gives arbitrary hellos to a server.
func FuzzOpen(f *testing.F) {
	for _, file := range []string{"server_accept", "server_reject", "server_alert"} {
		for _, v := range readVectors[helloVector](f, "ech/"+file+".json") {
			f.Add([]byte(v.Hello))
		}
	}
	v := readVectors[helloVector](f, "ech/server_accept.json")[0]
	set := keySet(f, v.ServerKeys)
	f.Fuzz(func(t *testing.T, msg []byte) {
		var b ech.Buffers
		outcome, ctx, _, err := attempt(set, msg, &b)
		if (ctx != nil) != (outcome == ech.Accepted && err == nil) {
			t.Errorf("%v, %v with context %v", outcome, err, ctx != nil)
		}
	})
}

// FuzzInner seals arbitrary inner hellos, as a client that knows the config can.
func FuzzInner(f *testing.F) {
	for _, v := range readVectors[capture](f, "clients/captures.json") {
		for _, e := range v.Encoded {
			f.Add([]byte(e))
		}
	}
	f.Add(newInner(outerExtensions(wire.ExtSupportedGroups, wire.ExtKeyShare), schemes).body())
	key := fuzzKey(f)
	set := newSet(f, key)
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if len(encoded) > 60000 {
			return
		}
		msg := newClient(t, &key.Config, ech.Suites[0]).seal(t, newOuter(), encoded)
		outcome, inner, err := openMessage(t, set, msg)
		if outcome != ech.Accepted {
			t.Fatalf("%v, %v", outcome, err)
		}
		if err == nil && len(inner.Raw) >= len(msg) {
			t.Errorf("%d bytes from %d", len(inner.Raw), len(msg))
		}
	})
}

// FuzzParseKeyFile gives arbitrary text to the key file reader.
func FuzzParseKeyFile(f *testing.F) {
	text, err := fuzzKey(f).MarshalKeyFile()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("ECH-Role: decrypt-only\nECH-Not-Before: 2026-12-01T00:00:00Z\n" + string(text)))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ech.ParseKeyFile(text)
		if (len(keys) > 0) == (err != nil) {
			t.Errorf("%d keys, %v", len(keys), err)
		}
	})
}
