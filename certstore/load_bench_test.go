package certstore

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// benchNames is the number of names the store is measured with.
const benchNames = 100_000

// BenchmarkLoad100k measures a first load of 100,000 names, and what they cost in
// memory beyond the DER of their certificates, in two shapes: a pair for each
// name, and a hundred names to a pair.
func BenchmarkLoad100k(b *testing.B) {
	for _, perPair := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d-per-pair", perPair), func(b *testing.B) {
			tr := benchTree(b, benchNames/perPair, perPair)
			b.ResetTimer()
			var s *Snapshot
			before := processorTime()
			for b.Loop() {
				s, _ = tr.load(nil)
			}
			b.StopTimer()
			b.ReportMetric((processorTime()-before).Seconds()/float64(b.N), "cpu-s/load")
			reportMemory(b, tr, s)
		})
	}
}

// BenchmarkReload100k measures a load in which nothing has changed.
func BenchmarkReload100k(b *testing.B) {
	tr := benchTree(b, benchNames, 1)
	s, _ := tr.load(nil)
	for b.Loop() {
		s, _ = tr.load(s)
	}
}

// reportMemory reports what a snapshot holds beyond DER, per name.
func reportMemory(b *testing.B, tr *tree, s *Snapshot) {
	if s.NameCount() != benchNames {
		b.Fatalf("%d names, want %d", s.NameCount(), benchNames)
	}
	der := make(map[*byte]int)
	for _, p := range s.Pairs() {
		for _, c := range p.Chain {
			der[&c[0]] = len(c)
		}
	}
	total := 0
	for _, n := range der {
		total += n
	}
	clear(der)
	s = nil
	without := heapBytes()
	s, _ = tr.load(nil)
	with := heapBytes()
	b.ReportMetric(float64(with-without-total)/benchNames, "B/name-beyond-DER")
	b.ReportMetric(float64(total)/benchNames, "B/name-of-DER")
	runtime.KeepAlive(s)
}

// processorTime returns what the process has spent on all processors: on a busy
// machine the only figure that means something.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// benchTree writes pairs with their chain, all from one intermediate.
func benchTree(b *testing.B, pairs, perPair int) *tree {
	tr := newTree(b)
	root := authority(b, "root", nil)
	ca := authority(b, "intermediate", root)
	for i := range pairs {
		var names []string
		for j := range perPair {
			names = append(names, fmt.Sprintf("www%d.site-%06d.example", j, i))
		}
		leaf := issue(b, &x509.Certificate{
			Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
			IssuingCertificateURL: []string{"http://ca.example/ca.der"},
			ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}, p256(b), ca)
		stem := fmt.Sprintf("d%03d/site-%06d.example", i/1000, i)
		tr.write(stem+".pem", chainPEM(leaf, ca)).write(stem+".key", leaf.keyPEM())
	}
	return tr
}

// BenchmarkReadBlocks measures the cutting of PEM.
func BenchmarkReadBlocks(b *testing.B) {
	var text strings.Builder
	pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: make([]byte, 1000)})
	data := []byte(strings.Repeat(text.String(), 3))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if blocks, bad := readBlocks(data); len(blocks) != 3 || bad != nil {
			b.Fatal(bad)
		}
	}
}
