package ech_test

import (
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// BenchmarkOpen opens a browser's hello: what accepted ECH adds to a handshake,
// parsing of the outer hello not counted.
func BenchmarkOpen(b *testing.B) {
	for _, c := range readVectors[capture](b, "clients/captures.json") {
		if c.Client == "chromium" && c.Label == "accept" {
			benchmarkOpen(b, fileKeys(b, c.KeyPEM), c.hello(b, 0), ech.Accepted)
			return
		}
	}
	b.Fatal("no such capture")
}

// BenchmarkOpenP256 does the same with the other KEM.
func BenchmarkOpenP256(b *testing.B) {
	key := generate(b, ech.KeyParameters{KEM: ech.KEMP256})
	msg := newClient(b, &key.Config, ech.Suites[0]).seal(b, newOuter(), newInner(groups, keyShare, schemes).body())
	var outer wire.ClientHello
	if err := wire.ParseClientHello(msg, &outer); err != nil {
		b.Fatal(err)
	}
	benchmarkOpen(b, newSet(b, key), &outer, ech.Accepted)
}

// BenchmarkDecline is GREASE with a config_id that is not ours.
func BenchmarkDecline(b *testing.B) {
	for _, c := range readVectors[capture](b, "clients/captures.json") {
		if c.ECH == "grease" {
			benchmarkOpen(b, nil, c.hello(b, 0), ech.Rejected)
			return
		}
	}
	b.Fatal("no such capture")
}

func benchmarkOpen(b *testing.B, set *ech.Set, outer *wire.ClientHello, want ech.Outcome) {
	var buf ech.Buffers
	var inner wire.ClientHello
	b.ReportAllocs()
	for b.Loop() {
		if outcome, _, err := set.Open(outer, &inner, &buf); outcome != want || err != nil {
			b.Fatal(outcome, err)
		}
	}
}
