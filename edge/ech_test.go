package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Encrypted ClientHello with the client of the standard library, over the whole
// program: keys are made by `edge keys`, and what the server made of each hello is
// read from its access log.

const (
	publicName = "public.example"
	hiddenName = "hidden.example"
)

// names is what ECH tests need: certificates for the public name and the hidden
// one, and a directory of keys.
type names struct {
	t     testing.TB
	certs string
	keys  string
	roots *x509.CertPool
}

func newNames(t testing.TB) *names {
	t.Helper()
	n := &names{t: t, certs: t.TempDir(), keys: filepath.Join(t.TempDir(), "keys"), roots: x509.NewCertPool()}
	for i, name := range []string{publicName, hiddenName} {
		n.roots.AppendCertsFromPEM(writePair(t, n.certs, name+".pem", int64(i+1), name))
	}
	n.generate(n.keys)
	return n
}

// generate makes a key for the public name.
func (n *names) generate(dir string) {
	n.t.Helper()
	n.command("keys", "gen-ech", "--public-name", publicName, "--dir", dir)
}

// command runs edge, which must succeed, and returns what it prints.
func (n *names) command(args ...string) string {
	n.t.Helper()
	status, out, errs := outcome(n.t, args...)
	if status != 0 {
		n.t.Fatalf("edge %q: status %d: %s", args, status, errs)
	}
	return out
}

// configs is the ECHConfigList that is published of a directory of keys.
func (n *names) configs(dir string) []byte {
	n.t.Helper()
	text := n.command("keys", "record", "--dir", dir, "--format", "base64")
	list, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		n.t.Fatalf("%q: %v", text, err)
	}
	return list
}

// stale is an ECHConfigList for the public name whose key nobody has any more.
func (n *names) stale() []byte {
	n.t.Helper()
	dir := filepath.Join(n.t.TempDir(), "stale")
	n.generate(dir)
	return n.configs(dir)
}

// echServer is an edge with an access log.
type echServer struct {
	*instance
	n      *names
	access string
}

func (n *names) serve(args ...string) *echServer {
	n.t.Helper()
	access := filepath.Join(n.t.TempDir(), "access.log")
	in := startServe(n.t, append([]string{"--access-log", access}, args...)...)
	return &echServer{in, n, access}
}

// client is a client that has these configs; nil: it does not know of ECH.
func (n *names) client(configs []byte) *tls.Config {
	return &tls.Config{ServerName: hiddenName, RootCAs: n.roots, MinVersion: tls.VersionTLS13,
		EncryptedClientHelloConfigList: configs}
}

// page makes a connection and asks for the page.
func (s *echServer) page(conf *tls.Config) (tls.ConnectionState, error) {
	s.t.Helper()
	c, err := s.handshake(conf, nil)
	defer c.Close()
	if err != nil {
		return c.ConnectionState(), err
	}
	expectPageOf(s.t, c, conf.ServerName)
	return c.ConnectionState(), nil
}

func expectPageOf(t testing.TB, c *tls.Conn, host string) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(c); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), page) {
		t.Fatalf("asking for the page: %.200q", got.String())
	}
}

// echLine is a line of the access log.
type echLine struct {
	SNI, ECH, Inner, Host, Relay, JA4 string
	JA4Inner                          string `json:"ja4_inner"`
	In, Out                           int64
	Failed                            bool
}

// lastLine waits for the access log's nth line.
func (s *echServer) line(n int) (l echLine) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(s.access)
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		if lines := bytes.SplitAfter(b, []byte("\n")); len(lines) > n {
			if err := json.Unmarshal(lines[n-1], &l); err != nil {
				s.t.Fatalf("line %d: %s: %v", n, lines[n-1], err)
			}
			return l
		}
		if time.Now().After(end) {
			s.t.Fatalf("the access log has no line %d within %v:\n%s", n, patience, b)
		}
	}
}

func TestECHAccepted(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	state, err := s.page(n.client(n.configs(n.keys)))
	if err != nil || !state.ECHAccepted || state.PeerCertificates[0].DNSNames[0] != hiddenName {
		t.Fatalf("%v, accepted %v", err, state.ECHAccepted)
	}
	if l := s.line(1); l.ECH != "accepted" || l.SNI != publicName || l.Inner != hiddenName || l.Host != hiddenName || l.JA4 == "" || l.JA4Inner == "" {
		t.Errorf("the log says %+v", l)
	}
	// A client that knows nothing of it is served all the same.
	if _, err := s.page(n.client(nil)); err != nil {
		t.Fatal(err)
	}
	if l := s.line(2); l.ECH != "none" || l.SNI != hiddenName || l.Inner != "" || l.JA4Inner != "" {
		t.Errorf("the log says %+v", l)
	}
}

