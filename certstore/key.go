package certstore

// This file reads private keys: PKCS#8, SEC1 (EC PRIVATE KEY) and PKCS#1 (RSA
// PRIVATE KEY), and binds them to certificates by the hash of their public key.

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"sync"
)

// The moduli of RSA keys that are used: below the first nobody should, beyond the
// last a signature costs a denial of service.
const (
	rsaBitsMin = 2048
	rsaBitsMax = 8192
)

// keyID is the SHA-256 of a DER SubjectPublicKeyInfo: what a certificate and its
// private key have in common.
type keyID [sha256.Size]byte

// privateKey is one private key found in a file.
type privateKey struct {
	id     keyID
	signer crypto.Signer
}

// isKeyLabel says whether a PEM label is that of a private key.
func isKeyLabel(label string) bool {
	switch label {
	case "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY",
		"DSA PRIVATE KEY", "OPENSSH PRIVATE KEY":
		return true
	}
	return false
}

// readKey reads a private key from its PEM block.
func readKey(b block) (*privateKey, *fault) {
	if b.encrypted || b.label == "ENCRYPTED PRIVATE KEY" {
		return nil, &fault{"encrypted private key", "decrypt it: openssl pkey -in FILE -out NEWFILE"}
	}
	signer, bad := parseKey(b.label, b.der)
	if bad != nil {
		return nil, bad
	}
	if kindOfKey(signer.Public()) == KeyUnsupported {
		return nil, unsupportedKey("private key")
	}
	spki, err := marshalPublic(signer.Public())
	if err != nil {
		return nil, unsupportedKey("private key")
	}
	return &privateKey{id: sha256.Sum256(spki), signer: signer}, nil
}

// marshalPublic returns the DER SubjectPublicKeyInfo of a public key.
func marshalPublic(public any) ([]byte, error) {
	k, is := public.(*ecdsa.PublicKey)
	if !is || k.Curve != elliptic.P256() {
		return x509.MarshalPKIXPublicKey(public)
	}
	point, err := k.Bytes()
	return append(p256Prefix(), point...), err
}

// p256Prefix returns what comes before the point in a P-256 SubjectPublicKeyInfo
// (RFC 5480, 2): writing it takes longer than all else that is done with a key but
// checking it. The capacity is that of the slice.
var p256Prefix = sync.OnceValue(func() []byte {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic("BUG: no P-256 key: " + err.Error())
	}
	spki, err := x509.MarshalPKIXPublicKey(k.Public())
	if err != nil {
		panic("BUG: no public key of a P-256 key: " + err.Error())
	}
	const pointBytes = 1 + 2*32 // uncompressed
	return slices.Clip(spki[:len(spki)-pointBytes])
})

// parseKey decodes a private key by its PEM label.
func parseKey(label string, der []byte) (crypto.Signer, *fault) {
	var key any
	var err error
	switch label {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(der)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "OPENSSH PRIVATE KEY":
		return nil, &fault{"an SSH key", "convert it: ssh-keygen -p -m PKCS8 -f FILE"}
	default:
		return nil, unsupportedKey(label)
	}
	if err != nil {
		return nil, &fault{fmt.Sprintf("unusable private key (%v)", err), "copy it again, or make a new one"}
	}
	if _, is := key.(*ecdh.PrivateKey); is {
		return nil, &fault{"an X25519 key, which cannot sign", "keep ECH keys in their own directory"}
	}
	signer, is := key.(crypto.Signer)
	if !is {
		return nil, unsupportedKey("private key")
	}
	return signer, nil
}

// unsupportedKey returns the fault of a key TLS 1.3 has no use for.
func unsupportedKey(what string) *fault {
	return &fault{what + " of a kind or size that is not supported", "use ECDSA P-256 or P-384, Ed25519, or RSA of 2048 to 8192 bits"}
}

// kindOfKey returns the kind of a public key.
func kindOfKey(public any) KeyKind {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return KeyECDSAP256
		case elliptic.P384():
			return KeyECDSAP384
		}
	case ed25519.PublicKey:
		return KeyEd25519
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits >= rsaBitsMin && bits <= rsaBitsMax {
			return KeyRSA
		}
	}
	return KeyUnsupported
}
