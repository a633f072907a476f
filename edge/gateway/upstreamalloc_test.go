package gateway

import (
	"strings"
	"testing"

	"edge/edge/reactor/sim"
)

// warmProxied is a client's connection and one to an application, over which a request
// was answered; cold ends them.
func warmProxied(t testing.TB) (c *conn, u *upstream, cold func()) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the first request")
	request(t, b, conn)
	conn.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "GET")
	c, u = b.onlyConn(), onlyUpstream(b)
	return c, u, func() {
		if c.x != nil || u.c != nil {
			t.Error("a request is still under way")
		}
		c.dirty, u.dirty = false, false
		b.w.dirty, b.w.dirtyUps = b.w.dirty[:0], b.w.dirtyUps[:0]
		p.Close()
		conn.Close()
		b.done()
	}
}

// passOver has a request answered that is in in, by the answer in back, as if both
// were sent at once. Both are overwritten.
func passOver(t testing.TB, c *conn, u *upstream, in, back []byte) {
	c.received(in, 0)
	u.release(&u.out)
	u.asked = true // as if it was sent
	u.received(back, 0)
	if len(c.out) == 0 {
		t.Fatal("no answer")
	}
	c.release(&c.out)
	c.unsent = 0
}

// TestProxiedRequestAllocatesNothing: once connections are there, neither the way
// of a request to the application nor that of its answer takes memory.
func TestProxiedRequestAllocatesNothing(t *testing.T) {
	c, u, cold := warmProxied(t)
	raw, answer := []byte(get("/api/x?y")), []byte(okAnswer)
	in, back := make([]byte, len(raw)), make([]byte, len(answer))
	allocs := testing.AllocsPerRun(200, func() {
		copy(in, raw)
		copy(back, answer)
		passOver(t, c, u, in, back)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per request", allocs)
	}
	cold()
}

// BenchmarkProxiedRequest is the way of a small request to an application and of
// its answer back, without the reactor and without TLS.
func BenchmarkProxiedRequest(b *testing.B) {
	c, u, cold := warmProxied(b)
	raw := []byte("GET /api/174.html HTTP/1.1\r\nHost: localhost:8443\r\n\r\n")
	answer := []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Tue, 01 Dec 2026 02:00:00 GMT\r\n" +
		"Content-Type: text/html\r\nContent-Length: 174\r\nLast-Modified: Mon, 30 Nov 2026 20:00:00 GMT\r\n" +
		"Connection: keep-alive\r\nETag: \"656a3d2a-ae\"\r\nAccept-Ranges: bytes\r\n\r\n" + strings.Repeat("x", 174))
	in, back := make([]byte, len(raw)), make([]byte, len(answer))
	for b.Loop() {
		copy(in, raw)
		copy(back, answer)
		passOver(b, c, u, in, back)
	}
	cold()
}

// TestSlowReadersHoldNoReceiveBuffers: receive buffers are few and serve every
// connection. What slow readers do not take is not held in them.
func TestSlowReadersHoldNoReceiveBuffers(t *testing.T) {
	const readers = 40
	b := newProxyBench(t, benchOptions{sim: sim.Options{SocketsMax: 256, RecvBuffers: 4}}, false)
	app := b.sim.Serve(appOne)
	body := stormBytes(1, 1<<20)
	var peers, conns []*sim.Peer
	for range readers {
		p := b.plain.Dial()
		p.Stalled = true
		p.Write("GET /api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		peers = append(peers, p)
		conn := app.Accept("a request")
		request(t, b, conn)
		conn.Write("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n")
		conn.Write(body)
		conns = append(conns, conn)
	}
	b.sim.Idle()
	held := 64<<20 - b.w.r.Buffers().Available() // of what the simulation has
	if most := readers * 3 * outBytesMax; held > most {
		t.Errorf("%d bytes are held for %d slow readers, more than %d", held, readers, most)
	}
	if resp := exchanged(t, b.ask(get("/f174.bin")), "GET")[0]; resp.StatusCode != 200 {
		t.Errorf("somebody else is answered %d", resp.StatusCode)
	}
	for i, p := range peers {
		p.Stalled = false
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "GET")[0]; string(bodyOf(t, resp)) != string(body) {
			t.Errorf("reader %d: the body differs", i)
		}
		p.Close()
		conns[i].Close()
	}
	b.done()
}