// Field case E02: a stale config is answered with the current ones, under the certificate of the
// public name, and with them the next try works (RFC 9849, 6.1.6 and 7.1).
func TestECHRejectedAndRetried(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	_, err := s.page(n.client(n.stale()))
	var rejected *tls.ECHRejectionError
	if !errors.As(err, &rejected) || !bytes.Equal(rejected.RetryConfigList, n.configs(n.keys)) {
		t.Fatalf("%v; retry configs %x", err, rejected)
	}
	s.waitStderr("peer alert ech_required")
	if state, err := s.page(n.client(rejected.RetryConfigList)); err != nil || !state.ECHAccepted {
		t.Fatalf("the retry: %v, accepted %v", err, state.ECHAccepted)
	}
	if l := s.line(1); l.ECH != "accepted" {
		t.Errorf("the log says %+v", l)
	}
}

// Field case E02: a key that was replaced still opens hellos, and its config is no longer given
// out.
func TestECHAfterRotation(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	old := n.configs(n.keys)
	n.command("keys", "rotate", "--dir", n.keys, "--overlap", "2h")
	s.waitStderr("ECH keys changed")
	next := n.configs(n.keys)
	if bytes.Equal(old, next) {
		t.Fatal("the same config is published after a rotation")
	}
	for name, configs := range map[string][]byte{"old": old, "new": next} {
		if state, err := s.page(n.client(configs)); err != nil || !state.ECHAccepted {
			t.Errorf("the %s key: %v, accepted %v", name, err, state.ECHAccepted)
		}
	}
	_, err := s.page(n.client(n.stale()))
	var rejected *tls.ECHRejectionError
	if !errors.As(err, &rejected) || !bytes.Equal(rejected.RetryConfigList, next) {
		t.Errorf("%v: want the new config alone", err)
	}
}

// unknownGroupFirst has a client send a share for a group that we do not have.
var unknownGroupFirst = []tls.CurveID{tls.SecP384r1MLKEM1024, tls.X25519}

func TestECHHelloRetryRequest(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	conf := n.client(n.configs(n.keys))
	conf.CurvePreferences = unknownGroupFirst
	state, err := s.page(conf)
	if err != nil || !state.ECHAccepted || !state.HelloRetryRequest {
		t.Errorf("%v, accepted %v, retried %v", err, state.ECHAccepted, state.HelloRetryRequest)
	}
	conf = n.client(n.stale())
	conf.CurvePreferences = unknownGroupFirst
	var rejected *tls.ECHRejectionError
	if _, err := s.page(conf); !errors.As(err, &rejected) || len(rejected.RetryConfigList) == 0 {
		t.Errorf("rejected with a retry: %v", err)
	}
}

// Field case E08: a client without a config for us sends what looks like ECH and is none: it gets
// the site it asked for in the open (RFC 9849, 6.2).
func TestECHGrease(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	// The standard library sends no GREASE. A config of another server, whose
	// public name is the very name that is visited, makes the same hello.
	dir := filepath.Join(t.TempDir(), "other")
	n.command("keys", "gen-ech", "--public-name", hiddenName, "--dir", dir)
	conf := n.client(n.configs(dir))
	_, err := s.page(conf)
	var rejected *tls.ECHRejectionError
	if !errors.As(err, &rejected) || !bytes.Equal(rejected.RetryConfigList, n.configs(n.keys)) {
		t.Errorf("%v: want a whole handshake, and the configs", err)
	}
}

func TestECHInnerNameStaysOutOfTheLog(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, "--log-inner-name=false", site(t))
	if _, err := s.page(n.client(n.configs(n.keys))); err != nil {
		t.Fatal(err)
	}
	if l := s.line(1); l.ECH != "accepted" || l.SNI != publicName {
		t.Errorf("the log says %+v", l)
	}
	// A failed handshake is told without it too.
	conf := n.client(n.configs(n.keys))
	conf.NextProtos = []string{"foo"}
	if _, err := s.page(conf); err == nil {
		t.Fatal("a handshake without a common protocol succeeded")
	}
	s.waitStderr("no common application protocol")
	log, err := os.ReadFile(s.access)
	if err != nil || bytes.Contains(log, []byte(hiddenName)) || strings.Contains(s.stderr.String(), hiddenName) {
		t.Errorf("%v: the hidden name is in a log:\n%s%s", err, log, s.stderr.String())
	}
}

func TestOriginSVCB(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, "--origin-svcb", "30m", site(t))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: n.client(nil)}, Timeout: patience}
	resp, err := client.Get("https://" + s.tls + "/.well-known/origin-svcb")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Endpoints []struct {
			RegenInterval int
			Params        struct{ ECH []byte }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || len(got.Endpoints) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if e := got.Endpoints[0]; e.RegenInterval != 1800 || !bytes.Equal(e.Params.ECH, n.configs(n.keys)) {
		t.Errorf("%+v", e)
	}
}
