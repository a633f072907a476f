package cmd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writePair writes a self-signed certificate and its key as NAME.pem, NAME.key.
func writePair(t *testing.T, dir, name string, left time.Duration, hosts ...string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0xabc), Subject: pkix.Name{CommonName: "test"}, DNSNames: hosts,
		NotBefore: time.Now().Add(-100 * 24 * time.Hour), NotAfter: time.Now().Add(left),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, b := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: cert}, name + ".key": {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const month = 30*24*time.Hour + time.Minute

func TestCertList(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "a", month, "b.example", "*.a.example")
	status, out, errs := run(t, "cert", "list", dir)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if status != ExitOK || errs != "" || len(lines) != 2 || !strings.HasPrefix(lines[0], "VALID UNTIL (UTC)") {
		t.Fatalf("status %d, stderr %q, stdout:\n%s", status, errs, out)
	}
	for _, want := range []string{"30 days", "ECDSA P-256", filepath.Join(dir, "a.pem"), "*.a.example b.example (default)"} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("%q lacks %q", lines[1], want)
		}
	}
}

func TestCertListProblems(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "good", month, "a.example")
	writePair(t, dir, "old", -time.Hour, "old.example")
	if err := os.WriteFile(filepath.Join(dir, "half.pem"), []byte("-----BEGIN CERTIFICATE-----\nAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, errs := run(t, "cert", "list", dir)
	if status != ExitFailure || errs != "edge: "+dir+": 2 problems to solve\n" {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	for _, want := range []string{"  expired  ", "\n\nproblem: " + dir + "/half.pem: cut short", "\nproblem: " + dir + "/old.pem: expired on "} {
		if !strings.Contains(out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, out)
		}
	}
	if err := os.Remove(filepath.Join(dir, "half.pem")); err != nil {
		t.Fatal(err)
	}
	if _, _, errs := run(t, "cert", "list", dir); errs != "edge: "+dir+": one problem to solve\n" {
		t.Errorf("stderr %q", errs)
	}
}

func TestCertListWarningsAlone(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "a", time.Hour+time.Minute, "a.example")
	if err := os.Chmod(filepath.Join(dir, "a.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := run(t, "cert", "list", dir); status != ExitOK || !strings.Contains(out, "\nwarning: "+dir+"/a.key: ") || !strings.Contains(out, "  1 h  ") {
		t.Errorf("status %d, stdout:\n%s", status, out)
	}
}

func TestCertListNothing(t *testing.T) {
	dir := t.TempDir()
	if status, _, errs := run(t, "cert", "list", dir); status != ExitFailure || !strings.Contains(errs, dir+" holds no certificate") {
		t.Errorf("an empty directory: status %d, stderr %q", status, errs)
	}
	if status, _, errs := run(t, "cert", "list", dir+"/none"); status != ExitFailure || !strings.Contains(errs, "does not exist: create it") {
		t.Errorf("no directory: status %d, stderr %q", status, errs)
	}
	for _, args := range []string{"cert list", "cert list a b", "cert list --yaml x", "cert xyzzy"} {
		if status, _, errs := run(t, strings.Fields(args)...); status != ExitUsage || strings.Count(errs, "\n") != 1 {
			t.Errorf("edge %s: status %d, stderr %q", args, status, errs)
		}
	}
	if status, out, _ := run(t, "cert"); status != ExitOK || !strings.Contains(out, "edge cert list") {
		t.Errorf("edge cert: status %d, stdout:\n%s", status, out)
	}
}

func TestCertListJSON(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "a", month, "a.example")
	writePair(t, dir, "old", -time.Hour)
	status, out, _ := run(t, "cert", "list", "--json", dir)
	var got struct {
		Directory string
		Pairs     []struct {
			Names    []string
			Default  bool
			NotAfter time.Time `json:"not_after"`
			Serial   string
			CertFile string `json:"cert_file"`
		}
		Problems []struct {
			File, What string
			Warning    bool
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, out)
	}
	if status != ExitFailure || got.Directory != dir || len(got.Pairs) != 2 || len(got.Problems) != 2 {
		t.Fatalf("status %d, %+v", status, got)
	}
	if p := got.Pairs[0]; len(p.Names) != 1 || !p.Default || p.Serial != "abc" || p.CertFile != dir+"/a.pem" || p.NotAfter.Before(time.Now()) {
		t.Errorf("pair %+v", p)
	}
	if p := got.Pairs[1]; p.Names == nil || p.Default {
		t.Errorf("pair %+v: names are to be a list, if an empty one", p)
	}
}

func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{"a/b c.pem": "a/b c.pem", "ü.pem": "ü.pem", "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "\xff": `"\xff"`} {
		if got := printable(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
