package ech_test

import (
	"bytes"
	"testing"

	"github.com/cloudflare/circl/hpke"
)

// TestHPKEVectors checks the library that is linked, on what is used of it: base
// mode of RFC 9180, setting up a receiver and opening in sequence.
func TestHPKEVectors(t *testing.T) {
	type vector struct {
		KEM         uint16   `json:"kem_id"`
		KDF         uint16   `json:"kdf_id"`
		AEAD        uint16   `json:"aead_id"`
		Info        hexBytes `json:"info"`
		PrivateKey  hexBytes `json:"skRm"`
		Enc         hexBytes `json:"enc"`
		Encryptions []struct {
			Sequence   int
			Plaintext  hexBytes `json:"pt"`
			AAD        hexBytes `json:"aad"`
			Ciphertext hexBytes `json:"ct"`
		}
	}
	for i, v := range readVectors[vector](t, "hpke/rfc9180_base.json") {
		private, err := hpke.KEM(v.KEM).Scheme().UnmarshalBinaryPrivateKey(v.PrivateKey)
		if err != nil {
			t.Fatal(i, err)
		}
		receiver, err := hpke.NewSuite(hpke.KEM(v.KEM), hpke.KDF(v.KDF), hpke.AEAD(v.AEAD)).NewReceiver(private, v.Info)
		if err != nil {
			t.Fatal(i, err)
		}
		opener, err := receiver.Setup(v.Enc)
		if err != nil {
			t.Fatal(i, err)
		}
		for n, e := range v.Encryptions {
			if e.Sequence != n {
				break // the context counts every message: later ones need those between
			}
			plain, err := opener.Open(e.Ciphertext, e.AAD)
			if err != nil || !bytes.Equal(plain, e.Plaintext) {
				t.Errorf("vector %d, message %d: %v", i, n, err)
			}
		}
	}
}
