package echcheck

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/ech"
	"edge/edge/dnspub"
	"edge/edge/dnspub/dnstest"
)

// authority issues certificates that are valid at now.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func (a *authority) issue(t *testing.T, names ...string) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: names, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serve is a TLS server with ECH that we did not write, until the test ends.
func serve(t *testing.T, conf *tls.Config) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(10 * time.Second))
				server := tls.Server(conn, conf)
				if server.Handshake() == nil {
					server.Read(make([]byte, 1))
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// serverKeys are keys as crypto/tls takes them. Those in retry are given out.
func (k *keys) serverKeys(names, retry []string) []tls.EncryptedClientHelloKey {
	k.t.Helper()
	var out []tls.EncryptedClientHelloKey
	for _, name := range names {
		key := k.by[name]
		data, err := os.ReadFile(filepath.Join(k.dir, key.File))
		if err != nil {
			k.t.Fatal(err)
		}
		block, _ := pem.Decode(data)
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			k.t.Fatal(err)
		}
		out = append(out, tls.EncryptedClientHelloKey{Config: key.Config.Raw, PrivateKey: parsed.(*ecdh.PrivateKey).Bytes(), SendAsRetry: slices.Contains(retry, name)})
	}
	return out
}

// TestConnect: what DNS has and what the server holds and gives out decide about
// two handshakes.
func TestConnect(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	k := newKeys(t)
	k.add("old", ech.KEMX25519, 48*time.Hour, 24*time.Hour)
	k.add("a", ech.KEMX25519, 24*time.Hour)
	both := []string{"a", "old"}
	for _, c := range []struct {
		what        string
		published   string
		holds       []string
		givesOut    []string
		names       []string // of its certificate
		roots       *x509.CertPool
		outcomes    string
		want, never string
	}{
		{"accepted", "a", both, []string{"a"}, []string{hidden, "public.example"}, ca.roots(), "accepted, rejected with a", "", "fail: "},
		{"gives out a stale key", "a", both, []string{"old"}, []string{hidden, "public.example"}, ca.roots(), "accepted, rejected with old", "gives out the configs #old, and DIR holds #a: reload it (SIGHUP)", "fail: "},
		{"gives out nothing", "a", both, nil, []string{hidden, "public.example"}, ca.roots(), "accepted, rejected with nothing", "gives no retry_configs: clients with a list from before go on without ECH", "fail: "},
		{"rejected, then accepted", "a", []string{"old"}, []string{"old"}, []string{hidden, "public.example"}, ca.roots(), "rejected with old, accepted", "fail: ADDRESS rejected DNS of SERVER: it holds other keys than are published", ""},
		{"rejected for good", "a", nil, nil, []string{hidden, "public.example"}, ca.roots(), "rejected with nothing", "and gave no retry_configs: it has no keys, or public.example is relayed", ""},
		{"no certificate for the hidden name", "a", both, []string{"a"}, []string{"public.example"}, ca.roots(), "accepted, rejected with a", "warn: the certificate of ADDRESS for hidden.example is not valid", "fail: "},
		{"no certificate for the public name", "a", both, []string{"a"}, []string{hidden}, ca.roots(), "accepted, rejected with a", "for public.example is not valid: x509: certificate is valid for hidden.example, not public.example: clients do not believe its retry_configs (RFC 9849, 6.1.6)", "fail: "},
		{"unknown authority", "a", both, []string{"a"}, []string{hidden, "public.example"}, stranger.roots(), "accepted, rejected with a", "certificate signed by unknown authority", "fail: "},
		{"nothing published", "", both, []string{"a"}, []string{hidden, "public.example"}, ca.roots(), "accepted, rejected with a", "has no HTTPS record", ""},
	} {
		address := serve(t, &tls.Config{
			Certificates: []tls.Certificate{ca.issue(t, c.names...)}, EncryptedClientHelloKeys: k.serverKeys(c.holds, c.givesOut),
			MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"},
		})
		var records []string
		if c.published != "" {
			records = append(records, hidden+". 300 HTTPS 1 . ech="+k.list(c.published))
		}
		there := dnstest.Start(t, []string{"example."}, nil, records...)
		server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
		r := Run(t.Context(), Options{
			Owner: ownerOf(t, hidden), Servers: []*dnspub.Server{server}, Keys: k.listing(), Dir: k.dir, Now: now,
			Connect: address, Roots: c.roots, Timeout: 5 * time.Second,
		})
		if got := k.outcomes(r); got != c.outcomes {
			t.Errorf("%s: %s; want %s", c.what, got, c.outcomes)
		}
		got := findings(r)
		want := strings.NewReplacer("ADDRESS", address, "SERVER", there.Address).Replace(k.fill(c.want))
		if !strings.Contains(got, want) || want == "" && got != "" || c.never != "" && strings.Contains(got, c.never) {
			t.Errorf("%s: found\n%s\nwant\n%s", c.what, got, want)
		}
		k.checkSecrets(got)
	}
}

