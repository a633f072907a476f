package tlsstack

import (
	"crypto/rand"
	"runtime"
	"slices"
	"testing"
	"time"

	"edge/ech"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"

	"golang.org/x/sys/unix"
)

// What ECH adds to a full handshake, in processor time of the thread. Handshakes
// with and without it take turns, and medians are told, so that whatever else the
// machine does disturbs them alike.

// BenchmarkECH measures the server's part, from the hello to the tickets, for the
// cheapest key exchange there is, X25519, and an ECDSA certificate. The client's
// part, in between, is not counted.
func BenchmarkECH(b *testing.B) {
	x25519, p256 := echKey(b, 7), echKeyOf(b, 8, ech.KEMP256)
	cfg := echConfig(b, x25519, p256)
	takeTurns(b,
		turn{"without", func() time.Duration { return fullHandshake(b, cfg, nil) }},
		turn{"X25519", func() time.Duration { return fullHandshake(b, cfg, x25519) }},
		turn{"P-256", func() time.Duration { return fullHandshake(b, cfg, p256) }})
}

// BenchmarkECHOfChromium measures from the hello to the server's flight, with the
// hello that Chromium sends: X25519MLKEM768, as other browsers have it too. Without
// ECH, it is the hello that was inside.
func BenchmarkECHOfChromium(b *testing.B) {
	all, streams := readCaptures(b)
	at := slices.IndexFunc(all, func(c capture) bool { return c.Client == "chromium" && c.Label == "accept" })
	keys, err := ech.ParseKeyFile([]byte(all[at].KeyPEM))
	if err != nil {
		b.Fatal(err)
	}
	with, without := testConfig(b, keyP256), testConfig(b, keyP256)
	if with.ECH, err = ech.NewSet(keys); err != nil {
		b.Fatal(err)
	}
	var conn Conn
	conn.Init(with, rand.Reader)
	if _, _, err := conn.Receive(testTime, streams[at]); err != nil {
		b.Fatal(err)
	}
	inner := record.AppendPlaintext(nil, record.Handshake, conn.Hello().Raw, record.PlaintextMax)
	out := make([]byte, 0, 8<<10)
	half := func(cfg *Config, hello []byte, want ech.Outcome) func() time.Duration {
		return func() time.Duration {
			start := threadTime(b)
			out = answerOnce(b, &conn, cfg, hello, out)
			spent := threadTime(b) - start
			if info := conn.Info(); info.ECH != want || info.Group != wire.GroupX25519MLKEM768 {
				b.Fatalf("%+v", info)
			}
			return spent
		}
	}
	takeTurns(b, turn{"without", half(without, inner, ech.None)}, turn{"X25519", half(with, streams[at], ech.Accepted)})
}

// turn is one kind of handshake: its name, and what one costs.
type turn struct {
	name string
	one  func() time.Duration
}

// takeTurns reports what the first kind costs, and how many times that the others.
func takeTurns(b *testing.B, kinds ...turn) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([][]time.Duration, len(kinds))
	for b.Loop() {
		for i, k := range kinds {
			took[i] = append(took[i], k.one())
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2])
	}
	b.ReportMetric(median(0), kinds[0].name+"-ns")
	for i := 1; i < len(kinds); i++ {
		b.ReportMetric(median(i)/median(0), kinds[i].name+"-ratio")
	}
}

// fullHandshake returns what a handshake takes of the server.
func fullHandshake(t testing.TB, cfg *Config, key *ech.Key) (spent time.Duration) {
	c := newRawClient(t, cfg, mode{})
	hello := c.hello.marshal()
	if key != nil {
		c.hello.set(wire.ExtEncryptedClientHello, []byte{byte(wire.ECHInner)})
		hello = newECHSender(t, key).seal(t, outerFor(c), c.hello)
	}
	c.start(c.hello.marshal())
	hello = c.records(record.Handshake, hello, 0)
	start := threadTime(t)
	out := answerOnce(t, c.conn, cfg, hello, nil)
	spent = threadTime(t) - start
	c.readOutput(out)
	finished := c.records(record.Handshake, c.finished(), 0)
	start = threadTime(t)
	if _, _, err := c.conn.Receive(testTime, finished); err != nil {
		t.Fatal(err)
	}
	c.conn.AppendOutput(out[:0])
	return spent + threadTime(t) - start
}

// threadTime is the processor time that the thread has taken so far.
func threadTime(t testing.TB) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
