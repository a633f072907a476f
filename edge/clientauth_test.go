package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a := &authority{t: t, key: key}
	a.cert, a.pem = a.sign(template, template, key)
	return a
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue makes a certificate; edit changes what it says.
func (a *authority) issue(edit func(*x509.Certificate)) *tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "Änna, \"A\"", Organization: []string{"Example"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if edit != nil {
		edit(template)
	}
	leaf, _ := a.sign(template, a.cert, key)
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
}

// write writes a certificate and its key to files.
func (a *authority) write(c *tls.Certificate, certFile, keyFile string) {
	a.t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	writeFile(a.t, certFile, append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), a.pem...))
	writeFile(a.t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

// withClient is a client configuration that shows c, whatever authorities the
// server names; nil: none.
func (in *instance) withClient(c *tls.Certificate) *tls.Config {
	conf := in.config()
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if c == nil {
			return new(tls.Certificate), nil
		}
		return c, nil
	}
	return conf
}

// Client certificates: who gets in, and the alert of who does not (RFC 9846, 4.5.1.3
// and 6.2). The client learns of a refusal when it reads.
func TestClientCertificates(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, caFile, ours.pem)
	dir := site(t)
	const unsupported, expired, unknownCA, required = 43, 45, 48, 116
	for _, mode := range []string{"request", "require"} {
		in := serveDev(t, "--client-auth", mode, "--client-ca", caFile, dir)
		for _, c := range []struct {
			name  string
			cert  *tls.Certificate
			alert tls.AlertError
		}{
			{"good", ours.issue(nil), 0},
			{"none", nil, required},
			{"another authority", theirs.issue(nil), unknownCA},
			{"expired", ours.issue(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), expired},
			{"for servers", ours.issue(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }), unsupported},
		} {
			t.Run(mode+" "+c.name, func(t *testing.T) {
				conn, err := in.handshake(in.withClient(c.cert), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if c.alert == 0 || c.cert == nil && mode == "request" {
					expectPage(t, conn)
					return
				}
				_, _, err = get(conn, "/")
				expectAlert(t, err, c.alert)
			})
		}
	}
}

// What is known of the client's certificate reaches applications and the access
// log, by resumed connections too; what a client says of itself does not.
func TestClientCertificateFacts(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Client-Cert", "X-Client-Cert-Subject", "X-Client-Cert-SHA256"} {
			io.WriteString(w, strings.Join(r.Header.Values(name), "|")+"\n")
		}
	}))
	defer app.Close()
	ours := newAuthority(t, "ours")
	dir := t.TempDir()
	caFile, accessLog := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "access.log")
	writeFile(t, caFile, ours.pem)
	in := serveDev(t, "--client-auth", "request", "--client-ca", caFile, "--proxy", app.URL, "--access-log", accessLog)
	client := ours.issue(nil)
	sum := sha256.Sum256(client.Leaf.Raw)
	const subject = `CN=\C3\84nna\, \"A\",O=Example`
	want := ":" + base64.StdEncoding.EncodeToString(client.Leaf.Raw) + ":\n" + subject + "\n" + hex.EncodeToString(sum[:]) + "\n"
	conf := in.withClient(client)
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for _, c := range []struct {
		conf    *tls.Config
		resumed bool
		want    string
	}{{conf, false, want}, {conf, true, want}, {in.withClient(nil), false, "\n\n\n"}} {
		conn, err := in.handshake(c.conf, nil)
		if err != nil {
			t.Fatal(err)
		}
		req := "GET / HTTP/1.1\r\nHost: localhost\r\nClient-Cert: :AAAA:\r\nX-Client-Cert-Subject: CN=root\r\nX-Client-Cert-SHA256: 00\r\nConnection: close\r\n\r\n"
		if _, err := io.WriteString(conn, req); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if _, body, _ := strings.Cut(string(answer), "\r\n\r\n"); err != nil || body != c.want {
			t.Errorf("resumed %v: the application saw %q, %v; want %q", c.resumed, body, err, c.want)
		}
		if got := conn.ConnectionState().DidResume; got != c.resumed {
			t.Errorf("resumed %v, want %v", got, c.resumed)
		}
		conn.Close()
	}
	in.stop()
	var subjects []string
	for line := range strings.Lines(string(readFile(t, accessLog))) {
		var l struct {
			Client string
			SHA    string `json:"client_sha256"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Client != "" && l.SHA != hex.EncodeToString(sum[:]) {
			t.Errorf("SHA-256 in the log: %q", l.SHA)
		}
		subjects = append(subjects, l.Client)
	}
	if len(subjects) != 3 || subjects[0] != subject || subjects[1] != subject || subjects[2] != "" {
		t.Errorf("subjects in the log: %q", subjects)
	}
}

// The authorities are part of a reload: with other ones, who came before is asked
// Programs are given what a client's certificate says.
func TestProgramsSeeClientCertificates(t *testing.T) {
	ours := newAuthority(t, "ours")
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, caFile, ours.pem)
	in := serveDev(t, "--client-auth", "request", "--client-ca", caFile, "--script", "../testvectors/bpf/scripts/client.o", site(t))
	client := ours.issue(func(c *x509.Certificate) {
		c.DNSNames, c.EmailAddresses = []string{"a.example", "b.example"}, []string{"a@b.example"}
		c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1).To4(), net.ParseIP("2001:db8::1")}
		c.URIs = []*url.URL{{Scheme: "spiffe", Host: "a", Path: "/b"}}
	})
	sum := sha256.Sum256(client.Leaf.Raw)
	for _, c := range []struct {
		shown *tls.Certificate
		want  string
	}{
		{client, `subject=CN=\C3\84nna\, \"A\",O=Example` + "\nissuer=CN=ours\nsha256=" + hex.EncodeToString(sum[:]) +
			"\nDNS:a.example DNS:b.example email:a@b.example IP:192.0.2.1 IP:2001:db8::1 URI:spiffe://a/b "},
		{nil, "subject=none\nissuer=none\nsha256=none\n"},
	} {
		conn, err := in.handshake(in.withClient(c.shown), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, body, err := get(conn, "/client"); err != nil || string(body) != c.want {
			t.Errorf("the program saw %q, %v\nwant %q", body, err, c.want)
		}
		conn.Close()
	}
}

