package keys

import (
	"bytes"
	"testing"

	"edge/tlsstack/wire"
)

// aeadCases is a Wycheproof file of AEAD tests.
type aeadCases struct {
	TestGroups []struct {
		IVSize, KeySize, TagSize int
		Tests                    []struct {
			TcID                       int
			Key, IV, AAD, Msg, CT, Tag string
			Result                     string
		}
	}
}

// TestAEADWycheproof runs the suites' AEADs on the cases of their sizes.
func TestAEADWycheproof(t *testing.T) {
	files := map[string][]wire.CipherSuite{
		"aes_gcm_subset.json":           {wire.SuiteAES128GCMSHA256, wire.SuiteAES256GCMSHA384},
		"chacha20_poly1305_subset.json": {wire.SuiteChaCha20Poly1305SHA256},
	}
	for name, ids := range files {
		for _, id := range ids {
			suite := SuiteByID(id)
			t.Run(suite.Name, func(t *testing.T) {
				var file aeadCases
				readVectors(t, &file, "wycheproof", name)
				if file.run(t, suite) == 0 {
					t.Error("no case fits the suite")
				}
			})
		}
	}
}

// run returns how many cases fit the suite.
func (f *aeadCases) run(t *testing.T, suite *Suite) (n int) {
	for _, g := range f.TestGroups {
		if g.IVSize != 96 || g.TagSize != 128 || g.KeySize != 8*suite.KeyLen {
			continue
		}
		for _, c := range g.Tests {
			n++
			aead := suite.aead(unhex(t, c.Key))
			sealed := append(unhex(t, c.CT), unhex(t, c.Tag)...)
			plain, err := aead.Open(nil, unhex(t, c.IV), sealed, unhex(t, c.AAD))
			if (err == nil) != (c.Result == "valid") {
				t.Errorf("case %d opens with %v, want %s", c.TcID, err, c.Result)
			}
			if err == nil && !bytes.Equal(plain, unhex(t, c.Msg)) {
				t.Errorf("case %d opens to %x", c.TcID, plain)
			}
		}
	}
	return n
}