// outcomes shows the handshakes of a report.
func (k *keys) outcomes(r *Report) string {
	var all []string
	for _, c := range r.Connections {
		switch {
		case c.Accepted:
			all = append(all, "accepted")
		case !c.Rejected:
			all = append(all, c.Error)
		default:
			what := "nothing"
			for name, key := range k.by {
				if len(c.Retry) == 1 && c.Retry[0].ID == key.Config.ID {
					what = name
				}
			}
			all = append(all, "rejected with "+what)
		}
	}
	return strings.Join(all, ", ")
}

// Servers that are none, or know nothing of TLS 1.3, are said to be that.
func TestConnectFails(t *testing.T) {
	k := newKeys(t)
	k.add("a", ech.KEMX25519, 24*time.Hour)
	there := dnstest.Start(t, []string{"example."}, nil, hidden+". 300 HTTPS 1 . ech="+k.list("a"))
	server := &dnspub.Server{Address: there.Address, Timeout: 2 * time.Second}
	old := serve(t, &tls.Config{Certificates: []tls.Certificate{newAuthority(t).issue(t, hidden)}, MaxVersion: tls.VersionTLS12})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for address, want := range map[string]string{
		"127.0.0.1:1":            "connection refused",
		old:                      "fail: " + old,
		silent.Addr().String():   "deadline exceeded",
		"no-such-host.invalid:1": "no-such-host.invalid",
	} {
		timeout := 5 * time.Second
		if address == silent.Addr().String() {
			timeout = 50 * time.Millisecond
		}
		r := Run(t.Context(), Options{Owner: ownerOf(t, hidden), Servers: []*dnspub.Server{server}, Keys: k.listing(), Dir: k.dir, Now: now, Connect: address, Timeout: timeout})
		if got := findings(r); !strings.Contains(got, want) || !r.Failed() {
			t.Errorf("%s: %q", address, got)
		}
	}
	r := Run(t.Context(), Options{Owner: ownerOf(t, "none.example"), Servers: []*dnspub.Server{server}, Now: now, Connect: old, Timeout: time.Second})
	if got := findings(r); !strings.Contains(got, "there is no config to connect with") || len(r.Connections) != 0 {
		t.Error(got)
	}
}

// What a list from long ago gets is what a config to nobody's key gets.
func TestForeignList(t *testing.T) {
	k := newKeys(t)
	k.add("a", ech.KEMP256, 0)
	raw, err := base64.StdEncoding.DecodeString(k.list("a"))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := foreignList(raw)
	if err != nil {
		t.Fatal(err)
	}
	configs, err := readList(foreign, k.listing().Set)
	if err != nil || len(configs) != 1 || configs[0].PublicName != "public.example" || configs[0].Role != "unknown" || configs[0].Unusable != "" {
		t.Errorf("%+v, %v", configs, err)
	}
	for _, bad := range [][]byte{nil, []byte("\x00\x08\xfe\x0a\x00\x04\x00\x00\x00\x00")} {
		if _, err := foreignList(bad); err == nil {
			t.Errorf("a list from %x", bad)
		}
	}
}
