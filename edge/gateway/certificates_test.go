package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edge/certstore"
)

// loadCerts loads a directory as a watcher does, after what was in service.
func loadCerts(t *testing.T, dir string, before *certstore.Snapshot) *certstore.Snapshot {
	t.Helper()
	snap, _, err := certstore.Load(dir, before, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// A pair that TLS cannot send, here for its size, is named once and left out; the
// others are served, even if it would have been the default one.
func TestUnusableCertificateIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	many := []string{"big.example"}
	for i := range 6000 {
		many = append(many, fmt.Sprintf("%s%d.big.example", strings.Repeat("a", 40), i))
	}
	writeCertificate(t, dir, "a.pem", "a.example")
	writeCertificate(t, dir, "default.pem", many...)
	snap := loadCerts(t, dir, nil)
	if snap.Len() != 2 {
		t.Fatalf("the store has %d pairs: %v", snap.Len(), snap.Problems())
	}
	certs, refused := newCertificates(snap, &certificates{})
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "default.pem is not served: ") {
		t.Errorf("refused: %v", refused)
	}
	if len(certs.Credentials([]byte("a.example"))) != 1 || len(certs.Default()) != 1 {
		t.Error("the other pair is not served, or not by default")
	}
	if len(certs.Credentials([]byte("big.example"))) != 0 || (&generation{certs: certs}).holds([]byte("big.example")) {
		t.Error("the unusable pair is held")
	}
	again, refused := newCertificates(loadCerts(t, dir, snap), certs)
	if len(refused) != 0 || len(again.Default()) != 1 {
		t.Errorf("the same once more: %v", refused)
	}
}

// What was made for a pair is kept while the pair is the same, and only against
// the snapshot that the new one follows: indices of another one mean nothing.
func TestCredentialsAreKept(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir, "b.pem", "b.example")
	first := loadCerts(t, dir, nil)
	old, _ := newCertificates(first, &certificates{})
	writeCertificate(t, dir, "a.pem", "a.example") // takes index 0
	second := loadCerts(t, dir, first)
	next, _ := newCertificates(second, old)
	b := []byte("b.example")
	if next.Credentials(b)[0] != old.Credentials(b)[0] {
		t.Error("an unchanged pair was made again")
	}
	third := loadCerts(t, dir, second)
	skipped, _ := newCertificates(third, old)
	for _, name := range []string{"a.example", "b.example"} {
		cred := skipped.Credentials([]byte(name))[0]
		if string(cred.Chain[0]) != string(third.Match([]byte(name)).Pairs[0].Chain[0]) || cred == old.Credentials(b)[0] {
			t.Errorf("%s: a credential was taken over from a snapshot that is not followed", name)
		}
	}
}
