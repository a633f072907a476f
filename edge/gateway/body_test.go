package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// Request bodies. A site wants none of them: the answer comes at once, a short
// body is read over for the sake of the connection, any other ends it.

// Field case H07 where nobody wants the body.
func TestExpect(t *testing.T) {
	put := func(length int, expect string) string {
		return fmt.Sprintf("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nExpect: %s\r\n\r\n", length, expect)
	}
	testHTTP(t, benchOptions{}, []httpCase{
		// No 100 where nobody wants the body: the final status comes at once, and the
		// connection ends, for the client may send the body or not (RFC 9110, 10.1.1).
		{"waits", put(5, "100-continue"), "405 close"},
		{"waits, in capitals", put(5, "100-Continue"), "405 close"},
		{"does not wait", put(5, "100-continue") + "hello" + smuggled, "405 close"},
		{"more than the limit", put(2<<20, "100-continue"), "413 close"},
		{"another expectation", put(5, "foo"), "417 close"},
		{"another one beside", put(5, "100-continue, foo"), "417 close"},
		{"no body", "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n" + smuggled, "200 200"},
		{"body of nothing", put(0, "100-continue") + smuggled, "405 200"},
		{"HTTP/1.0", "PUT / HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello", "405 close"},
	})
}

func TestBodies(t *testing.T) {
	post := func(length int, body string) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", length, body)
	}
	testHTTP(t, benchOptions{}, []httpCase{
		{"none", post(0, "") + smuggled, "405 200"},
		{"short", post(5, "hello") + smuggled, "405 200"},
		{"a request within", post(len(smuggled), smuggled) + smuggled, "405 200"},
		{"as long as is read over", post(64<<10, strings.Repeat("x", 64<<10)) + smuggled, "405 200"},
		{"one byte longer", post(64<<10+1, strings.Repeat("x", 64<<10+1)) + smuggled, "405 close"},
		{"with GET", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + smuggled, "200 200"},
		{"HTTP/1.0, kept alive", "POST / HTTP/1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello" + smuggled, "405 200"},
	})
}

// The answer does not wait for the body.
func TestAnswerBeforeTheBodyIsThere(t *testing.T) {
	b := newHTTPBench(t, benchOptions{})
	p := b.plain.Dial()
	p.Write("GET /a/b HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n")
	b.sim.Idle()
	if got := string(p.Read()); !strings.HasSuffix(got, "\r\n\r\nb\n") {
		t.Fatalf("before the body: %q", got)
	}
	for range 50 {
		p.Write(strings.Repeat("x", 1000))
		p.WantIdle("within the body")
	}
	p.Write(smuggled)
	b.sim.Idle()
	if got := string(p.Read()); !strings.HasSuffix(got, "\r\n\r\npage\n") {
		t.Fatalf("behind the body: %q", got)
	}
	p.Close()
	b.done()
}

// An upload that nobody wants is cut off, but only after its client had the time
// to see why.
func TestUploadSeesItsAnswer(t *testing.T) {
	for _, size := range []int{100 << 10, 900 << 10} {
		b := newHTTPBench(t, benchOptions{})
		p := b.plain.Dial()
		p.Write(fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size)))
		b.sim.Idle()
		if got := string(p.Read()); !strings.HasPrefix(got, "HTTP/1.1 405 ") {
			t.Errorf("%d bytes: %.80q", size, got)
		}
		p.WantEOF("the answer is out")
		p.Close()
		b.done()
	}
}

// What follows the last answer is read over within bounds: bytes, and time.
func TestLingering(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		b := newHTTPBench(t, benchOptions{})
		p := b.plain.Dial()
		p.Write("GET / HTTP/1.0\r\n\r\n" + strings.Repeat("x", lingerBytesMax+100<<10))
		b.sim.Idle()
		if !p.WasReset() {
			t.Error("more is read over than may be")
		}
		b.done()
	})
	t.Run("time", func(t *testing.T) {
		b := newHTTPBench(t, benchOptions{})
		p := b.plain.Dial()
		p.Write("GET / HTTP/1.0\r\n\r\n")
		for range 10 {
			b.sim.Advance(lingerTime / 4)
			p.Write("x")
		}
		b.sim.Idle()
		if b.w.open != 0 {
			t.Error("a peer that goes on sending keeps its connection")
		}
		b.done()
	})
}

// --max-pipelined bounds what waits for a peer that does not read, also where
// each answer is small; order is kept, and nothing is lost.
func TestPipelineLimit(t *testing.T) {
	const most, n = 5, 300
	b := newHTTPBench(t, benchOptions{
		sim:    sim.Options{PipeBytes: 4 << 10},
		config: func(c *config.Config) { c.Limits.Pipelined = most },
	})
	p := b.plain.Dial()
	p.Stalled = true
	b.sim.Idle()
	c := b.onlyConn()
	raw := strings.Repeat("GET /a/b HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", n/2)
	waited := 0
	for i := range len(raw) / 100 {
		p.Write(raw[i*100 : min(len(raw), i*100+100)])
		b.sim.Idle()
		if c.unsent > most {
			t.Fatalf("%d answers wait to be sent, the limit is %d", c.unsent, most)
		}
		waited = max(waited, c.unsent)
	}
	if waited < most {
		t.Errorf("at most %d answers waited: the limit was not met", waited)
	}
	p.Write(raw[len(raw)/100*100:])
	b.sim.Idle()
	p.Stalled = false
	b.sim.Idle()
	if got, all, err := answersOf(raw, p.Read(), p.EOF()); err != nil || got != strings.TrimSpace(strings.Repeat("200 404 ", n/2)) {
		t.Errorf("%d answers of %d, %v", len(all), n, err)
	}
	p.Close()
	b.done()
}

// A client that goes on sending while its answers wait is not read any more, and
// loses nothing.
func TestReadingStopsWhileAnswersWait(t *testing.T) {
	const n = 10000
	b := newHTTPBench(t, benchOptions{sim: sim.Options{PipeBytes: 4 << 10}})
	p := b.plain.Dial()
	p.Stalled = true
	raw := strings.Repeat("GET /a/b HTTP/1.1\r\nHost: a\r\n\r\n", n)
	p.Write(raw)
	b.sim.Idle()
	if p.Unsent() < len(raw)/2 {
		t.Errorf("%d bytes of %d were read though no answer was", len(raw)-p.Unsent(), len(raw))
	}
	p.Stalled = false
	b.sim.Idle()
	if _, all, err := answersOf(raw, p.Read(), p.EOF()); err != nil || len(all) != n {
		t.Errorf("%d answers of %d, %v", len(all), n, err)
	}
	p.Close()
	b.done()
}

// An answer that is sent at once starts the idle time, and leaves no deadline of
// its request behind.
func TestIdleTimeAfterAnAnswerSentAtOnce(t *testing.T) {
	b := newBench(t, benchOptions{sim: sim.Options{Calm: true, PipeBytes: 1 << 20}})
	idle := b.s.cfg.Timeouts.Idle
	p := b.plain.Dial()
	b.sim.Advance(idle - 5*time.Second)
	for range 3 {
		raw := get("/f102400.bin")
		p.Write(raw[:10]) // starts the time for the head
		b.sim.Idle()
		p.Write(raw[10:])
		b.sim.Idle()
		exchanged(t, p.Read(), "GET")
		b.sim.Advance(idle - 5*time.Second)
		p.WantIdle("within the idle time")
	}
	b.sim.Advance(10 * time.Second)
	p.WantEOF("idle")
	p.Close()
	b.done()
}
