package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// These tests run the whole program, as its users do, and look at it from
// outside: exit status, output, and what real clients get.

// asEdge in the environment makes this test binary be the program itself.
const asEdge = "EDGE_TEST_RUN_MAIN"

// openFiles in the environment is the limit of open files that it sets itself.
const openFiles = "EDGE_TEST_OPEN_FILES"

// patience is how long anything here may take before the test gives up on it.
const patience = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(asEdge) == "" {
		os.Exit(m.Run())
	}
	if n, err := strconv.ParseUint(os.Getenv(openFiles), 10, 32); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			fmt.Fprintln(os.Stderr, "setrlimit:", err)
			os.Exit(1)
		}
	}
	main()
}

// command is the program with args, not yet started.
func command(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic("BUG: no path to the test binary: " + err.Error())
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Env = append(os.Environ(), asEdge+"=1")
	return c
}

// outcome runs the program to its end.
func outcome(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	c := command(ctx, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("edge %q did not end within %v; stderr:\n%s", args, patience, errs.String())
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// lockedBuffer keeps what a running program wrote.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// unhurried are flags that every server here begins with, so that a machine that is
// busy with other things fails no test. Those of the test itself come later, and win.
var unhurried = []string{
	"--handshake-timeout", "2m", "--head-timeout", "2m", "--body-timeout", "2m", "--write-timeout", "2m",
	"--connect-timeout", "2m", "--drain", "2m",
}

// instance is a running `edge serve`.
type instance struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr lockedBuffer
	tls    string // HOST:PORT
	plain  string // HOST:PORT of --http; empty without it
	roots  *x509.CertPool
	caFile string
	ended  chan error
}

// serveDev starts `edge serve --dev` on free ports, with args added, and waits
// until it says that it is ready. The test is skipped where the kernel refuses
// io_uring.
func serveDev(t *testing.T, args ...string) *instance {
	t.Helper()
	state := t.TempDir()
	in := startServe(t, append([]string{"--dev", "--state-dir", state}, args...)...)
	in.trustDev(state)
	return in
}

// trustDev has clients trust the development authority in a state directory.
func (in *instance) trustDev(state string) {
	in.t.Helper()
	in.caFile = filepath.Join(state, "dev", "authority", "ca.pem")
	pem, err := os.ReadFile(in.caFile)
	if err != nil {
		in.t.Fatal(err)
	}
	in.roots = x509.NewCertPool()
	if !in.roots.AppendCertsFromPEM(pem) {
		in.t.Fatalf("%s holds no certificate", in.caFile)
	}
}

func startServe(t testing.TB, args ...string) *instance {
	t.Helper()
	in := &instance{t: t, ended: make(chan error, 1)}
	args = slices.Concat([]string{"serve", "--listen", "127.0.0.1:0", "--workers", "1"}, unhurried, args)
	in.cmd = command(context.Background(), args...)
	in.cmd.Stderr = &in.stderr
	in.launch(args)
	return in
}

// launch starts in.cmd and waits until it says that it is ready.
func (in *instance) launch(args []string) {
	t := in.t
	t.Helper()
	stdout, err := in.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := in.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.cmd.Process.Kill()
		<-in.ended
	})
	ready := make(chan struct{})
	go func() {
		in.readAddresses(stdout, wanted(args), ready)
		io.Copy(io.Discard, stdout)
		in.ended <- in.cmd.Wait()
		close(in.ended)
	}()
	select {
	case <-ready:
	case err := <-in.ended:
		in.giveUp(err)
	case <-time.After(patience):
		t.Fatalf("edge %q was not ready within %v; stderr:\n%s", args, patience, in.stderr.String())
	}
}

// wanted is the number of addresses that args ask for.
func wanted(args []string) int {
	n := 0
	for _, a := range args {
		if a == "--listen" || a == "--http" {
			n++
		}
	}
	return n
}

// readAddresses reads the lines by which the program says it is ready, and
// closes ready after the last of them.
func (in *instance) readAddresses(stdout io.Reader, lines int, ready chan<- struct{}) {
	for s := bufio.NewScanner(stdout); lines > 0 && s.Scan(); {
		at, ok := strings.CutPrefix(s.Text(), "listening ")
		if !ok {
			continue
		}
		u, err := url.Parse(at)
		if err != nil {
			continue
		}
		if u.Scheme == "https" {
			in.tls = u.Host
		} else {
			in.plain = u.Host
		}
		if lines--; lines == 0 {
			close(ready)
		}
	}
}

// giveUp reports a program that ended before it was ready.
func (in *instance) giveUp(err error) {
	in.t.Helper()
	text := in.stderr.String()
	if strings.Contains(text, "io_uring") {
		in.t.Skipf("no io_uring here: %s", text)
	}
	in.t.Fatalf("edge ended: %v; stderr:\n%s", err, text)
}

// waitStderr waits until standard error holds text.
func (in *instance) waitStderr(text string) {
	in.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(in.stderr.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			in.t.Fatalf("stderr does not say %q within %v:\n%s", text, patience, in.stderr.String())
		}
	}
}

// stop sends SIGTERM and returns the exit status.
func (in *instance) stop() int {
	in.t.Helper()
	if err := in.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		in.t.Fatal(err)
	}
	select {
	case <-in.ended:
	case <-time.After(patience):
		in.t.Fatalf("edge did not end within %v of SIGTERM; stderr:\n%s", patience, in.stderr.String())
	}
	return in.cmd.ProcessState.ExitCode()
}

// config is a client that trusts the development authority.
func (in *instance) config() *tls.Config {
	return &tls.Config{RootCAs: in.roots, ServerName: "localhost", MinVersion: tls.VersionTLS13}
}

// dial opens a TCP connection with a deadline over all that is done on it.
func (in *instance) dial() net.Conn {
	in.t.Helper()
	return in.dialTo(in.tls)
}

func (in *instance) dialTo(address string) net.Conn {
	in.t.Helper()
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

// handshake makes a TLS connection with conf, over raw if it is not nil.
func (in *instance) handshake(conf *tls.Config, raw net.Conn) (*tls.Conn, error) {
	in.t.Helper()
	if raw == nil {
		raw = in.dial()
	}
	c := tls.Client(raw, conf)
	return c, c.Handshake()
}

// get makes one request on an open connection and returns status and body.
func get(c io.ReadWriter, path string) (*http.Response, string, error) {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return nil, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// page is what site puts at /index.html.
const page = "<!DOCTYPE html><title>test</title><p>the page of these tests\n"

// site writes a small site and returns its folder.
func site(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"index.html":  page,
		"404.html":    "<p>the 404 of these tests\n",
		"big.bin":     strings.Repeat("0123456789abcdef", 64<<10),
		"sub/doc.txt": "text\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// expectPage asks for the page on an open TLS connection.
func expectPage(t *testing.T, c io.ReadWriter) {
	t.Helper()
	resp, body, err := get(c, "/")
	if err != nil {
		t.Fatalf("GET /: %v", err)
	}
	if resp.StatusCode != 200 || body != page {
		t.Fatalf("GET /: status %d, body %q", resp.StatusCode, body)
	}
}
