package certstore

import (
	"slices"
	"testing"
)

// stepper changes a tree, loads it with the snapshot before, and compares what is
// served for a.example and the problems.
type stepper struct {
	*tree
	s *Snapshot
}

func (st *stepper) step(why string, serve *signed, kept bool, problems ...string) *Report {
	st.t.Helper()
	s, r := st.load(st.s)
	st.s = s
	var certs []*signed
	if serve != nil {
		certs = append(certs, serve)
	}
	if got, want := serves(st.t, s, "a.example"), serialsIn(certs); !slices.Equal(got, want) {
		st.t.Errorf("%s: served by %v, want %v", why, got, want)
	}
	if e := s.Match([]byte("a.example")); e != nil && e.Pairs[0].Kept != kept {
		st.t.Errorf("%s: kept is %v", why, e.Pairs[0].Kept)
	}
	st.compare(r.Problems, problems)
	return r
}

// Field case S05: certificate and key come one after the other, in either order.
func TestKeepThroughMismatch(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	belongs := " belongs to another certificate (the pair loaded before stays in service)"
	t.Run("certificate first", func(t *testing.T) {
		st := &stepper{tree: newTree(t).pair("x", was)}
		st.step("before", was, false)
		st.write("x.pem", chainPEM(next))
		if r := st.step("between", was, true, belongs); len(r.Fresh) != 1 || !slices.Equal(r.Kept, []string{st.path("x.pem")}) {
			t.Errorf("report %+v", r)
		}
		if r := st.step("still between", was, true, belongs); len(r.Fresh) != 0 || r.Changed() {
			t.Errorf("told again: %+v", r)
		}
		st.write("x.key", next.keyPEM())
		if r := st.step("after", next, false); r.Solved != 1 || !slices.Equal(r.Renewed, []string{st.path("x.pem")}) {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("key first", func(t *testing.T) {
		st := &stepper{tree: newTree(t).pair("x", was)}
		st.step("before", was, false)
		st.write("x.key", next.keyPEM())
		st.step("between", was, true, belongs)
		st.write("x.pem", chainPEM(next))
		st.step("after", next, false)
	})
}

// Field case S05, the files that cannot be read: the old pair stays, and each is named.
func TestKeepThroughBrokenFiles(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	cert, key := chainPEM(next), next.keyPEM()
	const kept = "(the pair loaded before stays in service)"
	tests := []struct{ why, file, data string }{
		{"empty certificate", "x.pem", ""},
		{"half a certificate", "x.pem", cert[:len(cert)/2]},
		{"DER certificate", "x.pem", string(next.x.Raw)},
		{"text", "x.pem", "hello"},
		{"empty key", "x.key", ""},
		{"half a key", "x.key", key[:len(key)/2]},
		{"encrypted key", "x.key", block64("ENCRYPTED PRIVATE KEY", "x")},
	}
	for _, test := range tests {
		t.Run(test.why, func(t *testing.T) {
			tr := newTree(t).pair("x", was)
			s := tr.clean()
			s, r := tr.write(test.file, test.data).load(s)
			want(t, s, "a.example", was)
			if len(r.Problems) == 0 || !slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.File == tr.path(test.file) && !p.Warning }) {
				t.Errorf("%s is not reported: %v", test.file, r.Problems)
			}
			s, _ = tr.pair("x", next).load(s)
			want(t, s, "a.example", next)
			if len(s.Problems()) != 0 {
				t.Errorf("problems in the end: %v", s.Problems())
			}
		})
	}
	t.Run("one file", func(t *testing.T) {
		st := &stepper{tree: newTree(t).write("x.pem", chainPEM(was)+was.keyPEM())}
		st.step("before", was, false)
		st.write("x.pem", cert+key[:50])
		st.step("half written", was, true, kept)
		st.write("x.pem", cert+key)
		st.step("after", next, false)
	})
}

// TestKeepTellsTheCauseAlone has both files replaced, one of them badly.
func TestKeepTellsTheCauseAlone(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	st := &stepper{tree: newTree(t).pair("x", was)}
	st.step("before", was, false)
	st.pair("x", next).write("x.pem", chainPEM(next)[:100])
	st.step("new key, half a certificate", was, true, "x.pem: cut short")
	st.pair("x", next).write("x.key", "")
	st.step("new certificate, no key", was, true, "x.key: empty file", "x.pem: no readable private key")
}

func TestKeepThroughRemoval(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	st := &stepper{tree: newTree(t).pair("x", was)}
	st.step("before", was, false)
	st.remove("x.pem")
	st.step("certificate gone", was, true, "x.pem: makes no pair with ")
	st.write("x.pem", chainPEM(was))
	st.step("back again", was, false)
	st.remove("x.key")
	st.step("key gone", was, true, "x.pem: no readable private key belongs to this certificate (the pair loaded before stays in service)")
	st.remove("x.pem")
	r := st.step("both gone", nil, false, ": empty directory")
	if !slices.Equal(r.Removed, []string{st.path("x.pem")}) {
		t.Errorf("removed: %v", r.Removed)
	}
	st.pair("y", next)
	st.step("another", next, false)
	st.write("z.pem", chainPEM(next)).remove("y.pem")
	st.step("certificate renamed", next, false)
}

// TestKeepPrefersTheLongerChain is certbot's directory with one file half written.
func TestKeepPrefersTheLongerChain(t *testing.T) {
	root := authority(t, "root", nil)
	was := server(t, root, "a.example")
	st := &stepper{tree: newTree(t).write("cert.pem", chainPEM(was)).write("fullchain.pem", chainPEM(was, root)).write("privkey.pem", was.keyPEM())}
	st.step("before", was, false)
	st.write("fullchain.pem", chainPEM(was, root)[:100])
	st.step("half written", was, true, "fullchain.pem: cut short")
	if n := len(st.s.Pairs()[0].Chain); st.s.Len() != 1 || n != 2 {
		t.Errorf("%d pairs, the first with a chain of %d", st.s.Len(), n)
	}
}

// Field case S03: the ..data link of a Kubernetes mount is swapped, again and again.
func TestKubernetesSwap(t *testing.T) {
	st := &stepper{tree: newTree(t)}
	var last *signed
	for i, generation := range []string{"..2026_1", "..2026_2", "..2026_3"} {
		c := server(t, nil, "a.example")
		st.write("a/"+generation+"/tls.crt", chainPEM(c)).write("a/"+generation+"/tls.key", c.keyPEM())
		if i == 0 {
			st.link("a/tls.crt", "..data/tls.crt").link("a/tls.key", "..data/tls.key")
		} else {
			st.step("new generation not yet linked", last, false)
		}
		st.link("a/..data", generation)
		st.step("after the swap", c, false)
		if i > 0 {
			st.remove("a/..2026_" + string(rune('0'+i)))
			st.step("old generation gone", c, false)
		}
		if st.s.Len() != 1 {
			t.Errorf("%d pairs: a generation was taken for a directory of its own", st.s.Len())
		}
		last = c
	}
	st.link("a/..data", "..gone")
	st.step("dangling", last, true, "a/tls.crt: a link to nothing (the pair", "a/tls.key: a link to nothing (the pair")
}

// Field case S04: certbot's live/ tree, with entries that are broken.
func TestCertbotTree(t *testing.T) {
	root := authority(t, "root", nil)
	was, next := server(t, root, "a.example"), server(t, root, "a.example")
	tr := newTree(t)
	put := func(c *signed, n string) {
		tr.write("archive/a/fullchain"+n+".pem", chainPEM(c, root)).write("archive/a/cert"+n+".pem", chainPEM(c)).
			write("archive/a/chain"+n+".pem", chainPEM(root)).write("archive/a/privkey"+n+".pem", c.keyPEM())
	}
	relink := func(n string) {
		for _, f := range []string{"fullchain", "cert", "chain", "privkey"} {
			tr.link("live/a/"+f+".pem", "../../archive/a/"+f+n+".pem")
		}
	}
	put(was, "3")
	relink("3")
	tr.write("live/README", "This directory contains your keys and certificates.\n").write("renewal/a.conf", "version = 1\n").
		write("live/d/x", "").remove("live/d/x").
		link("live/c/fullchain.pem", "../../archive/c/fullchain1.pem").
		write("live/b/fullchain.pem", chainPEM(server(t, root, "b.example"), root)).
		write("live/b/privkey.pem", "-----BEGIN PRIVATE KEY-----\n")
	problems := []string{
		"b/fullchain.pem: no readable private key",
		"b/privkey.pem: cut short",
		"c/fullchain.pem: a link to nothing",
		"d: empty directory",
	}
	for _, dir := range []string{tr.dir, tr.path("live")} {
		st := &stepper{tree: &tree{t, dir}}
		tr.remove("archive/a")
		put(was, "3")
		relink("3")
		st.step("before", was, false, problems...)
		if p := st.s.Pairs()[0]; st.s.Len() != 1 || len(p.Chain) != 2 || p.CertFile != tr.path("live/a/fullchain.pem") {
			t.Errorf("%d pairs, the first of %s with a chain of %d", st.s.Len(), p.CertFile, len(p.Chain))
		}
		put(next, "4")
		st.step("renewed, not relinked", was, false, problems...)
		relink("4")
		st.step("relinked", next, false, problems...)
	}
}

func TestLinkedDirectories(t *testing.T) {
	c := server(t, nil, "a.example")
	tr := newTree(t).pair("real/x", c).link("again", "real").link("real/loop", "..").link("self", "self")
	s := tr.problems("self: a link that leads back to itself")
	if s.Len() != 1 {
		t.Errorf("%d pairs of one directory", s.Len())
	}
	deep := newTree(t).pair("1/2/3/4/x", c).pair("1/2/3/4/5/y", server(t, nil, "b.example"))
	if s := deep.clean(); s.Len() != 1 {
		t.Errorf("%d pairs, want only that of the fourth level", s.Len())
	}
}

func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	a, b := server(t, nil, "a.example"), server(t, nil, "b.example")
	tr := newTree(t).pair("a", a).pair("b", b)
	first := tr.clean()
	next := server(t, nil, "b.example")
	second, r := tr.pair("b", next).load(first)
	p, q := first.Pairs()[0], second.Pairs()[0]
	if q.PreviousIndex != p.Index || &p.Chain[0][0] != &q.Chain[0][0] {
		t.Errorf("the unchanged pair was read again: previous index %d", q.PreviousIndex)
	}
	if q := second.Pairs()[1]; q.PreviousIndex != -1 {
		t.Errorf("the changed pair has previous index %d", q.PreviousIndex)
	}
	if !slices.Equal(r.Renewed, []string{tr.path("b.pem")}) || len(r.Added)+len(r.Removed)+len(r.Kept) != 0 {
		t.Errorf("report %+v", r)
	}
	third, r := tr.pair("b", next).load(second) // the same, written again
	if r.Changed() || third.Pairs()[1].PreviousIndex != 1 {
		t.Errorf("report %+v of an unchanged tree", r)
	}
}
