package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// Slow clients, on a clock that the test moves. Those that hold a connection for
// its own sake lose it at a known time; honest ones keep it for as long as they
// like.

// held is one worker with n slow clients and a good one, which must not notice.
func held(t *testing.T, n int) (b *bench, slow []*sim.Peer) {
	t.Helper()
	b = newBench(t, benchOptions{
		sim:    sim.Options{Calm: true, SocketsMax: n + 8},
		config: func(c *config.Config) { c.Limits.Connections = n + 4 },
	})
	for range n {
		slow = append(slow, b.plain.Dial())
	}
	b.sim.Idle()
	return b, slow
}

// goodClient asks once: it is answered without any time passing.
func (b *bench) goodClient() {
	b.t.Helper()
	if resp := exchanged(b.t, b.ask(get("/index.html")), "GET")[0]; resp.StatusCode != 200 {
		b.t.Errorf("the good client got %d", resp.StatusCode)
	}
}

// gone checks that all of the slow clients were cut off, and nothing is left.
func (b *bench) gone(slow []*sim.Peer) {
	b.t.Helper()
	for _, p := range slow {
		p.Close()
	}
	b.sim.Advance(lingerTime + time.Second)
	if b.w.open != 0 {
		b.t.Errorf("%d slow clients keep their connections", b.w.open)
	}
	b.done()
}

// (a) A byte of the head now and then: the time for a head is not extended (H13).
func TestSlowHeads(t *testing.T) {
	b, slow := held(t, 2000)
	raw := get("/index.html")
	for i := range int(b.s.cfg.Timeouts.Head/(5*time.Second)) + 1 {
		for _, p := range slow {
			p.Write(raw[i : i+1])
		}
		b.sim.Advance(5 * time.Second)
		b.goodClient()
	}
	for i, p := range slow {
		if !p.EOF() || !bytes.HasPrefix(p.Read(), []byte("HTTP/1.1 408 ")) {
			t.Fatalf("client %d was not told that it is too slow, or not let go", i)
		}
	}
	b.gone(slow)
}

// (b) A byte of the body now and then is less than --min-rate (H13).
func TestSlowBodies(t *testing.T) {
	b, slow := held(t, 200)
	for _, p := range slow {
		p.Write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
	}
	for range int(b.s.cfg.Timeouts.Body/(5*time.Second)) + 1 {
		for _, p := range slow {
			p.Write("x")
		}
		b.sim.Advance(5 * time.Second)
		b.goodClient()
	}
	b.gone(slow)
}

// (c) A client that does not read its answer (H13).
func TestReadersThatStop(t *testing.T) {
	b, slow := held(t, 20)
	for _, p := range slow {
		p.Stalled = true
		p.Write(get("/f1048583.bin"))
	}
	for range 4 {
		b.sim.Advance(b.s.cfg.Timeouts.Write / 3)
		b.goodClient()
	}
	for _, p := range slow {
		if !p.WasReset() {
			t.Error("a client that reads nothing was not reset: it might take what it has for all")
		}
	}
	b.gone(slow)
}

// (e) Idle connections, fresh and used (H13).
func TestIdleConnections(t *testing.T) {
	b, slow := held(t, 200)
	for _, p := range slow[:100] {
		p.Write(get("/index.html"))
	}
	b.sim.Idle()
	b.sim.Advance(b.s.cfg.Timeouts.Idle - time.Second)
	for _, p := range slow {
		p.Read()
		p.WantIdle("within the idle time")
	}
	b.sim.Advance(2 * time.Second)
	for _, p := range slow {
		p.WantEOF("idle for too long")
	}
	b.gone(slow)
}

// (g) An honest upload of 1 MB a minute, in whatever pieces, is not cut off while
// it lasts; nor is one at the least rate (H13).
func TestHonestUploads(t *testing.T) {
	for _, c := range []struct {
		piece int
		every time.Duration
	}{{17476, time.Second}, {512 << 10, 25 * time.Second}, {64, time.Second}, {1920, 29 * time.Second}} {
		t.Run(fmt.Sprintf("%d bytes each %v", c.piece, c.every), func(t *testing.T) {
			const length = 64 << 10 // what is read over
			b := newHTTPBench(t, benchOptions{})
			p := b.plain.Dial()
			p.Write(fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", length))
			b.sim.Idle()
			p.Read()
			for left := length; left > 0; left -= c.piece {
				p.Write(strings.Repeat("x", min(c.piece, left)))
				b.sim.Advance(c.every)
			}
			p.Write(smuggled)
			b.sim.Idle()
			if got := string(p.Read()); !strings.HasSuffix(got, "\r\n\r\npage\n") {
				t.Errorf("behind the upload: %q, FIN %v, reset %v", got, p.EOF(), p.WasReset())
			}
			p.Close()
			b.done()
		})
	}
}

// Without --min-rate any byte will do.
func TestNoLeastRate(t *testing.T) {
	b := newHTTPBench(t, benchOptions{config: func(c *config.Config) { c.Limits.MinRate = 0 }})
	p := b.plain.Dial()
	p.Write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n")
	b.sim.Idle()
	p.Read()
	for range 50 {
		p.Write("x")
		b.sim.Advance(29 * time.Second)
	}
	p.Write(smuggled)
	b.sim.Idle()
	if got := string(p.Read()); !strings.HasSuffix(got, "\r\n\r\npage\n") {
		t.Errorf("behind the upload: %q", got)
	}
	p.Write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n")
	b.sim.Advance(31 * time.Second)
	p.WantReset("not a byte came")
	b.done()
}

// --request-timeout ends what is slow as a whole, however it moves.
func TestWholeRequestTime(t *testing.T) {
	b := newHTTPBench(t, benchOptions{config: func(c *config.Config) { c.Timeouts.Request = 40 * time.Second }})
	p := b.plain.Dial()
	p.Write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
	for range 3 {
		p.Write(strings.Repeat("x", 5000))
		b.sim.Advance(10 * time.Second)
	}
	if p.WasReset() || p.EOF() {
		t.Fatal("cut off before its time")
	}
	p.Write(strings.Repeat("x", 5000))
	b.sim.Advance(11 * time.Second)
	p.WantReset("the time for the whole is over")
	b.done()
}
