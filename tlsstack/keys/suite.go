package keys

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	"edge/tlsstack/wire"

	"golang.org/x/crypto/chacha20poly1305"
)

// HashBytesMax is the output size of the largest hash in use, SHA-384.
const HashBytesMax = sha512.Size384

// Suite is a TLS 1.3 cipher suite: an AEAD and a hash (RFC 9846, B.4). The three
// values are shared and immutable.
type Suite struct {
	ID       wire.CipherSuite
	Name     string // as the RFC writes it
	HashLen  int    // bytes
	KeyLen   int    // bytes
	SealsMax uint64 // records that may be sealed under one key (RFC 9846, 5.5)

	newHash func() hash.Hash
	newAEAD func(key []byte) (cipher.AEAD, error)
	empty   [HashBytesMax]byte // Hash("")
	derived [HashBytesMax]byte // Derive-Secret(early secret without PSK, "derived", "")
}

// sealsMaxGCM: RFC 9846, 5.5 allows 2^24.5 full-size records under one AES-GCM
// key; keys are changed well before. ChaCha20-Poly1305 has no such limit, the
// same number costs nothing and keeps one path.
const sealsMaxGCM = 1 << 23

var (
	aes128 = newSuite(Suite{
		ID: wire.SuiteAES128GCMSHA256, Name: "TLS_AES_128_GCM_SHA256",
		HashLen: sha256.Size, KeyLen: 16, SealsMax: sealsMaxGCM, newHash: sha256.New, newAEAD: newGCM,
	})
	aes256 = newSuite(Suite{
		ID: wire.SuiteAES256GCMSHA384, Name: "TLS_AES_256_GCM_SHA384",
		HashLen: sha512.Size384, KeyLen: 32, SealsMax: sealsMaxGCM, newHash: sha512.New384, newAEAD: newGCM,
	})
	chacha20 = newSuite(Suite{
		ID: wire.SuiteChaCha20Poly1305SHA256, Name: "TLS_CHACHA20_POLY1305_SHA256",
		HashLen: sha256.Size, KeyLen: chacha20poly1305.KeySize, SealsMax: sealsMaxGCM,
		newHash: sha256.New, newAEAD: chacha20poly1305.New,
	})
)

// newSuite computes what depends on the hash alone.
func newSuite(s Suite) *Suite {
	s.newHash().Sum(s.empty[:0])
	var l ladder
	l.start(&s, nil, nil)
	l.derive(s.derived[:s.HashLen], "derived", s.emptyHash())
	return &s
}

// SuiteByID returns the suite of a code point, nil when it is not served.
func SuiteByID(id wire.CipherSuite) *Suite {
	switch id {
	case wire.SuiteAES128GCMSHA256:
		return aes128
	case wire.SuiteAES256GCMSHA384:
		return aes256
	case wire.SuiteChaCha20Poly1305SHA256:
		return chacha20
	}
	return nil
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// aead makes the AEAD of the suite; a key of the wrong length is our mistake.
func (s *Suite) aead(key []byte) cipher.AEAD {
	a, err := s.newAEAD(key)
	if err != nil {
		panic("BUG: keys: " + err.Error())
	}
	return a
}

// NewHash returns a new hash of the suite.
func (s *Suite) NewHash() hash.Hash { return s.newHash() }

func (s *Suite) emptyHash() []byte { return s.empty[:s.HashLen] }
