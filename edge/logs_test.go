package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// requestLine is what the access log says of a TLS request.
type requestLine struct {
	SNI, TLS, Suite, Group, ECH string
	Resumed                     bool
	Host, Method, Path, Proto   string
	Status                      int
	Bytes                       int64
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// Logs that were moved away are begun anew by SIGHUP and by SIGUSR1, and nothing
// is lost in between.
func TestLogRotation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	access, errorLog := filepath.Join(dir, "access.log"), filepath.Join(dir, "error.log")
	d := startDaemon(t, daemonOptions{args: []string{"--access-log", access, "--error-log", errorLog, site(t)}})
	ask := func(n int) {
		t.Helper()
		c, err := d.handshake(d.config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, _, err := get(c, fmt.Sprintf("/?%d", n)); err != nil {
			t.Fatal(err)
		}
		d.await("the line", func() bool {
			return strings.Contains(strings.Join(linesOf(t, access), "\n"), fmt.Sprintf(`"path":"/?%d"`, n))
		})
	}
	ask(0)
	for i, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1} {
		for _, path := range []string{access, errorLog} {
			if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
				t.Fatal(err)
			}
		}
		d.signal(s)
		d.await("new files", func() bool {
			_, err := os.Stat(access)
			_, err2 := os.Stat(errorLog)
			return err == nil && err2 == nil
		})
		ask(i + 1)
	}
	for i, path := range []string{access + ".0", access + ".1", access} {
		lines := linesOf(t, path)
		var l requestLine
		if err := json.Unmarshal([]byte(lines[0]), &l); err != nil || len(lines) != 1 {
			t.Fatalf("%s: %d lines, %v", path, len(lines), err)
		}
		want := requestLine{SNI: "localhost", TLS: "1.3", Suite: l.Suite, Group: "X25519MLKEM768", ECH: "none",
			Host: "localhost", Method: "GET", Path: fmt.Sprintf("/?%d", i), Proto: "HTTP/1.1", Status: 200, Bytes: int64(len(page))}
		if l != want || l.Suite == "" {
			t.Errorf("got  %+v\nwant %+v", l, want)
		}
	}
	if got := strings.Join(linesOf(t, errorLog+".1"), ""); !strings.Contains(got, "reload (SIGHUP): generation 2 is in service") {
		t.Errorf("the error log begun by SIGHUP says %q", got)
	}
}

// A disk that is full loses lines and nothing else.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	d := startDaemon(t, daemonOptions{args: []string{"--access-log", "/dev/full", "--http", "127.0.0.1:0", site(t)}})
	c := d.dialTo(d.plain)
	for range 3 {
		expectPage(t, c)
	}
	d.awaitLog("access log: write /dev/full: no space left on device: lines are lost until this is mended", 1)
	expectPage(t, c)

	d = startDaemon(t, daemonOptions{args: []string{"--error-log", "/dev/full", "--http", "127.0.0.1:0", site(t)}})
	d.signal(syscall.SIGHUP)
	expectPage(t, d.dialTo(d.plain))
	d.signal(syscall.SIGTERM)
	if status := d.awaitExit(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// Output that nobody reads any more neither ends the program nor holds it up.
func TestOutputWithoutReader(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"closed": true, "full": false} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "stderr")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // so that opening it to write does not wait
			if err != nil {
				t.Fatal(err)
			}
			defer reader.Close()
			d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", site(t)}, shell: "exec 2>" + fifo})
			if closed {
				reader.Close()
			}
			// Each refused request is a line; a pipe holds 64 KB.
			c := d.dialTo(d.plain)
			for range 5 {
				d.signal(syscall.SIGHUP)
				expectPage(t, c)
			}
			for range 2000 {
				d.signal(syscall.SIGHUP)
			}
			expectPage(t, c)
			d.signal(syscall.SIGTERM)
			if status := d.awaitExit(); status != 0 {
				t.Errorf("status %d", status)
			}
		})
	}
}

// The access log on standard output stands beside the lines that say what is
// served.
func TestAccessLogOnStandardOutput(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, daemonOptions{args: []string{"--access-log", "-", "--http", "127.0.0.1:0", site(t)}})
	expectPage(t, d.dialTo(d.plain))
	d.signal(syscall.SIGTERM)
	d.awaitExit()
	f, err := os.Open(d.outFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var last string
	for s := bufio.NewScanner(io.Reader(f)); s.Scan(); {
		last = s.Text()
	}
	var l requestLine
	if err := json.Unmarshal([]byte(last), &l); err != nil || l.Status != 200 {
		t.Errorf("%v: %q", err, last)
	}
}
