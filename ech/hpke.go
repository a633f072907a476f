package ech

import (
	"bytes"
	"crypto/ecdh"
	"errors"

	"github.com/cloudflare/circl/hpke"
	"github.com/cloudflare/circl/kem"
)

// Which of HPKE (RFC 9180) is used: code points, and what circl calls them.

// KEMs that can be used.
const (
	KEMP256   uint16 = uint16(hpke.KEM_P256_HKDF_SHA256)
	KEMX25519 uint16 = uint16(hpke.KEM_X25519_HKDF_SHA256)
)

// KDFSHA256 is HKDF-SHA256, the KDF that can be used.
const KDFSHA256 = uint16(hpke.KDF_HKDF_SHA256)

// AEADs that can be used.
const (
	AEADAES128GCM        = uint16(hpke.AEAD_AES128GCM)
	AEADAES256GCM        = uint16(hpke.AEAD_AES256GCM)
	AEADChaCha20Poly1305 = uint16(hpke.AEAD_ChaCha20Poly1305)
)

// Suites are all suites that can be used, in the order they are offered in.
var Suites = []Suite{
	{KDFSHA256, AEADAES128GCM},
	{KDFSHA256, AEADAES256GCM},
	{KDFSHA256, AEADChaCha20Poly1305},
}

func kemSupported(id uint16) bool { return id == KEMX25519 || id == KEMP256 }

func suiteSupported(s Suite) bool {
	return s.KDF == KDFSHA256 && s.AEAD >= AEADAES128GCM && s.AEAD <= AEADChaCha20Poly1305
}

// hpkeKEM returns circl's KEM; id must be supported.
func hpkeKEM(id uint16) kem.Scheme { return hpke.KEM(id).Scheme() }

// hpkeSuite returns circl's suite; id and s must be supported.
func hpkeSuite(id uint16, s Suite) hpke.Suite {
	return hpke.NewSuite(hpke.KEM(id), hpke.KDF(s.KDF), hpke.AEAD(s.AEAD))
}

// curve returns the group of a supported KEM.
func curve(id uint16) ecdh.Curve {
	if id == KEMP256 {
		return ecdh.P256()
	}
	return ecdh.X25519()
}

var errPublicKey = errors.New("public key is not valid for the KEM")

// checkPublicKey refuses keys to which nothing can be encrypted: of a wrong
// length, off the curve, or of low order.
func checkPublicKey(id uint16, key []byte) error {
	public, err := curve(id).NewPublicKey(key)
	if err != nil {
		return errPublicKey
	}
	probe, err := curve(id).NewPrivateKey(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		panic("BUG: ech: probe scalar refused")
	}
	if _, err := probe.ECDH(public); err != nil {
		return errPublicKey // all-zero shared secret
	}
	return nil
}

// newPrivateKey makes circl's private key and the public key that belongs to
// it. circl computes the public key at the first call of Public and stores it
// without a lock: asking once here is what makes the key safe to share.
func newPrivateKey(id uint16, raw []byte) (kem.PrivateKey, []byte, error) {
	private, err := hpkeKEM(id).UnmarshalBinaryPrivateKey(raw)
	if err != nil {
		return nil, nil, errPrivateKey
	}
	public, err := private.Public().MarshalBinary()
	if err != nil {
		return nil, nil, errPrivateKey
	}
	return private, public, nil
}

// errPrivateKey wraps no cause: what a library says of a key could quote it.
var errPrivateKey = errors.New("private key is not valid for the KEM")
