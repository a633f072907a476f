package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an operator can get wrong ends in one line that says what to do, and in a
// status that is not zero.
func TestOperatorErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := site(t)
	dev := []string{"serve", "--dev", "--state-dir", t.TempDir(), "--listen", "127.0.0.1:0"}
	for name, tc := range map[string]struct {
		args   []string
		status int
		want   []string
	}{
		"no arguments":          {[]string{"serve"}, 2, []string{"no certificates", "--cert-dir", "--dev"}},
		"unknown flag":          {append(dev, "--colour", "red"), 2, []string{"unknown flag: --colour", "--help"}},
		"flag without value":    {append(dev, "--http"), 2, []string{"--http", "--help"}},
		"value that is none":    {append(dev, "--idle-timeout", "30"), 2, []string{"--idle-timeout", "30s"}},
		"value out of range":    {append(dev, "--workers", "0"), 2, []string{"--workers 0", "from 1 to"}},
		"site missing":          {append(dev, filepath.Join(dir, "none.tar")), 1, []string{"none.tar", "no such file"}},
		"site cut short":        {append(dev, cutTar(t, dir)), 1, []string{"cut.tar"}},
		"site not a tar":        {append(dev, filepath.Join(dir, "big.bin")), 1, []string{"big.bin"}},
		"port in use":           {append(dev, "--http", taken.Addr().String(), dir), 1, []string{taken.Addr().String(), "in use"}},
		"address not ours":      {append(dev, "--http", "192.0.2.1:0", dir), 1, []string{"192.0.2.1:0"}},
		"no certificate dir":    {[]string{"serve", "--cert-dir", "/nowhere", dir}, 1, []string{"/nowhere", "does not exist"}},
		"empty certificate dir": {[]string{"serve", "--cert-dir", t.TempDir(), dir}, 1, []string{"no usable certificate"}},
		"state dir is a file":   {[]string{"serve", "--dev", "--state-dir", filepath.Join(dir, "index.html"), dir}, 1, []string{"index.html"}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := outcome(t, tc.args...)
			expectRefusal(t, status, tc.status, out, errs, tc.want)
		})
	}
}

// expectRefusal wants the last line on standard error to be the error, and
// nothing on standard output.
func expectRefusal(t *testing.T, status, wantStatus int, out, errs string, want []string) {
	t.Helper()
	if strings.Contains(errs, "io_uring") {
		t.Skipf("no io_uring here: %s", errs)
	}
	lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
	last := lines[len(lines)-1]
	if status != wantStatus || out != "" || !strings.HasPrefix(last, "edge: ") {
		t.Errorf("status %d (want %d), stdout %q, stderr:\n%s", status, wantStatus, out, errs)
	}
	for _, w := range want {
		if !strings.Contains(last, w) {
			t.Errorf("the error does not say %q: %s", w, last)
		}
	}
	if strings.Contains(errs, "goroutine ") || strings.Contains(errs, ".go:") {
		t.Errorf("the error is for its author, not for an operator:\n%s", errs)
	}
}

// cutTar packs dir and cuts the archive short.
func cutTar(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cut.tar")
	if status, _, errs := outcome(t, "pack", dir, "-o", path); status != 0 {
		t.Fatal(errs)
	}
	if err := os.Truncate(path, 3000); err != nil {
		t.Fatal(err)
	}
	return path
}

// A certificate with another's key, a key that cannot be read, a key that is
// none: the error names the file.
func TestCertificateErrors(t *testing.T) {
	state := t.TempDir()
	if status, _, errs := outcome(t, "serve", "--dev", "--state-dir", state, "--listen", "192.0.2.1:0"); status != 1 {
		t.Fatal(errs) // the certificate is made before the address is refused
	}
	certificate := readFile(t, filepath.Join(state, "dev", "leaf", "dev.pem"))
	for name, tc := range map[string]struct {
		key  []byte // nil: a name that leads nowhere
		want string
	}{
		"key of another":   {otherKey(t), "dev.pem"},
		"key is no key":    {[]byte("hello\n"), "dev.pem"},
		"key is cut short": {otherKey(t)[:60], "dev-key.pem"},
		"key unreadable":   {nil, "dev-key.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "dev.pem"), certificate)
			key := filepath.Join(dir, "dev-key.pem")
			if tc.key != nil {
				writeFile(t, key, tc.key)
			} else if err := os.Symlink("/nowhere/key.pem", key); err != nil {
				t.Fatal(err)
			}
			status, out, errs := outcome(t, "serve", "--cert-dir", dir, "--listen", "127.0.0.1:0")
			expectRefusal(t, status, 1, out, errs, []string{"no usable certificate"})
			if !strings.Contains(errs, tc.want) {
				t.Errorf("nothing names %s:\n%s", tc.want, errs)
			}
		})
	}
}

func otherKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// SO_REUSEPORT is for the workers of one process. A second server on the same
// address is a mistake, and must not take half of the connections.
func TestSecondServerOnOneAddress(t *testing.T) {
	first := serveDev(t, site(t))
	status, out, errs := outcome(t, "serve", "--dev", "--state-dir", t.TempDir(), "--listen", first.tls, site(t))
	expectRefusal(t, status, 1, out, errs, []string{first.tls, "in use"})
}
