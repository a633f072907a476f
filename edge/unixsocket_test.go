package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dialUnix connects to a unix socket.
func dialUnix(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

// Field case P12: a socket that is left over, one that is served, one that was taken
// over, their mode, and what the log calls their peers.
func TestUnixSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain, secure := filepath.Join(dir, "plain.sock"), filepath.Join(dir, "secure.sock")
	access := filepath.Join(dir, "access.log")
	start := func() *daemon {
		return startDaemon(t, daemonOptions{args: []string{"--http", "unix:" + plain, "--listen", "unix:" + secure, "--listen", "127.0.0.1:0",
			"--http", "unix:@" + plain, "--unix-mode", "600", "--access-log", access, site(t)}})
	}
	d := start()
	expectPage(t, dialUnix(t, plain))
	expectPage(t, dialUnix(t, "@"+plain))
	c, err := d.handshake(d.config(), dialUnix(t, secure))
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, c)
	d.await("the access log", func() bool { return len(linesOf(t, access)) == 3 })
	for _, line := range linesOf(t, access) {
		if !strings.Contains(line, `"peer":"unix"`) {
			t.Errorf("of a peer at a unix socket the log says %s", line)
		}
	}
	for _, path := range []string{plain, secure} {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 600", path, info, err)
		}
	}
	d.signal(syscall.SIGTERM)
	d.awaitExit()
	for _, path := range []string{plain, secure} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", path, err)
		}
	}

	// Left behind by a process that was killed: replaced.
	d = start()
	d.signal(syscall.SIGKILL)
	d.awaitExit()
	if _, err := os.Lstat(plain); err != nil {
		t.Fatal(err)
	}
	d = start()
	expectPage(t, dialUnix(t, plain))

	// Served by another: refused, and not taken away.
	status, _, errs := outcome(t, "serve", "--dev", "--state-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--http", "unix:"+plain)
	if status != 1 || !strings.Contains(errs, "in use") {
		t.Errorf("a socket that is served: status %d\n%s", status, errs)
	}
	expectPage(t, dialUnix(t, plain))

	// Taken over by another: its file is not ours to remove.
	if err := os.Remove(plain); err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("unix", plain)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	d.signal(syscall.SIGTERM)
	d.awaitExit()
	if _, err := os.Lstat(plain); err != nil {
		t.Errorf("another's socket was removed: %v", err)
	}
}

// A file that is no socket is never deleted, and a path that is too long is refused
// (P12).
func TestUnixSocketOverAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	writeFile(t, path, []byte("precious"))
	status, _, errs := outcome(t, "serve", "--dev", "--state-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--http", "unix:"+path)
	if status != 1 || !strings.Contains(errs, path) || !strings.Contains(errs, "no socket") || strings.Contains(errs, "port") {
		t.Errorf("status %d\n%s", status, errs)
	}
	if got := string(readFile(t, path)); got != "precious" {
		t.Errorf("the file holds %q", got)
	}
	status, _, errs = outcome(t, "serve", "--dev", "--http", "unix:/"+strings.Repeat("a", 107))
	if status != 2 || !strings.Contains(errs, "at most 107") {
		t.Errorf("a path of 108 bytes: status %d\n%s", status, errs)
	}
}

// An application whose socket is made anew is found again, also over connections
// that were kept (P12).
func TestUnixApplicationComesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, plain := filepath.Join(dir, "app.sock"), filepath.Join(dir, "plain.sock")
	serve := func(says string) *http.Server {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		app := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, says) })}
		go app.Serve(l)
		return app
	}
	app := serve("first")
	startDaemon(t, daemonOptions{args: []string{"--listen", "127.0.0.1:0", "--http", "unix:" + plain, "--proxy", "/api=unix:" + path, site(t)}})
	c := dialUnix(t, plain)
	for _, want := range []string{"first", "second", "third"} {
		if want != "first" {
			app.Close() // the file and the connections with it
			app = serve(want)
		}
		if resp, body, err := get(c, "/api"); err != nil || resp.StatusCode != 200 || body != want {
			t.Fatalf("%q, %v; want %q", body, err, want)
		}
	}
	app.Close()
}
