package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// TestProxyLongUpload: an upload may take far longer than an application may take
// to answer.
func TestProxyLongUpload(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	const pieces, piece = 30, 20 << 10
	p.Write(fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", pieces*piece))
	conn := app.Accept("the request")
	for range pieces {
		p.Write(strings.Repeat("x", piece))
		b.sim.Advance(10 * time.Second)
	}
	if head, body, _ := bytes.Cut(conn.Read(), []byte("\r\n\r\n")); len(body) != pieces*piece {
		t.Fatalf("%d bytes of %d; head:\n%s", len(body), pieces*piece, head)
	}
	b.sim.Advance(b.s.cfg.Timeouts.Answer - 15*time.Second)
	conn.Write(okAnswer)
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	p.Close()
	conn.Close()
	b.done()
}

// TestProxyApplicationStopsReading: then it is the application that took too long,
// not the client.
func TestProxyApplicationStopsReading(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	conn := app.Accept("the request")
	b.sim.Idle()
	conn.Stalled = true
	p.Write(strings.Repeat("x", 1000000))
	b.sim.Advance(b.s.cfg.Timeouts.Answer - time.Second)
	p.WantIdle("within the application's time")
	b.sim.Advance(2 * time.Second)
	if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 504 {
		t.Errorf("status %d, want 504", resp.StatusCode)
	}
	p.Close()
	conn.Close()
	b.done()
}

// TestProxyDrippedUpload: a client that sends next to nothing of its body loses the
// connection, proxied or not.
func TestProxyDrippedUpload(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	conn := app.Accept("the request")
	for range int(b.s.cfg.Timeouts.Body/(5*time.Second)) + 1 {
		p.Write("x")
		b.sim.Advance(5 * time.Second)
	}
	p.WantReset("too slow")
	b.sim.Idle()
	conn.Read()
	conn.WantEOF("the client is gone")
	conn.Close()
	b.done()
}

// tunnel opens one.
func tunnel(t *testing.T, b *bench) (p, conn *sim.Peer) {
	t.Helper()
	app := b.sim.Serve(appOne)
	p = b.plain.Dial()
	p.Write("GET /api/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	conn = app.Accept("the upgrade")
	request(t, b, conn)
	conn.Write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	b.sim.Idle()
	if got := p.Read(); !bytes.HasPrefix(got, []byte("HTTP/1.1 101 ")) {
		t.Fatalf("no tunnel: %q", got)
	}
	return p, conn
}

// TestProxyQuietTunnel: neither side of a WebSocket must speak but now and then,
// and it matters not which.
func TestProxyQuietTunnel(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	p, conn := tunnel(t, b)
	quiet := b.s.cfg.Timeouts.RelayIdle - time.Second
	for range 3 {
		b.sim.Advance(quiet)
		p.Write("ping")
		conn.Want("from the client", "ping")
	}
	for range 3 {
		b.sim.Advance(quiet)
		conn.Write("pong")
		p.Want("from the application", "pong")
	}
	b.sim.Advance(quiet + 2*time.Second)
	p.WantEOF("quiet for too long")
	p.Close()
	b.sim.Advance(5 * time.Second)
	conn.WantEOF("quiet for too long")
	conn.Close()
	b.done()
}

// TestProxyTunnelEndsWhole: what a client sent before its FIN reaches a slow
// application.
func TestProxyTunnelEndsWhole(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	p, conn := tunnel(t, b)
	conn.Stalled = true
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<15) // 512 KB
	p.Write(data)
	p.CloseWrite()
	b.sim.Idle()
	conn.Stalled = false
	b.sim.Idle()
	if got := conn.Read(); !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d, or others", len(got), len(data))
	}
	conn.WantEOF("the client's end")
	conn.Write("last")
	conn.Close()
	p.Want("the application's end", "last")
	p.Close()
	b.done()
}

// TestProxyHalfClosedUpload: a client without TLS that sends FIN behind a whole
// request is answered, however slow the application takes it.
func TestProxyHalfClosedUpload(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	body := strings.Repeat("0123456789", 40000)
	p := b.plain.Dial()
	p.Write(fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	p.CloseWrite()
	conn := app.Accept("the request")
	conn.Stalled = true
	b.sim.Idle()
	conn.Stalled = false
	b.sim.Idle()
	if _, got, _ := bytes.Cut(conn.Read(), []byte("\r\n\r\n")); string(got) != body {
		t.Fatalf("%d bytes of %d, or others", len(got), len(body))
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "POST")
	p.WantEOF("answered")
	p.Close()
	conn.Close()
	b.done()
}

// TestProxyResetBehindTheAnswer: what came before a reset is the client's, and
// whole if its length says so.
func TestProxyResetBehindTheAnswer(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<14) // 256 KB
	for _, c := range []struct {
		name, head string
		whole      bool
	}{
		{"length", fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body)), true},
		{"until close", "HTTP/1.1 200 OK\r\n\r\n", false},
	} {
		b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true, PipeBytes: 1 << 20}}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Stalled = true
		p.Write(get("/api"))
		conn := app.Accept("the request")
		request(t, b, conn)
		conn.Write(c.head)
		conn.Write(body)
		b.sim.Idle()
		if conn.Unsent() > 0 {
			t.Fatalf("%s: %d bytes did not go in", c.name, conn.Unsent())
		}
		u := onlyUpstream(b)
		b.sim.Post(func() { u.receiveEnded(errReset) })
		b.sim.Idle()
		p.Stalled = false
		b.sim.Idle()
		if c.whole {
			if resp := exchanged(t, p.Read(), "GET")[0]; !bytes.Equal(bodyOf(t, resp), body) {
				t.Errorf("%s: the body differs", c.name)
			}
		} else if !p.WasReset() {
			t.Errorf("%s: what was cut passes for whole", c.name)
		}
		p.Close()
		conn.Close()
		b.done()
	}
}

var errReset = unix.ECONNRESET

func onlyUpstream(b *bench) *upstream {
	for _, e := range b.w.ends {
		if u, ok := e.(*upstream); ok {
			return u
		}
	}
	b.t.Fatal("no connection to an application")
	return nil
}

// TestProxyRefusesBeforeAsking: what cannot be sent on is answered here.
func TestProxyRefusesBeforeAsking(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	p := b.plain.Dial()
	p.Write("GET /api HTTP/1.1\r\nHost: a\r\nConnection: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s\r\n\r\n")
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != 400 {
		t.Errorf("status %d", resp.StatusCode)
	}
	p.Close()
	b.done()
}

// TestProxyWholeRequestTime: --request-timeout is answered while it can be.
func TestProxyWholeRequestTime(t *testing.T) {
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.Timeouts.Request = 20 * time.Second }}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the request")
	b.sim.Advance(21 * time.Second)
	if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != 504 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if !strings.Contains(b.log.String(), "request-timeout") {
		t.Errorf("the log does not name the limit: %s", b.log)
	}
	conn.Close()
	p.Close()
	b.done()
}

// TestProxyOwnShortage: that we have no socket left is not the application's fault.
func TestProxyOwnShortage(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, true)
	for range 5 {
		b.sim.FailConnect(unix.EMFILE)
		resp := exchanged(t, b.ask(get("/api")), "GET")[0]
		if resp.StatusCode != 503 {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if n := b.w.routes[0].group.Healthy(); n != 2 {
		t.Errorf("%d of 2 applications are taken for healthy", n)
	}
	b.done()
}
