package main

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// ECH keys in service: what is told of them and counted.

// replaceKeys has the server hold other keys than before.
func (s *echServer) replaceKeys() {
	s.t.Helper()
	old, err := filepath.Glob(filepath.Join(s.n.keys, "*.pem"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.n.generate(s.n.keys)
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
	}
	s.hangup("reload (SIGHUP): generation")
}

// counters asks for the line with the counters.
func (s *echServer) counters() string {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatal(err)
	}
	s.waitStderr(" done, 0 failed\n") // its end
	text := s.stderr.String()
	line, _, _ := strings.Cut(text[strings.LastIndex(text, "counters: "):], "\n")
	return line
}

// Keys that were taken away too early are noticed: clients that still encrypt to
// them become many.
func TestKeysGoneTooEarly(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	old := n.configs(n.keys)
	if _, err := s.page(n.client(old)); err != nil {
		t.Fatal(err)
	}
	s.replaceKeys()
	for range 10 {
		var rejected *tls.ECHRejectionError
		if _, err := s.page(n.client(old)); !errors.As(err, &rejected) {
			t.Fatal(err)
		}
	}
	s.waitStderr("10 of 10 hellos that were meant for them did not open")
}

// Each outcome of ECH has a counter, and a line that shows it.
func TestCounters(t *testing.T) {
	n := newNames(t)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	other := filepath.Join(t.TempDir(), "other")
	n.command("keys", "gen-ech", "--public-name", hiddenName, "--dir", other)
	for i, configs := range [][]byte{n.configs(n.keys), n.configs(n.keys), nil, n.stale(), n.configs(other)} {
		_, err := s.page(n.client(configs))
		if wantErr := i > 2; (err != nil) != wantErr {
			t.Errorf("client %d: %v", i, err)
		}
	}
	// The alerts of the two last come behind their handshakes.
	s.waitStderr("peer alert ech_required")
	want := regexp.MustCompile(`connections: 5 accepted, .* ECH: 2 accepted, 1 rejected, 1 grease, 1 none, [12] ech_required; relayed: 0 all, .* requests: 3 all, `)
	if line := s.counters(); !want.MatchString(line) {
		t.Errorf("%s", line)
	}
}
