package certstore

// This file makes the certificates, keys and trees of the tests. Nothing secret
// is kept: all keys are made when a test runs.

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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// now is the time of all tests.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

const days = 24 * time.Hour

// signed is a certificate with its key.
type signed struct {
	x   *x509.Certificate
	key crypto.Signer
}

// pem returns the certificates in PEM.
func chainPEM(certs ...*signed) string {
	var b strings.Builder
	for _, c := range certs {
		pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.x.Raw})
	}
	return b.String()
}

// keyPEM returns the private key as PKCS#8 in PEM.
func (c *signed) keyPEM() string {
	der, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

var serials struct {
	sync.Mutex
	last int64
}

// issue makes a certificate from a template, signed by parent, or by itself.
func issue(t testing.TB, template *x509.Certificate, key crypto.Signer, parent *signed) *signed {
	t.Helper()
	serials.Lock()
	serials.last++
	template.SerialNumber = big.NewInt(serials.last)
	serials.Unlock()
	if template.NotBefore.IsZero() {
		template.NotBefore = now.Add(-10 * days)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = now.Add(80 * days)
	}
	by := &signed{template, key}
	if parent != nil {
		by = parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.x, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	x, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signed{x, key}
}

func p256(t testing.TB) crypto.Signer { return ecKey(t, elliptic.P256()) }
func p384(t testing.TB) crypto.Signer { return ecKey(t, elliptic.P384()) }

func ecKey(t testing.TB, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func ed(t testing.TB) crypto.Signer {
	t.Helper()
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// rsa2048 is one key for all tests: making one takes long.
var rsa2048 = sync.OnceValue(func() crypto.Signer {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// authority makes a certificate authority.
func authority(t testing.TB, name string, parent *signed) *signed {
	return issue(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, p256(t), parent)
}

// server makes a server certificate for names from ca, self-signed if nil.
func server(t testing.TB, ca *signed, names ...string) *signed {
	return issue(t, &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, DNSNames: names}, p256(t), ca)
}

// tree is a certificate directory of a test.
type tree struct {
	t   testing.TB
	dir string
}

func newTree(t testing.TB) *tree { return &tree{t, t.TempDir()} }

func (tr *tree) path(name string) string { return filepath.Join(tr.dir, name) }

// write writes a file with mode 0600, making its directories.
func (tr *tree) write(name, data string) *tree {
	tr.t.Helper()
	path := tr.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		tr.t.Fatal(err)
	}
	return tr
}

// pair writes STEM.pem and STEM.key.
func (tr *tree) pair(stem string, chain ...*signed) *tree {
	tr.t.Helper()
	return tr.write(stem+".pem", chainPEM(chain...)).write(stem+".key", chain[0].keyPEM())
}

// link makes a symbolic link, replacing one that is there.
func (tr *tree) link(name, target string) *tree {
	tr.t.Helper()
	path := tr.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	os.Remove(path)
	if err := os.Symlink(target, path); err != nil {
		tr.t.Fatal(err)
	}
	return tr
}

func (tr *tree) remove(names ...string) *tree {
	tr.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(tr.path(name)); err != nil {
			tr.t.Fatal(err)
		}
	}
	return tr
}

// load loads the tree.
func (tr *tree) load(previous *Snapshot) (*Snapshot, *Report) {
	tr.t.Helper()
	s, r, err := Load(tr.dir, previous, now)
	if err != nil {
		tr.t.Fatal(err)
	}
	return s, r
}

// clean loads the tree and wants it to be without problems.
func (tr *tree) clean() *Snapshot {
	tr.t.Helper()
	s, r := tr.load(nil)
	for _, p := range r.Problems {
		tr.t.Errorf("unexpected problem: %v", p)
	}
	return s
}

// problems loads the tree and compares its problems, without the root's path,
// with the parts they should contain, in order.
func (tr *tree) problems(want ...string) *Snapshot {
	tr.t.Helper()
	s, r := tr.load(nil)
	tr.compare(r.Problems, want)
	return s
}

// compare compares problems with the parts they should contain.
func (tr *tree) compare(got []Problem, want []string) {
	tr.t.Helper()
	var lines []string
	for _, p := range got {
		line := strings.ReplaceAll(p.String(), tr.dir+"/", "")
		if strings.ContainsAny(line, "\n\r") {
			tr.t.Errorf("problem of more than one line: %q", line)
		}
		lines = append(lines, line)
	}
	if !slices.EqualFunc(lines, want, strings.Contains) {
		tr.t.Errorf("problems\n\t%s\nwant\n\t%s", strings.Join(lines, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// serves says which certificates a snapshot has for a name, best first, by their
// serial numbers.
func serves(t testing.TB, s *Snapshot, name string) []int64 {
	t.Helper()
	return serialsOf(t, s.Match([]byte(name)))
}

func serialsOf(t testing.TB, e *Entry) []int64 {
	t.Helper()
	if e == nil {
		return nil
	}
	var out []int64
	for _, p := range e.Pairs {
		x, err := x509.ParseCertificate(p.Chain[0])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x.SerialNumber.Int64())
	}
	return out
}

// want compares the certificates for a name.
func want(t testing.TB, s *Snapshot, name string, certs ...*signed) {
	t.Helper()
	if got, want := serves(t, s, name), serialsIn(certs); !slices.Equal(got, want) {
		t.Errorf("%q is served by certificates %v, want %v", name, got, want)
	}
}

// wantDefault compares the default certificates.
func wantDefault(t testing.TB, s *Snapshot, certs ...*signed) {
	t.Helper()
	if got, want := serialsOf(t, s.Default()), serialsIn(certs); !slices.Equal(got, want) {
		t.Errorf("the default certificates are %v, want %v", got, want)
	}
}

func serialsIn(certs []*signed) []int64 {
	var out []int64
	for _, c := range certs {
		out = append(out, c.x.SerialNumber.Int64())
	}
	return out
}
