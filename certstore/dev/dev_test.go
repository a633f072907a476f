package dev

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// must returns what ensure made, or ends the test.
func must(t *testing.T, dir string, names []string, now time.Time) *Result {
	t.Helper()
	r, err := ensure(dir, names, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verify checks the server's certificate as a client that trusts the authority
// would.
func verify(t *testing.T, r *Result, name string, now time.Time) error {
	t.Helper()
	authority, err := os.ReadFile(r.Authority)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		t.Fatal("authority file holds no certificate")
	}
	pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now})
	return err
}

func TestEnsureMakesATrustedPair(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "dev")
	r := must(t, dir, []string{"Site.Example.", "192.0.2.7", "*.wild.example"}, start)
	if !r.NewAuthority {
		t.Error("NewAuthority is false for a new authority")
	}
	for _, name := range []string{"localhost", "site.example", "a.wild.example", "127.0.0.1", "::1", "192.0.2.7"} {
		if err := verify(t, r, name, start); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := verify(t, r, "other.example", start); err == nil {
		t.Error("verified for a name that was not asked for")
	}
	if life := r.NotAfter.Sub(start); life > leafLife {
		t.Errorf("server certificate lives %v, over %v", life, leafLife)
	}
}

func TestEnsureHereAndNow(t *testing.T) {
	r, err := Ensure(t.TempDir(), []string{"site.example"})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"localhost", "site.example"}
	if host, err := os.Hostname(); err == nil && isHostName(strings.ToLower(host)) {
		names = append(names, host)
	}
	for _, name := range names {
		if err := verify(t, r, name, time.Now()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEnsureTwiceAtOnce has several processes' worth of calls on one directory:
// all get the same authority.
func TestEnsureTwiceAtOnce(t *testing.T) {
	dir := t.TempDir()
	made := make(chan bool)
	for range 4 {
		go func() {
			r, err := ensure(dir, nil, start)
			if err != nil {
				t.Error(err)
			}
			made <- err == nil && r.NewAuthority
		}()
	}
	n := 0
	for range 4 {
		if <-made {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d authorities made, want one", n)
	}
}

func TestFileModes(t *testing.T) {
	r := must(t, t.TempDir(), nil, start)
	for _, key := range []string{r.KeyFile, filepath.Join(filepath.Dir(r.Authority), "ca-key.pem")} {
		info, err := os.Stat(key)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %04o, want 0600", key, mode)
		}
	}
	entries, err := os.ReadDir(r.CertDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("%d files in the certificate directory, want the pair alone", len(entries))
	}
}

func TestEnsureReuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		why           string
		names         []string
		at            time.Time
		newCA, newOne bool
	}{
		{"first call", []string{"a.example"}, start, true, true},
		{"same again", []string{"a.example"}, start.Add(time.Hour), false, false},
		{"a name below one of the authority's", []string{"a.example", "b.a.example"}, start, false, true},
		{"fewer names", nil, start, false, true},
		{"leaf near its end", nil, start.Add(leafLife - leafRenew), false, true},
		{"a name outside the constraints", []string{"z.example"}, start, true, true},
		{"an address outside", []string{"z.example", "192.0.2.1"}, start, true, true},
		{"authority near its end", []string{"z.example", "192.0.2.1"}, start.Add(authorityLife - authorityRenew), true, true},
	}
	var last []byte
	for _, test := range tests {
		r := must(t, dir, test.names, test.at)
		now, err := os.ReadFile(r.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		if r.NewAuthority != test.newCA {
			t.Errorf("%s: new authority %v, want %v", test.why, r.NewAuthority, test.newCA)
		}
		if made := !slices.Equal(now, last); made != test.newOne {
			t.Errorf("%s: new certificate %v, want %v", test.why, made, test.newOne)
		}
		if err := verify(t, r, "localhost", test.at); err != nil {
			t.Errorf("%s: %v", test.why, err)
		}
		last = now
	}
}

func TestAuthorityIsConstrained(t *testing.T) {
	dir := t.TempDir()
	r := must(t, dir, nil, start)
	cert, key, err := loadPair(r.Authority, filepath.Join(filepath.Dir(r.Authority), "ca-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	der, _, err := makeLeaf(&issuer{cert, key}, subject{hosts: []string{"bank.example"}}, start)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start}); err == nil {
		t.Error("the authority can certify a name it was not made for")
	}
}

func TestBrokenFilesAreMadeAnew(t *testing.T) {
	dir := t.TempDir()
	r := must(t, dir, nil, start)
	for _, file := range []string{r.CertFile, r.KeyFile, r.Authority} {
		for _, data := range []string{"", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
			if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := verify(t, must(t, dir, nil, start), "localhost", start); err != nil {
				t.Errorf("after %s held %q: %v", file, data, err)
			}
		}
	}
}

func TestEnsureErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ensure(file, nil, start); err == nil {
		t.Error("a file as state directory: no error")
	}
	for _, name := range []string{"", "a b", "a..b", "*", "a/../b", strings.Repeat("a", 64), "bücher.example"} {
		if _, err := ensure(t.TempDir(), []string{name}, start); err == nil {
			t.Errorf("%q: no error", name)
		}
	}
}

func TestTrustHelpNamesTheFile(t *testing.T) {
	r := must(t, t.TempDir(), nil, start)
	help := r.TrustHelp()
	for _, want := range []string{r.Authority, "--cacert", "certutil", "update-ca-certificates", "localhost"} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, help)
		}
	}
}

func TestShellWord(t *testing.T) {
	for path, want := range map[string]string{
		"/home/a/.local/state": "/home/a/.local/state", "/a b": "'/a b'", "it's": `'it'\''s'`, "$x": "'$x'", "": "",
	} {
		if got := shellWord(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

func TestSubjectRanges(t *testing.T) {
	s, err := readSubject([]string{"2001:db8::1", "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.ranges() {
		if ones, bits := n.Mask.Size(); ones != bits || len(n.IP) != bits/8 {
			t.Errorf("%v is not one address", n)
		}
		if !slices.ContainsFunc(s.ips(), func(ip net.IP) bool { return n.Contains(ip) }) {
			t.Errorf("%v holds none of the addresses", n)
		}
	}
}
