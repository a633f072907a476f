package certstore

import (
	"crypto"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	tests := []struct {
		why      string
		template x509.Certificate
		names    []string
		problem  string
	}{
		{"CN beside SAN is ignored", x509.Certificate{Subject: pkix.Name{CommonName: "cn.example"}, DNSNames: []string{"a.example"}}, []string{"a.example"}, ""},
		{"CN without SAN", x509.Certificate{Subject: pkix.Name{CommonName: "CN.example"}}, []string{"cn.example"}, "no subjectAltName"},
		{"CN beside an address", x509.Certificate{Subject: pkix.Name{CommonName: "cn.example"}, IPAddresses: []net.IP{{192, 0, 2, 1}}}, nil, "no host name"},
		{"CN that is a person", x509.Certificate{Subject: pkix.Name{CommonName: "A Person"}}, nil, "no host name"},
		{"nothing", x509.Certificate{}, nil, "no host name"},
		{"underscore", x509.Certificate{DNSNames: []string{"a_b.example"}}, []string{"a_b.example"}, ""},
		{"A-label", x509.Certificate{DNSNames: []string{"xn--bcher-kva.example"}}, []string{"xn--bcher-kva.example"}, ""},
		{"wildcards", x509.Certificate{DNSNames: []string{"*.B.example", "*.example", "localhost"}}, []string{"*.b.example", "*.example", "localhost"}, ""},
		{"wildcard within", x509.Certificate{DNSNames: []string{"a.*.example", "b.example"}}, []string{"b.example"}, `"a.*.example"`},
		{"part of a label", x509.Certificate{DNSNames: []string{"a*.example"}}, nil, `"a*.example"`},
		{"lone star", x509.Certificate{DNSNames: []string{"*"}}, nil, `"*"`},
		{"two stars", x509.Certificate{DNSNames: []string{"*.*.example"}}, nil, `"*.*.example"`},
		{"address as a name", x509.Certificate{DNSNames: []string{"192.0.2.1"}}, nil, `"192.0.2.1"`},
	}
	for _, test := range tests {
		tr := newTree(t).pair("a", issue(t, &test.template, p256(t), nil))
		s, r := tr.load(nil)
		if got := s.Pairs()[0].Names; !slices.Equal(got, test.names) {
			t.Errorf("%s: names %q, want %q", test.why, got, test.names)
		}
		var wanted []string
		if test.problem != "" {
			wanted = []string{test.problem}
		}
		tr.compare(r.Problems, wanted)
	}
}

// Field case S08, a challenge certificate that lies about (RFC 8737, 3): it is for no
// ordinary client.
func TestChallengeCertificateIsNotServed(t *testing.T) {
	c := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, ExtraExtensions: []pkix.Extension{
		{Id: oidACMEIdentifier, Critical: true, Value: append([]byte{4, 32}, make([]byte, 32)...)},
	}}, p256(t), nil)
	if s := newTree(t).pair("a", c).problems("a.pem: a tls-alpn-01 challenge certificate"); s.Len() != 0 {
		t.Errorf("%d pairs", s.Len())
	}
}

func TestAuthorityIsNotServed(t *testing.T) {
	root := authority(t, "An Authority", nil)
	s := newTree(t).pair("ca", root).problems("ca.pem: an authority's certificate with its private key")
	if s.Len() != 0 {
		t.Errorf("%d pairs", s.Len())
	}
	// What "openssl req -x509" makes for a host is marked as an authority.
	self := issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "a.example"}, IsCA: true, BasicConstraintsValid: true}, p256(t), nil)
	want(t, newTree(t).pair("a", self).problems("no subjectAltName"), "a.example", self)
	self = issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, p256(t), nil)
	want(t, newTree(t).pair("a", self).clean(), "a.example", self)
}

func TestUnsupportedKeysAreNotServed(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []crypto.Signer{ecKey(t, elliptic.P521()), small} {
		c := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}}, key, nil)
		s := newTree(t).pair("a", c).problems("a.key: line 1: private key of a kind or size", "a.pem: certificate with a public key of a kind or size")
		if s.Len() != 0 {
			t.Errorf("%d pairs", s.Len())
		}
	}
}

func TestKeyKindNames(t *testing.T) {
	seen := make(map[string]bool)
	for k := KeyUnsupported; k <= KeyRSA; k++ {
		if seen[k.String()] {
			t.Errorf("two kinds are called %q", k)
		}
		seen[k.String()] = true
	}
	if got := kindOfKey(ed(t).Public()).String(); got != "Ed25519" {
		t.Errorf("an Ed25519 key is called %q", got)
	}
}
