package tlsstack

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"edge/tlsstack/wire"
)

// publicOnly is a signer of which only the public key matters.
type publicOnly struct{ key crypto.PublicKey }

func (p publicOnly) Public() crypto.PublicKey { return p.key }
func (p publicOnly) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, os.ErrInvalid
}

func rsaPublic(bits int) crypto.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
}

func TestSchemesOfKeys(t *testing.T) {
	all := []wire.SignatureScheme{wire.SchemeRSAPSSSHA256, wire.SchemeRSAPSSSHA384, wire.SchemeRSAPSSSHA512}
	cases := map[string]struct {
		key  crypto.PublicKey
		want []wire.SignatureScheme
		err  string
	}{
		"P-256":    {testKeys[keyP256]().Public(), []wire.SignatureScheme{wire.SchemeECDSAP256SHA256}, ""},
		"P-384":    {testKeys[keyP384]().Public(), []wire.SignatureScheme{wire.SchemeECDSAP384SHA384}, ""},
		"P-521":    {testKeys[keyP521]().Public(), []wire.SignatureScheme{wire.SchemeECDSAP521SHA512}, ""},
		"Ed25519":  {testKeys[keyEd25519]().Public(), []wire.SignatureScheme{wire.SchemeEd25519}, ""},
		"RSA-2048": {rsaPublic(2048), all, ""},
		"RSA-1040": {rsaPublic(1041), all, ""},
		"RSA-1024": {rsaPublic(1024), all[:2], ""},
		"RSA-512":  {rsaPublic(512), nil, "too short"},
		"P-224":    {&ecdsa.PublicKey{Curve: elliptic.P224()}, nil, "does not use"},
		"a string": {"key", nil, "cannot sign"},
	}
	for name, tc := range cases {
		c, err := NewCredential([][]byte{{1}}, publicOnly{tc.key}, nil, nil)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v, want %q", name, err, tc.err)
			}
			continue
		}
		if err != nil || !slices.Equal(c.Schemes(), tc.want) {
			t.Errorf("%s: %v, %v", name, c.Schemes(), err)
		}
	}
}

func TestNewCredentialRefuses(t *testing.T) {
	key := testKeys[keyP256]()
	good := [][]byte{{1, 2, 3}}
	cases := map[string]struct {
		chain        [][]byte
		staple, scts []byte
		want         string
	}{
		"no chain":          {nil, nil, nil, "empty"},
		"empty certificate": {[][]byte{{1}, nil}, nil, nil, "empty certificate"},
		"huge chain":        {[][]byte{make([]byte, credentialBytesMax+1)}, nil, nil, "more than"},
		"huge staple":       {good, make([]byte, 1<<16), nil, "more than"},
		"SCTs cut":          {good, nil, vec16(vec16([]byte("sct")))[:4], "SCT list"},
		"SCTs and more":     {good, nil, append(vec16(vec16([]byte("sct"))), 0), "SCT list"},
		"no SCTs":           {good, nil, vec16(nil), "SCT list"},
		"empty SCT":         {good, nil, vec16(vec16(nil)), "SCT list"},
	}
	for name, tc := range cases {
		if _, err := NewCredential(tc.chain, key, tc.staple, tc.scts); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestWithSchemes(t *testing.T) {
	c := serverCredential(t, keyRSA, testName)
	own := c.WithSchemes([]wire.SignatureScheme{wire.SchemeEd25519, wire.SchemeRSAPSSSHA512, wire.SchemeRSAPSSSHA256})
	if want := []wire.SignatureScheme{wire.SchemeRSAPSSSHA512, wire.SchemeRSAPSSSHA256}; !slices.Equal(own.Schemes(), want) {
		t.Errorf("%x", own.Schemes())
	}
}

// TestIssuerMatch: a chain of a private authority goes to those that know it.
func TestIssuerMatch(t *testing.T) {
	cfg := testConfig(t, keyP256, keyP384)
	source := cfg.Certificates.(*fixedSource)
	private, err := source.creds[0].WithIssuerMatch()
	if err != nil {
		t.Fatal(err)
	}
	source.creds[0] = private
	names := func(list ...[]byte) []byte {
		var b []byte
		for _, n := range list {
			b = append(b, vec16(n)...)
		}
		return vec16(b)
	}
	other := sharedCA().cert.RawSubject[:len(sharedCA().cert.RawSubject)-1]
	cases := map[string]struct {
		body []byte
		want *Credential
	}{
		"named":      {names([]byte("x"), sharedCA().cert.RawSubject), private},
		"others":     {names(other), source.creds[1]},
		"none named": {nil, source.creds[1]},
	}
	for name, tc := range cases {
		c := newRawClient(t, cfg, mode{})
		if tc.body != nil {
			c.hello.set(wire.ExtCertificateAuthorities, tc.body)
		}
		c.handshake()
		if c.conn.Info().Credential != tc.want {
			t.Errorf("%s: another credential", name)
		}
	}
	if _, err := (&Credential{Chain: [][]byte{{1}}}).WithIssuerMatch(); err == nil {
		t.Error("a chain that cannot be parsed")
	}
}

// failingSigner cannot sign.
type failingSigner struct{ crypto.Signer }

func (failingSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, os.ErrPermission
}

// TestOwnFailures: what goes wrong on our side is internal_error, and says so.
func TestOwnFailures(t *testing.T) {
	key := failingSigner{testKeys[keyP256]()}
	cred, err := NewCredential(sharedCA().leaf(t, key, x509.ExtKeyUsageServerAuth, testName), key, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{Certificates: &fixedSource{name: testName, creds: []*Credential{cred}}}
	c := newRawClient(t, cfg, mode{})
	err = c.sendHello()
	c.mustFail(err, wire.AlertInternalError)
	if e := err.(*Error); e.Origin != Internal || e.Cause != os.ErrPermission {
		t.Errorf("%+v", e)
	}

	for n := range 64 {
		c := newRawClient(t, testConfig(t, keyEd25519), mode{})
		c.conn.rand = bytes.NewReader(make([]byte, n)) // share and random take 64
		err := c.sendHello()
		c.mustFail(err, wire.AlertInternalError)
		if err.(*Error).Origin != Internal {
			t.Fatalf("%d random bytes: %v", n, err)
		}
	}
}

// TestVerifyWycheproof runs the odd ECDSA signatures through the check of clients'
// signatures.
func TestVerifyWycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			PublicKey struct{ Uncompressed string }
			Tests     []struct {
				TcID             int
				Msg, Sig, Result string
			}
		}
	}
	raw, err := os.ReadFile(filepath.Join("..", "testvectors", "wycheproof", "ecdsa_secp256r1_sha256_subset.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, g := range file.TestGroups {
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), unhex(g.PublicKey.Uncompressed))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range g.Tests {
			e := verifySignature(key, wire.SchemeECDSAP256SHA256, unhex(c.Msg), unhex(c.Sig))
			if (e == nil) != (c.Result == "valid") {
				t.Errorf("case %d: %v, want %s", c.TcID, e, c.Result)
			}
		}
	}
}
