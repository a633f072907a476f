package ech_test

import (
	"sync"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// TestSetIsShared opens hellos from several goroutines with one set: run with
// -race, it finds a key that is changed by its first use.
func TestSetIsShared(t *testing.T) {
	for _, kem := range []uint16{ech.KEMX25519, ech.KEMP256} {
		key := generate(t, ech.KeyParameters{KEM: kem})
		text, err := key.MarshalKeyFile()
		if err != nil {
			t.Fatal(err)
		}
		set := fileKeys(t, string(text))
		msg := newClient(t, &key.Config, ech.Suites[0]).seal(t, newOuter(), newInner(groups, keyShare, schemes).body())
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var outer, inner wire.ClientHello
				if err := wire.ParseClientHello(msg, &outer); err != nil {
					t.Error(err)
				}
				if outcome, _, err := set.Open(&outer, &inner, new(ech.Buffers)); outcome != ech.Accepted || err != nil {
					t.Errorf("KEM %#x: %v, %v", kem, outcome, err)
				}
			})
		}
		wg.Wait()
	}
}
