package tlsstack

import (
	"crypto/rand"
	"fmt"
	"runtime"
	"testing"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// What a handshake costs: the server's part alone, the client's is prepared.

// half is a handshake up to the client's Finished, which is ready to be received.
type half struct {
	conn     *Conn
	finished []byte
}

// prepareHalves makes n handshakes that lack the client's Finished alone.
func prepareHalves(t testing.TB, cfg *Config, n int) []half {
	t.Helper()
	var out []half
	for range n {
		c := newRawClient(t, cfg, mode{})
		c.must(c.sendHello())
		c.read()
		out = append(out, half{c.conn, c.records(record.Handshake, c.finished(), 0)})
	}
	return out
}

// answerOnce is the first half of a handshake on the server: a hello in, a flight
// out.
func answerOnce(t testing.TB, conn *Conn, cfg *Config, hello, out []byte) []byte {
	conn.Init(cfg, rand.Reader)
	if _, _, err := conn.Receive(testTime, hello); err != nil {
		t.Fatal(err)
	}
	if err := conn.Continue(testTime); err != nil {
		t.Fatal(err)
	}
	return conn.AppendOutput(out[:0])
}

// Allocations of a full handshake without client authentication, with tickets.
// The larger part is not ours: an ECDSA signature takes 59 by itself, Ed25519 two.
const (
	allocsToFlight   = 58 // hello to flight, Ed25519
	allocsToFinished = 24 // Finished to tickets
)

func TestHandshakeAllocations(t *testing.T) {
	cfg := ticketConfig(t)
	cfg.Certificates = testConfig(t, keyEd25519).Certificates
	c := newRawClient(t, cfg, mode{})
	hello := c.records(record.Handshake, c.hello.marshal(), 0)
	var conn Conn
	out := make([]byte, 0, 8<<10)
	first := testing.AllocsPerRun(50, func() { out = answerOnce(t, &conn, cfg, hello, out) })
	halves := prepareHalves(t, cfg, 52)
	second := testing.AllocsPerRun(50, func() {
		h := halves[0]
		halves = halves[1:]
		if _, _, err := h.conn.Receive(testTime, h.finished); err != nil {
			t.Fatal(err)
		}
		out = h.conn.AppendOutput(out[:0])
	})
	t.Logf("%v allocations to the flight, %v from Finished to the tickets", first, second)
	if first > allocsToFlight || second > allocsToFinished {
		t.Errorf("%v and %v allocations, at most %d and %d are wanted", first, second, allocsToFlight, allocsToFinished)
	}
}

// What an established connection that does nothing may hold in the heap for TLS,
// the Conn itself included, in bytes: awake and at rest.
const (
	idleBytesMax    = 2304
	restingBytesMax = 640
)

func TestIdleMemory(t *testing.T) {
	for _, rest := range []bool{false, true} {
		limit := int64(idleBytesMax)
		if rest {
			limit = restingBytesMax
		}
		each := idleBytes(t, rest)
		t.Logf("%d bytes for each connection, resting %v", each, rest)
		if each > limit {
			t.Errorf("%d bytes for each connection, resting %v: at most %d are wanted", each, rest, limit)
		}
	}
}

// idleBytes measures many connections.
func idleBytes(t *testing.T, rest bool) int64 {
	const n = 400
	cfg := ticketConfig(t)
	halves := prepareHalves(t, cfg, n)
	conns := make([]*Conn, 0, n)
	for _, h := range halves {
		if _, _, err := h.conn.Receive(testTime, h.finished); err != nil {
			t.Fatal(err)
		}
		h.conn.AppendOutput(nil)
		if rest {
			h.conn.Rest()
		}
		conns = append(conns, h.conn)
	}
	halves = nil
	before := heapInUse()
	for i := range conns {
		conns[i] = nil
	}
	after := heapInUse()
	runtime.KeepAlive(conns)
	return (int64(before) - int64(after)) / n
}

// TestSilentClient: a connection on which nothing was received holds nothing.
func TestSilentClient(t *testing.T) {
	cfg := testConfig(t)
	var c Conn
	if n := testing.AllocsPerRun(10, func() { c.Init(cfg, rand.Reader) }); n != 0 {
		t.Errorf("%v allocations before the first byte", n)
	}
	if n, _, err := c.Receive(testTime, nil); n != 0 || err != nil || c.Wait() != WaitBytes || c.Hello() != nil {
		t.Errorf("nothing received: %d, %v", n, err)
	}
	if err := c.ReceiveEOF(); err == nil {
		t.Error("an end before the hello is an orderly one")
	}
}

// heapInUse is the size of what is reachable. Pools give their content up at the
// second collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkHandshake measures the server's part of a full handshake, without the
// verification of Finished, for each key and group.
func BenchmarkHandshake(b *testing.B) {
	for name, kind := range map[string]keyKind{"ecdsa": keyP256, "rsa2048": keyRSA, "ed25519": keyEd25519} {
		b.Run(name, func(b *testing.B) {
			cfg := ticketConfig(b)
			cfg.Certificates = testConfig(b, kind).Certificates
			c := newRawClient(b, cfg, mode{})
			hello := c.records(record.Handshake, c.hello.marshal(), 0)
			var conn Conn
			out := make([]byte, 0, 8<<10)
			b.ReportAllocs()
			for b.Loop() {
				out = answerOnce(b, &conn, cfg, hello, out)
			}
		})
	}
}

// BenchmarkFinished measures the rest: Finished verified, two tickets sealed.
func BenchmarkFinished(b *testing.B) {
	halves := prepareHalves(b, ticketConfig(b), 200)
	out := make([]byte, 0, 4<<10)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i == len(halves) {
			b.StopTimer()
			halves, i = prepareHalves(b, ticketConfig(b), 200), 0
			b.StartTimer()
		}
		if _, _, err := halves[i].conn.Receive(testTime, halves[i].finished); err != nil {
			b.Fatal(err)
		}
		out = halves[i].conn.AppendOutput(out[:0])
		i++
	}
}

// BenchmarkRecords measures the data path by record size.
func BenchmarkRecords(b *testing.B) {
	for _, suite := range []wire.CipherSuite{wire.SuiteAES128GCMSHA256, wire.SuiteAES256GCMSHA384, wire.SuiteChaCha20Poly1305SHA256} {
		for _, size := range []int{100, 1400, 16384} {
			b.Run(fmt.Sprintf("seal/%x/%d", suite, size), func(b *testing.B) {
				c := newRawClient(b, testConfig(b), mode{})
				c.hello.suites = []uint16{uint16(suite)}
				c.handshake()
				rec := make([]byte, size+RecordOverhead)
				b.SetBytes(int64(size))
				for b.Loop() {
					c.conn.SealInPlace(rec, size)
				}
			})
		}
	}
}
