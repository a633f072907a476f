package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/certstore"
	"edge/edge/reactor/sim"
)

// writeCertificate writes a certificate for names, with its key, to a file of dir.
func writeCertificate(t *testing.T, dir, file string, names ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: file}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(filepath.Join(dir, file), both, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A redirect leads to https and to a host we hold a certificate for, whatever the
// request says; no byte of a request begins another field or another host (P13).
func TestRedirectsLeadNowhereElse(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir, "a.pem", "a.example", "*.b.example")
	snap, _, err := certstore.Load(dir, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certs, _ := newCertificates(snap, &certificates{})
	for _, c := range []struct{ line, host, want string }{
		{"GET / HTTP/1.1", "a.example", "https://a.example/"},
		{"GET /x/y?z=1 HTTP/1.1", "A.Example.:80", "https://a.example/x/y?z=1"},
		{"GET /? HTTP/1.1", "a.example", "https://a.example/?"},
		{"GET / HTTP/1.1", "w.b.example:8080", "https://w.b.example/"},
		{"GET //evil.example/ HTTP/1.1", "a.example", "https://a.example//evil.example/"},
		{"GET /%5cevil.example HTTP/1.1", "a.example", "https://a.example/%5cevil.example"},
		{"GET /%0d%0aX:1 HTTP/1.1", "a.example", "https://a.example/%0d%0aX:1"},
		{"GET /%2f%2fevil HTTP/1.1", "a.example", "https://a.example/%2f%2fevil"},
		{"GET /.well-known/acme-challenge/x HTTP/1.1", "a.example", "https://a.example/.well-known/acme-challenge/x"},
		{"GET http://a.example/x HTTP/1.1", "evil.example", "https://a.example/x"},
		{"GET http://evil.example/x HTTP/1.1", "a.example", ""},
		{"GET / HTTP/1.1", "evil.example", ""},
		{"GET / HTTP/1.1", "a.example.evil.example", ""},
		{"GET / HTTP/1.1", "a.b.b.example", ""},
		{"GET / HTTP/1.1", "192.0.2.1", ""},
		{"OPTIONS * HTTP/1.1", "a.example", "https://a.example"},
	} {
		b := newBench(t, benchOptions{sim: sim.Options{Calm: true}, noSite: true})
		b.s.current().certs = certs
		b.w.listeners[0].redirect, b.w.listeners[0].securePort = true, 443
		raw := b.ask(c.line + "\r\nHost: " + c.host + "\r\n\r\n")
		resp := exchanged(t, raw, strings.Fields(c.line)[0])[0]
		status := 308
		if c.want == "" {
			status = 421
		}
		if got := resp.Header.Get("Location"); resp.StatusCode != status || got != c.want || len(resp.Header["X"]) > 0 {
			t.Errorf("%s, Host %q: %d to %q, want %d to %q", c.line, c.host, resp.StatusCode, got, status, c.want)
		}
		b.done()
	}
}

// Another port than 443 is part of the address.
func TestRedirectNamesThePort(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir, "a.pem", "a.example")
	snap, _, err := certstore.Load(dir, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, benchOptions{noSite: true})
	b.s.current().certs, _ = newCertificates(snap, &certificates{})
	b.w.listeners[0].redirect, b.w.listeners[0].securePort = true, 8443
	if got := exchanged(t, b.ask("GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n"), "GET")[0].Header.Get("Location"); got != "https://a.example:8443/x" {
		t.Errorf("Location %q", got)
	}
	b.done()
}
