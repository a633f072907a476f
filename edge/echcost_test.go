package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkECH measures what handshakes cost the whole server, kernel included,
// with ECH and without: its processor time, and how many times that of the same
// handshakes without ECH it is. It must not be more than 1.35. Clients are the
// standard library's; groups are what browsers use, and the cheapest. Batches take
// turns, and medians are told.
func BenchmarkECH(b *testing.B) {
	n := newNames(b)
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(b))
	for name, group := range map[string]tls.CurveID{"X25519MLKEM768": tls.X25519MLKEM768, "X25519": tls.X25519} {
		b.Run(name, func(b *testing.B) {
			published := n.configs(n.keys)
			var without, with []time.Duration
			for b.Loop() {
				without = append(without, s.handshakes(n.client(nil), group))
				with = append(with, s.handshakes(n.client(published), group))
			}
			slices.Sort(without)
			slices.Sort(with)
			middle := b.N / 2
			b.ReportMetric(float64(without[middle].Nanoseconds())/batch, "without-ns")
			b.ReportMetric(float64(with[middle])/float64(without[middle]), "ratio")
		})
	}
}

// batch is how many handshakes are made in a row.
const batch = 50

// handshakes makes a batch, and returns what it took of the server.
func (s *echServer) handshakes(conf *tls.Config, group tls.CurveID) time.Duration {
	s.t.Helper()
	conf.CurvePreferences = []tls.CurveID{group}
	start := s.processorTime()
	for range batch {
		c, err := tls.Dial("tcp", s.tls, conf)
		if err != nil {
			s.t.Fatal(err)
		}
		// Its tickets are the end of a handshake.
		c.SetReadDeadline(time.Now().Add(patience))
		c.CloseWrite()
		c.Read(make([]byte, 1))
		c.Close()
	}
	return s.processorTime() - start
}

// processorTime is what all threads of the server have taken so far.
func (s *echServer) processorTime() (sum time.Duration) {
	s.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		s.t.Skipf("the kernel does not count: %v", err)
	}
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		var took time.Duration
		if _, err := fmt.Sscan(string(text), (*int64)(&took)); err != nil {
			s.t.Fatalf("%s: %q: %v", file, text, err)
		}
		sum += took
	}
	return sum
}
