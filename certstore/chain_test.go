package certstore

import (
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
)

func TestChains(t *testing.T) {
	root := authority(t, "root", nil)
	upper := authority(t, "upper", root)
	lower := authority(t, "lower", upper)
	leaf := server(t, lower, "a.example")
	stranger := authority(t, "stranger", nil)
	namesake := authority(t, "lower", upper) // same name, another key

	tests := []struct {
		why     string
		file    []*signed
		chain   []*signed
		problem string
	}{
		{"whole", []*signed{leaf, lower, upper, root}, []*signed{leaf, lower, upper, root}, ""},
		{"without the root", []*signed{leaf, lower, upper}, []*signed{leaf, lower, upper}, ""},
		{"leaf alone", []*signed{leaf}, []*signed{leaf}, ""},
		{"leaf last", []*signed{lower, upper, leaf}, []*signed{leaf, lower, upper}, "out of order"},
		{"backwards", []*signed{root, upper, lower, leaf}, []*signed{leaf, lower, upper, root}, "out of order"},
		{"issuers swapped", []*signed{leaf, upper, lower}, []*signed{leaf, lower, upper}, "out of order"},
		{"a stranger behind", []*signed{leaf, lower, upper, stranger}, []*signed{leaf, lower, upper}, "not sent: 1"},
		{"strangers only", []*signed{leaf, stranger, root}, []*signed{leaf}, "not sent: 2"},
		{"a gap", []*signed{leaf, lower, root}, []*signed{leaf, lower}, "not sent: 1"},
		{"the namesake of the issuer", []*signed{leaf, namesake, upper}, []*signed{leaf}, "not sent: 2"},
		{"twice the same", []*signed{leaf, leaf, lower, lower, upper}, []*signed{leaf, lower, upper}, ""},
	}
	for _, test := range tests {
		tr := newTree(t).write("x.pem", chainPEM(test.file...)).write("x.key", leaf.keyPEM())
		var problems []string
		if test.problem != "" {
			problems = []string{"x.pem: "}
		}
		s := tr.problems(problems...)
		if test.problem != "" {
			tr.compare(s.Problems(), []string{test.problem})
		}
		checkChain(t, test.why, s, test.chain)
	}
}

// checkChain compares the chain of a snapshot's only pair.
func checkChain(t *testing.T, why string, s *Snapshot, want []*signed) {
	t.Helper()
	if s.Len() != 1 {
		t.Errorf("%s: %d pairs", why, s.Len())
		return
	}
	got := s.Pairs()[0].Chain
	if !slices.EqualFunc(got, want, func(der []byte, c *signed) bool { return string(der) == string(c.x.Raw) }) {
		var names []string
		for _, der := range got {
			x, err := x509.ParseCertificate(der)
			names = append(names, fmt.Sprint(x.Subject, err))
		}
		t.Errorf("%s: chain %q", why, names)
	}
}

func TestTwoChainsInOneFile(t *testing.T) {
	one, two := authority(t, "one", nil), authority(t, "two", nil)
	a, b := server(t, one, "a.example"), server(t, two, "b.example")
	s := newTree(t).write("x.pem", chainPEM(a, one, b, two)).write("a.key", a.keyPEM()).write("b.key", b.keyPEM()).clean()
	for i, ca := range []*signed{one, two} {
		if chain := s.Pairs()[i].Chain; len(chain) != 2 || string(chain[1]) != string(ca.x.Raw) {
			t.Errorf("pair %d has the wrong chain", i)
		}
	}
}

func TestChainBySignature(t *testing.T) {
	// Without key identifiers only the signature tells namesakes apart.
	root := authority(t, "root", nil)
	namesake := authority(t, "root", nil)
	bare := &signed{root.x, root.key}
	leaf := server(t, bare, "a.example")
	c, bad := readCertificate(leaf.x.Raw)
	if bad != nil {
		t.Fatal(bad.what)
	}
	c.issuerKey = nil
	for _, test := range []struct {
		by   *signed
		want bool
	}{{root, true}, {namesake, false}} {
		issuer, bad := readCertificate(test.by.x.Raw)
		if bad != nil {
			t.Fatal(bad.what)
		}
		if got := issuer.certifies(c); got != test.want {
			t.Errorf("certifies is %v, want %v", got, test.want)
		}
	}
}

func TestCheckSignatures(t *testing.T) {
	root := authority(t, "root", nil)
	// Keys and names fit, the signature does not: one bit of it is wrong.
	leaf := server(t, root, "a.example")
	forged := &signed{&x509.Certificate{Raw: slices.Clone(leaf.x.Raw)}, leaf.key}
	forged.x.Raw[len(forged.x.Raw)-1] ^= 1
	if err := newTree(t).pair("a", leaf, root).clean().Pairs()[0].CheckSignatures(); err != nil {
		t.Error(err)
	}
	if err := newTree(t).pair("a", forged, root).clean().Pairs()[0].CheckSignatures(); err == nil {
		t.Error("a forged signature passes")
	}
}

func TestChainMax(t *testing.T) {
	var chain []*signed
	var parent *signed
	for i := range chainMax + 2 {
		parent = authority(t, fmt.Sprint("ca ", i), parent)
		chain = append(chain, parent)
	}
	slices.Reverse(chain)
	leaf := server(t, parent, "a.example")
	s, _ := newTree(t).pair("a", append([]*signed{leaf}, chain...)...).load(nil)
	if n := len(s.Pairs()[0].Chain); n != chainMax {
		t.Errorf("chain of %d, want %d", n, chainMax)
	}
}

func TestChainFromFilesBeside(t *testing.T) {
	root := authority(t, "root", nil)
	lower := authority(t, "lower", root)
	leaf := server(t, lower, "a.example")
	s := newTree(t).write("cert.cer", chainPEM(leaf)).write("ca.cer", chainPEM(lower)).write("root.cer", chainPEM(root)).
		write("a.key", leaf.keyPEM()).clean()
	checkChain(t, "beside", s, []*signed{leaf, lower, root})
	s = newTree(t).write("a/cert.cer", chainPEM(leaf)).write("b/ca.cer", chainPEM(lower)).write("a/a.key", leaf.keyPEM()).clean()
	checkChain(t, "in another directory", s, []*signed{leaf})
}

func TestMissingIssuerIsReported(t *testing.T) {
	root := authority(t, "root", nil)
	template := x509.Certificate{DNSNames: []string{"a.example"}, IssuingCertificateURL: []string{"http://ca.example/"}}
	leaf := issue(t, &template, p256(t), root)
	newTree(t).pair("a", leaf).problems("a.pem: the certificate of its issuer is missing")
	newTree(t).pair("a", leaf, root).clean()
}

func TestChainsShareIssuers(t *testing.T) {
	root := authority(t, "root", nil)
	s := newTree(t).pair("a", server(t, root, "a.example"), root).pair("b", server(t, root, "b.example"), root).clean()
	if a, b := s.Pairs()[0].Chain[1], s.Pairs()[1].Chain[1]; &a[0] != &b[0] {
		t.Error("the issuer is in memory twice")
	}
}
