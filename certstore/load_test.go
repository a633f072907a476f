package certstore

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sec1 and pkcs1 write keys in the older forms.
func sec1(t *testing.T, c *signed) string {
	der, err := x509.MarshalECPrivateKey(c.key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return pemText("EC PRIVATE KEY", der)
}

func pkcs1(c *signed) string {
	return pemText("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(c.key.(*rsa.PrivateKey)))
}

func pemText(label string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der}))
}

// ecParameters is what "openssl ecparam -genkey" puts before a key: the OID of
// P-256.
var ecParameters = pemText("EC PARAMETERS", []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07})

func TestLoadForms(t *testing.T) {
	c := server(t, nil, "a.example")
	r := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}}, rsa2048(), nil)
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	tests := []struct {
		why   string
		files map[string]string
		is    *signed
	}{
		{"two files", map[string]string{"x": chainPEM(c), "y": c.keyPEM()}, c},
		{"one file", map[string]string{"x.pem": chainPEM(c) + c.keyPEM()}, c},
		{"key first in one file", map[string]string{"x.pem": c.keyPEM() + chainPEM(c)}, c},
		{"SEC1 with EC PARAMETERS", map[string]string{"x.crt": chainPEM(c), "x.key": ecParameters + sec1(t, c)}, c},
		{"PKCS#1", map[string]string{"x.crt": chainPEM(r), "x.key": pkcs1(r)}, r},
		{"CRLF", map[string]string{"x.crt": crlf(chainPEM(c)), "x.key": crlf(ecParameters + sec1(t, c))}, c},
		{"byte order mark", map[string]string{"x.crt": "\xef\xbb\xbf" + chainPEM(c), "x.key": "\xef\xbb\xbf" + c.keyPEM()}, c},
		{"text around", map[string]string{"x.crt": "subject=a\n" + chainPEM(c) + "end\n", "x.key": "Key:\n" + c.keyPEM()}, c},
		{"key in another directory", map[string]string{"certs/x.crt": chainPEM(c), "private/x.key": c.keyPEM()}, c},
		{"names in another order", map[string]string{"1.key": c.keyPEM(), "2.crt": chainPEM(c), "README": "hello", "x.json": "{}", "renew.conf": "a=b"}, c},
		{"leftovers", map[string]string{"x.crt": chainPEM(c), "x.key": c.keyPEM(), "x.crt~": "-----BEGIN", "x.crt.bak": "-----BEGIN", ".x.swp": "-----BEGIN", "y.tmp": "-----BEGIN"}, c},
		{"an ECH key beside it", map[string]string{"x.crt": chainPEM(c), "x.key": c.keyPEM(), "ech.pem": echKey(t)}, c},
	}
	for _, test := range tests {
		tr := newTree(t)
		for name, data := range test.files {
			tr.write(name, data)
		}
		s, r := tr.load(nil)
		for _, p := range r.Problems {
			t.Errorf("%s: %v", test.why, p)
		}
		if got := serves(t, s, "a.example"); !slices.Equal(got, serialsIn([]*signed{test.is})) {
			t.Errorf("%s: served by %v", test.why, got)
		}
	}
}

// echKey is an ECH key file (RFC 9934), but for the configuration's bytes.
func echKey(t *testing.T) string {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemText("PRIVATE KEY", der) + pemText("ECHCONFIG", []byte{0, 0})
}

func TestPairFacts(t *testing.T) {
	root := authority(t, "root", nil)
	c := server(t, root, "B.example", "*.a.example", "b.example")
	tr := newTree(t).pair("x", c, root)
	p := tr.clean().Pairs()[0]
	if !slices.Equal(p.Names, []string{"*.a.example", "b.example"}) || p.Kind != KeyECDSAP256 ||
		!p.NotBefore.Equal(c.x.NotBefore) || !p.NotAfter.Equal(c.x.NotAfter) ||
		p.CertFile != tr.path("x.pem") || p.KeyFile != tr.path("x.key") || p.Kept ||
		len(p.Chain) != 2 || string(p.Chain[1]) != string(root.x.Raw) ||
		!c.key.Public().(*ecdsa.PublicKey).Equal(p.Signer.Public()) {
		t.Errorf("pair %+v", p)
	}
}