// again, and a file that cannot be read changes nothing.
func TestClientAuthoritiesAreReloaded(t *testing.T) {
	first, second := newAuthority(t, "first"), newAuthority(t, "second")
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, caFile, first.pem)
	in := serveDev(t, "--client-auth", "require", "--client-ca", caFile, site(t))
	caches := map[*authority]tls.ClientSessionCache{first: tls.NewLRUClientSessionCache(4), second: tls.NewLRUClientSessionCache(4)}
	certs := map[*authority]*tls.Certificate{first: first.issue(nil), second: second.issue(nil)}
	served := func(a *authority) bool {
		conf := in.withClient(certs[a])
		conf.ClientSessionCache = caches[a]
		conn, err := in.handshake(conf, nil)
		if err != nil {
			return false
		}
		defer conn.Close()
		_, body, err := get(conn, "/")
		return err == nil && body == page
	}
	if !served(first) || served(second) {
		t.Fatal("at the start it is not the first authority that counts")
	}
	writeFile(t, caFile, []byte("nothing\n"))
	in.hangup("reload (SIGHUP) failed, generation 1 stays in service: --client-ca " + caFile)
	if !served(first) {
		t.Error("a file that was refused changed something")
	}
	writeFile(t, caFile, second.pem)
	in.hangup("reload (SIGHUP): generation 2 is in service")
	if served(first) || !served(second) {
		t.Error("after the reload it is not the second authority that counts")
	}
}

func (in *instance) hangup(want string) {
	in.t.Helper()
	if err := in.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		in.t.Fatal(err)
	}
	in.waitStderr(want)
}

func TestOpenSSLClientCertificate(t *testing.T) {
	ours := newAuthority(t, "ours")
	dir := t.TempDir()
	caFile, certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeFile(t, caFile, ours.pem)
	ours.write(ours.issue(nil), certFile, keyFile)
	in := serveDev(t, "--client-auth", "require", "--client-ca", caFile, site(t))
	out, err := in.sClient(t, "-cert", certFile, "-key", keyFile)
	if err != nil || !strings.Contains(out, page) || !strings.Contains(out, "Acceptable client certificate CA names\nCN = ours") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _ := in.sClient(t); !strings.Contains(out, "certificate required") || strings.Contains(out, page) {
		t.Errorf("without a certificate:\n%s", out)
	}
	in.waitStderr("certificate_required")
}

// The OCSP response beside a certificate is sent to who asks for it.
func TestStaple(t *testing.T) {
	ours := newAuthority(t, "ours")
	dir := t.TempDir()
	server := ours.issue(func(c *x509.Certificate) {
		c.DNSNames, c.ExtKeyUsage = []string{"localhost"}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	ours.write(server, filepath.Join(dir, "a.pem"), filepath.Join(dir, "a.key"))
	response, err := ocsp.CreateResponse(ours.cert, ours.cert, ocsp.Response{
		Status: ocsp.Good, SerialNumber: server.Leaf.SerialNumber,
		ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour),
	}, ours.key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "a.ocsp"), response)
	in := startServe(t, "--cert-dir", dir, site(t))
	in.roots = x509.NewCertPool()
	in.roots.AddCert(ours.cert)
	conn, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().OCSPResponse; string(got) != string(response) {
		t.Errorf("a staple of %d bytes, want the %d of the file", len(got), len(response))
	}
	expectPage(t, conn)
}

// The key log has what the client's own has, only its owner can read it, and the
// operator was warned.
func TestKeyLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.log")
	in := serveDev(t, "--key-log", path, site(t))
	var own strings.Builder
	conf := in.config()
	conf.KeyLogWriter = &own
	conn, err := in.handshake(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, conn)
	conn.Close()
	in.stop()
	got := string(readFile(t, path))
	for line := range strings.Lines(own.String()) {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in the key log:\n%s", line, got)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if own.Len() == 0 || !strings.Contains(in.stderr.String(), "WARNING") {
		t.Errorf("no warning, or no secrets of the client: %q", in.stderr.String())
	}
}
