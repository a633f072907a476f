package certstore

import (
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
)

// Field case S08, names: exact before wildcard, a wildcard for one label alone, and the
// default where nothing fits.
func TestMatchExactWildcardDefault(t *testing.T) {
	exact, wild, other := server(t, nil, "a.example"), server(t, nil, "*.example"), server(t, nil, "other.test")
	s := newTree(t).pair("a.example/x", exact).pair("w/x", wild).pair("default/x", other).clean()
	want(t, s, "a.example", exact, wild)
	want(t, s, "b.example", wild)
	want(t, s, "_b.example", wild)
	want(t, s, "x.y.example")
	want(t, s, "example")
	want(t, s, "")
	want(t, s, ".example")
	want(t, s, "*.example", wild) // cannot come from AppendName
	want(t, s, "other.test", other)
	wantDefault(t, s, other)
}

func TestMatchOrder(t *testing.T) {
	make := func(template x509.Certificate, key string) *signed {
		template.DNSNames = []string{"a.example"}
		keys := map[string]func() *signed{
			"p256": func() *signed { return issue(t, &template, p256(t), nil) },
			"p384": func() *signed { return issue(t, &template, p384(t), nil) },
			"ed":   func() *signed { return issue(t, &template, ed(t), nil) },
			"rsa":  func() *signed { return issue(t, &template, rsa2048(), nil) },
		}
		return keys[key]()
	}
	order := []*signed{
		make(x509.Certificate{NotAfter: now.Add(90 * days)}, "p256"),
		make(x509.Certificate{NotAfter: now.Add(30 * days)}, "p256"),
		make(x509.Certificate{}, "ed"),
		make(x509.Certificate{}, "p384"),
		make(x509.Certificate{}, "rsa"),
		make(x509.Certificate{NotBefore: now.Add(days)}, "p256"),
		make(x509.Certificate{NotAfter: now.Add(-days)}, "p256"),
		make(x509.Certificate{NotAfter: now.Add(-days)}, "rsa"),
	}
	for shift := range order {
		tr := newTree(t)
		for i := range order {
			tr.pair(fmt.Sprint(i), order[(i+shift)%len(order)])
		}
		s, _ := tr.load(nil)
		want(t, s, "a.example", order...)
	}
}

func TestMatchExpiredBehindWildcard(t *testing.T) {
	old := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, NotAfter: now.Add(-days)}, p256(t), nil)
	wild := issue(t, &x509.Certificate{DNSNames: []string{"*.example"}}, rsa2048(), nil)
	both := server(t, nil, "*.example", "b.example")
	s, _ := newTree(t).pair("old", old).pair("wild", wild).pair("both", both).load(nil)
	want(t, s, "a.example", both, wild, old)
	want(t, s, "b.example", both, wild)
}

func TestMatchCandidatesMax(t *testing.T) {
	tr := newTree(t)
	for i := range candidatesMax + 3 {
		tr.pair(fmt.Sprint(i), server(t, nil, "a.example"))
	}
	if n := len(tr.clean().Match([]byte("a.example")).Pairs); n != candidatesMax {
		t.Errorf("%d candidates, want %d", n, candidatesMax)
	}
}

func TestDefault(t *testing.T) {
	a, b := server(t, nil, "b.example"), server(t, nil, "a.example")
	old := issue(t, &x509.Certificate{DNSNames: []string{"old.example"}, NotAfter: now.Add(-days)}, p256(t), nil)
	second := issue(t, &x509.Certificate{DNSNames: []string{"b.example"}}, rsa2048(), nil)
	nameless := issue(t, &x509.Certificate{}, p256(t), nil)

	s, _ := newTree(t).pair("0old", old).pair("1a", a).pair("2b", b).pair("3second", second).load(nil)
	wantDefault(t, s, a, second)

	s, _ = newTree(t).pair("0old", old).load(nil)
	wantDefault(t, s, old)

	s, _ = newTree(t).pair("0", nameless).pair("1", a).load(nil)
	wantDefault(t, s, nameless)

	both := server(t, nil, "*.b.example", "b.example")
	s = newTree(t).pair("0", both).pair("1", second).clean()
	wantDefault(t, s, both, second)

	wild := server(t, nil, "*.b.example")
	s = newTree(t).pair("0", wild).pair("1", second).clean()
	wantDefault(t, s, wild)

	s = newTree(t).pair("0", a).pair("default-rsa", second).pair("default", b).clean()
	wantDefault(t, s, b, second)

	s, _ = newTree(t).load(nil)
	wantDefault(t, s)
	if s.Default() != nil || s.Match([]byte("a.example")) != nil {
		t.Error("an empty directory has entries")
	}
}

func TestIndicesAreDense(t *testing.T) {
	tr := newTree(t)
	for i := range 20 {
		tr.pair(fmt.Sprint(i), server(t, nil, fmt.Sprintf("%d.example", i), fmt.Sprintf("www.%d.example", i), "*.wild.example"))
	}
	s := tr.clean()
	for i, p := range s.Pairs() {
		if p.Index != i || p.PreviousIndex != -1 {
			t.Errorf("pair %d has index %d, previous %d", i, p.Index, p.PreviousIndex)
		}
	}
	for i, e := range s.Entries() {
		if e.Index != i {
			t.Errorf("entry %d has index %d", i, e.Index)
		}
	}
	if n := s.NameCount(); n != 41 {
		t.Errorf("%d names, want 41", n)
	}
	// Names with the same candidates share an entry.
	if a, b := s.Match([]byte("1.example")), s.Match([]byte("www.1.example")); a == nil || a != b {
		t.Errorf("entries %p and %p for the names of one certificate", a, b)
	}
	if !slices.Contains(s.Entries(), s.Default()) {
		t.Error("the default entry is not among the entries")
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	s := newTree(t).pair("a", server(t, nil, "a.example", "*.b.example")).clean()
	names := [][]byte{[]byte("a.example"), []byte("x.b.example"), []byte("unknown.example"), []byte("localhost"), nil}
	found := 0
	allocs := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			if s.Match(name) != nil {
				found++
			}
		}
		if s.Default() == nil {
			t.Error("no default")
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if found != 101*2 {
		t.Errorf("%d names found, want %d", found, 101*2)
	}
}

func BenchmarkMatch(b *testing.B) {
	tr := newTree(b)
	for i := range 1000 {
		tr.pair(fmt.Sprint(i), server(b, nil, fmt.Sprintf("%d.example", i)))
	}
	s, _ := tr.load(nil)
	name := []byte("777.example")
	b.ReportAllocs()
	for b.Loop() {
		if s.Match(name) == nil {
			b.Fatal("not found")
		}
	}
}