func TestFileFaults(t *testing.T) {
	c := server(t, nil, "a.example")
	der := func(key any) string {
		out, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	x25519, _ := ecdh.X25519().GenerateKey(rand.Reader)
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	small, _ := rsa.GenerateKey(rand.Reader, 1024)
	cert := chainPEM(c)
	tests := []struct{ name, data, want string }{
		{"x.pem", "", "empty file; is it still being written?"},
		{"x.pem", cert[:len(cert)/2], "cut short"},
		{"x.pem", "hello\n", "no PEM block"},
		{"x.pem", strings.Replace(cert, "MII", "MIJ", 1), "line 1: unreadable certificate"},
		{"x.pem", string(c.x.Raw), "a certificate in DER, not PEM; convert it: openssl x509 -inform der"},
		{"x", string(c.x.Raw), "a certificate in DER"},
		{"x.key", der(c.key), "a private key in DER, not PEM; convert it: openssl pkey -inform der"},
		{"x.p12", "\x30\x03\x02\x01\x03", "PKCS#12"},
		{"x.der", "\x30\x03\x02\x01\x03", "binary"},
		{"x.pem", utf16Text(cert), "UTF-16"},
		{"x.key", block64("ENCRYPTED PRIVATE KEY", "x"), "encrypted private key; decrypt it"},
		{"x.key", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n", "line 1: encrypted private key"},
		{"x.key", block64("OPENSSH PRIVATE KEY", "x"), "an SSH key"},
		{"x.key", block64("DSA PRIVATE KEY", "x"), "not supported"},
		{"x.key", block64("PRIVATE KEY", "x"), "unusable private key"},
		{"x.key", pemText("PRIVATE KEY", []byte(der(x25519))), "X25519"},
		{"x.key", pemText("PRIVATE KEY", []byte(der(p224))), "not supported"},
		{"x.key", pemText("PRIVATE KEY", []byte(der(small))), "not supported"},
		{"x.pem", block64("TRUSTED CERTIFICATE", "x"), "TRUSTED CERTIFICATE"},
		{"x.p7b", block64("PKCS7", "x"), "PKCS#7"},
		{"x.pem", strings.Repeat(" ", fileBytesMax+1), "larger than 1 MiB"},
		{"x.pem", strings.TrimSpace(cert) + cert, "two PEM blocks on one line"},
	}
	for _, test := range tests {
		good := server(t, nil, "good.example")
		s := newTree(t).pair("good", good).write(test.name, test.data).problems(test.want)
		want(t, s, "good.example", good)
	}
}

func TestFilesThatAreNobodysBusiness(t *testing.T) {
	tr := newTree(t).pair("a", server(t, nil, "a.example"))
	tr.write("README", "-- see -----BEGIN CERTIFICATE-----").write("big.tar", strings.Repeat("x", fileBytesMax+1)).write("zero", "").
		write("request.csr", block64("CERTIFICATE REQUEST", "x")).write("dh.pem", block64("DH PARAMETERS", "x")).
		write("pub.pem", block64("PUBLIC KEY", "x")).write("binary", "\x30\x03\x02\x01\x03").write("ca.crl", block64("X509 CRL", "x"))
	tr.clean()
}

func TestPartners(t *testing.T) {
	a, b := server(t, nil, "a.example"), server(t, nil, "b.example")
	newTree(t).write("a.pem", chainPEM(a)).problems("a.pem: no readable private key belongs to this certificate")
	newTree(t).write("a.key", a.keyPEM()).problems("a.key: a private key without its certificate")
	newTree(t).write("x/a.pem", chainPEM(a)).write("x/b.key", b.keyPEM()).write("y/b.key", b.keyPEM()).
		problems("x/a.pem: the private key in ", "y/b.key: a private key without")
	// A key two directories have is taken from the certificate's own.
	tr := newTree(t).write("a/key", a.keyPEM()).write("b/cert", chainPEM(a)).write("b/key", a.keyPEM()).write("c/key", a.keyPEM())
	if p := tr.clean().Pairs()[0]; p.KeyFile != tr.path("b/key") {
		t.Errorf("key from %s", p.KeyFile)
	}
	// Two pairs in one file.
	s := newTree(t).write("both.pem", chainPEM(a)+a.keyPEM()+chainPEM(b)+b.keyPEM()).clean()
	want(t, s, "a.example", a)
	want(t, s, "b.example", b)
}

func TestKeyModeWarning(t *testing.T) {
	tr := newTree(t).pair("a", server(t, nil, "a.example"))
	for mode, warned := range map[os.FileMode]bool{0o644: true, 0o604: true, 0o640: false, 0o600: false, 0o400: false} {
		if err := os.Chmod(tr.path("a.key"), mode); err != nil {
			t.Fatal(err)
		}
		if warned {
			tr.problems("a.key: a private key that every user can read (mode 0")
		} else {
			tr.problems()
		}
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser can read everything")
	}
	good := server(t, nil, "good.example")
	tr := newTree(t).pair("good", good).pair("a/x", server(t, nil, "a.example")).pair("b/x", server(t, nil, "b.example"))
	if err := os.Chmod(tr.path("a/x.key"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tr.path("b"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(tr.path("b"), 0o700)
	s := tr.problems("a/x.key: cannot be read by user", "a/x.pem: no readable private key", "b: directory that cannot be read")
	want(t, s, "good.example", good)
}

func TestReadFault(t *testing.T) {
	f := found{state: fileState{owner: 7, mode: 0o100600}}
	if got := readFault(f, os.ErrPermission); !strings.Contains(got.what, "cannot be read (") {
		t.Errorf("%q", got.what)
	}
	if got := readFault(f, errnoOf(&os.PathError{Err: unix.EACCES})); !strings.Contains(got.what, "it belongs to user 7, mode 0600") {
		t.Errorf("%q", got.what)
	}
}

func TestLoadDirectoryErrors(t *testing.T) {
	tr := newTree(t).write("file", "")
	for _, dir := range []string{tr.path("none"), tr.path("file"), tr.path("file/x")} {
		s, _, err := Load(dir, nil, now)
		if s != nil || err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: snapshot %v, error %v", dir, s, err)
		}
	}
}

func TestValidity(t *testing.T) {
	old := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, NotAfter: now.Add(-days)}, p256(t), nil)
	early := issue(t, &x509.Certificate{DNSNames: []string{"b.example"}, NotBefore: now.Add(days)}, p256(t), nil)
	fresh := server(t, nil, "a.example")

	tr := newTree(t).pair("old", old).pair("early", early)
	s := tr.problems("early.pem: not valid before 2026-06-02", "old.pem: expired on 2026-05-31")
	for _, p := range s.Problems() {
		if p.Warning {
			t.Errorf("only a warning: %v", p)
		}
	}
	want(t, s, "a.example", old)

	s = tr.pair("fresh", fresh).problems("early.pem: not valid before", "old.pem: expired on")
	if p := s.Problems()[1]; !p.Warning {
		t.Errorf("an expired pair with a successor is more than a warning: %v", p)
	}
	want(t, s, "a.example", fresh, old)
}

func TestNextChange(t *testing.T) {
	first := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, NotAfter: now.Add(3 * days)}, p256(t), nil)
	early := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, NotBefore: now.Add(2 * days)}, p256(t), nil)
	tr := newTree(t).pair("a", first)
	if got, want := tr.clean().NextChange(), first.x.NotAfter.Add(1e9); !got.Equal(want) {
		t.Errorf("next change %v, want %v", got, want)
	}
	s, _ := tr.pair("b", early).load(nil)
	if got := s.NextChange(); !got.Equal(early.x.NotBefore) {
		t.Errorf("next change %v, want %v", got, early.x.NotBefore)
	}
	later, _, err := Load(tr.dir, s, now.Add(1000*days))
	if err != nil {
		t.Fatal(err)
	}
	if !later.NextChange().IsZero() {
		t.Errorf("next change %v after the end of all", later.NextChange())
	}
	// The very last second still counts (RFC 5280, 4.1.2.5).
	last, _, _ := Load(tr.dir, s, first.x.NotAfter)
	want(t, last, "a.example", early, first)
	if len(last.Problems()) != 0 {
		t.Errorf("problems in the last second: %v", last.Problems())
	}
}
