package tlsstack

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"
)

// testTime is the time of day in every test that does not say otherwise.
var testTime = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// testCA is an authority with the keys and leaves tests use, made once.
type testCA struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool
}

var sharedCA = sync.OnceValue(func() *testCA {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: testTime.AddDate(-1, 0, 0), NotAfter: testTime.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &testCA{key, cert, pool}
})

// leaf issues a certificate for key with the given names and purpose.
func (ca *testCA) leaf(t testing.TB, key crypto.Signer, purpose x509.ExtKeyUsage, names ...string) [][]byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "leaf"},
		NotBefore: testTime.AddDate(0, -1, 0), NotAfter: testTime.AddDate(0, 1, 0),
		DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{purpose}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{der}
}

// keyKind names the keys tests use.
type keyKind int

const (
	keyP256 keyKind = iota
	keyP384
	keyP521
	keyRSA
	keyEd25519
	keyKinds
)

var testKeys [keyKinds]func() crypto.Signer

func init() {
	ec := func(curve elliptic.Curve) func() crypto.Signer {
		return sync.OnceValue(func() crypto.Signer {
			k, err := ecdsa.GenerateKey(curve, rand.Reader)
			if err != nil {
				panic(err)
			}
			return k
		})
	}
	testKeys[keyP256], testKeys[keyP384], testKeys[keyP521] = ec(elliptic.P256()), ec(elliptic.P384()), ec(elliptic.P521())
	testKeys[keyRSA] = sync.OnceValue(func() crypto.Signer {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return k
	})
	testKeys[keyEd25519] = sync.OnceValue(func() crypto.Signer {
		return ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	})
}

// serverCredential is a credential for names with a key of the kind.
func serverCredential(t testing.TB, kind keyKind, names ...string) *Credential {
	t.Helper()
	key := testKeys[kind]()
	c, err := NewCredential(sharedCA().leaf(t, key, x509.ExtKeyUsageServerAuth, names...), key, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fixedSource is a certificate source for one name, which is the default too
// unless strict.
type fixedSource struct {
	name     string
	creds    []*Credential
	fallback []*Credential
}

func (s *fixedSource) Credentials(name []byte) []*Credential {
	if string(name) == s.name {
		return s.creds
	}
	return nil
}

func (s *fixedSource) Default() []*Credential { return s.fallback }

const testName = "server.example"

// testConfig serves testName with keys of the given kinds.
func testConfig(t testing.TB, kinds ...keyKind) *Config {
	t.Helper()
	if len(kinds) == 0 {
		kinds = []keyKind{keyP256}
	}
	source := &fixedSource{name: testName}
	for _, k := range kinds {
		source.creds = append(source.creds, serverCredential(t, k, testName))
	}
	source.fallback = source.creds
	return &Config{Certificates: source, NextProtos: []string{"h2", "http/1.1"}}
}

func pemCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
