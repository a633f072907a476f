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

// (d) A byte of the hello now and then: the time for a handshake is not extended (H13).
func TestSlowHellos(t *testing.T) {
	b := newTLSBench(t, benchOptions{
		sim:    sim.Options{Calm: true, SocketsMax: 512},
		config: func(c *config.Config) { c.Limits.Connections = 500 },
	}, []string{"a.example"})
	hello := append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, make([]byte, 500)...)
	var slow []*sim.Peer
	for range 400 {
		slow = append(slow, b.secure.Dial())
	}
	for i := range int(b.s.cfg.Timeouts.Handshake/(2*time.Second)) + 1 {
		for _, p := range slow {
			p.Write(hello[i : i+1])
		}
		b.sim.Idle()
		if open := i < int(b.s.cfg.Timeouts.Handshake/(2*time.Second)); open && b.w.open < len(slow) {
			t.Fatalf("%d connections after %d s", b.w.open, 2*i)
		}
		b.goodClient()
		b.sim.Advance(2 * time.Second)
	}
	b.gone(slow)
}

// (f) An event each 20 s for ten minutes reaches its client at once, and nobody is
// cut off for being slow (H13, P08).
func TestHonestEventStream(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the request")
	request(t, b, conn)
	conn.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
	b.sim.Idle()
	p.Read()
	for i := range 30 {
		conn.Write(fmt.Sprintf("data: %d\n\n", i))
		b.sim.Idle()
		if got := dechunked(p.Read()); got != fmt.Sprintf("data: %d\n\n", i) {
			t.Fatalf("event %d: %q", i, got)
		}
		b.sim.Advance(20 * time.Second)
	}
	conn.CloseWrite()
	b.sim.Idle()
	if got := string(p.Read()); !strings.HasSuffix(got, "0\r\n\r\n") {
		t.Errorf("at the end: %q", got)
	}
	p.Close()
	conn.Close()
	b.done()
}

// dechunked joins the data of chunks, whatever their sizes.
func dechunked(b []byte) string {
	var data []byte
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\r\n"))
		var n int
		if _, err := fmt.Sscanf(string(line), "%x", &n); !ok || err != nil || n+2 > len(rest) {
			return fmt.Sprintf("no chunk: %q", b)
		}
		data = append(data, rest[:n]...)
		b = rest[n+2:]
	}
	return string(data)
}

// (g) An upload of 1 MB a minute for ten minutes, to an application.
func TestHonestUploadToAnApplication(t *testing.T) {
	const perSecond, seconds = 17476, 600
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.Limits.BodyBytes = 1 << 30 }}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", perSecond*seconds))
	conn := app.Accept("the request")
	request(t, b, conn)
	got := 0
	for range seconds {
		p.Write(strings.Repeat("x", perSecond))
		b.sim.Advance(time.Second)
		got += len(conn.Read())
	}
	if got != perSecond*seconds {
		t.Fatalf("%d bytes of %d reached the application", got, perSecond*seconds)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	p.Close()
	conn.Close()
	b.done()
}

// A client whose upload waits because the application does not read is not slow.
func TestUploadThatWaitsForTheApplication(t *testing.T) {
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) {
		c.Limits.BodyBytes = 1 << 30
		c.Timeouts.Body = 5 * time.Second
	}}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	const size = 4 << 20
	p.Write(fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size))
	conn := app.Accept("the request")
	request(t, b, conn)
	conn.Stalled = true
	p.Write(strings.Repeat("x", size))
	b.sim.Advance(20 * time.Second)
	if p.WasReset() || p.EOF() {
		t.Fatal("the client was cut off for the application's slowness")
	}
	conn.Stalled = false
	b.sim.Idle()
	if n := len(conn.Read()); n != size {
		t.Errorf("%d bytes of %d", n, size)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "POST")
	p.Close()
	conn.Close()
	b.done()
}
