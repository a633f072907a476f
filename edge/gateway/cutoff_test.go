package gateway

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/bridge"
)

// ends has the bridge, which the test plays, end a connection: after the upstream's
// close_notify or, if it was cut off, without.
func (b *bench) ends(near *sim.Peer, cut bool) {
	b.t.Helper()
	if !cut {
		b.link().End()
	}
	near.Close()
	b.sim.Idle()
}

// link is that of the only connection to an https target.
func (b *bench) link() (link *bridge.Link) {
	b.t.Helper()
	for _, e := range b.w.ends {
		if u, ok := e.(*upstream); ok && u.link != nil && !u.gone {
			if link != nil {
				b.t.Fatal("several connections to https targets")
			}
			link = u.link
		}
	}
	if link == nil {
		b.t.Fatal("no connection to an https target")
	}
	return link
}

// verdictOn has the bridge connect for the request, which it reads.
func verdictOn(t *testing.T, b *bench, near *sim.Peer) {
	t.Helper()
	b.sim.Idle()
	near.Read() // where to
	near.Write([]byte{byte(bridge.Connected)})
	request(t, b, near)
}

// TestHTTPSCutOff: what lasts until the connection ends is whole only after
// close_notify (RFC 9112, 9.8), and a client sees it if it is not, in chunks as
// without; what is whole by its own length does not need one (P03).
func TestHTTPSCutOff(t *testing.T) {
	const toEnd = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	const reset = 0
	for name, c := range map[string]struct {
		says  string
		body  string
		ended int // the client's status after close_notify
		cut   int // and where that lacks
	}{
		"to the end":           {says: toEnd + "some bytes", body: "some bytes", ended: 200, cut: reset},
		"to the end, HTTP/1.0": {says: "HTTP/1.0 200 OK\r\n\r\nsome bytes", body: "some bytes", ended: 200, cut: reset},
		"to the end, empty":    {says: toEnd, ended: 200, cut: reset},
		"coded, to the end":    {says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ended: reset, cut: reset},
		"length, whole":        {says: okAnswer, body: "hello", ended: 200, cut: 200},
		"length, a part":       {says: strings.TrimSuffix(okAnswer, "o"), ended: reset, cut: reset},
		"chunked, whole":       {says: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", body: "hello", ended: 200, cut: 200},
		"no body":              {says: "HTTP/1.1 204 No Content\r\n\r\n", ended: 204, cut: 204},
		"part of a head":       {says: "HTTP/1.1 200 OK\r\nConte", ended: 502, cut: 502},
		"a 1xx head alone":     {says: "HTTP/1.1 103 Early Hints\r\n", ended: 502, cut: 502},
		"nothing":              {ended: 502, cut: 502},
	} {
		for _, minor := range []string{"1", "0"} {
			for _, cut := range []bool{false, true} {
				b, serving := newHTTPSBench(t, false)
				p := b.plain.Dial()
				p.Write("GET /api HTTP/1." + minor + "\r\nHost: a\r\n\r\n")
				near := serving.Accept("the request")
				verdictOn(t, b, near)
				near.Write(c.says)
				b.sim.Idle()
				b.ends(near, cut)
				want := c.ended
				if cut {
					want = c.cut
				}
				if want == reset {
					p.WantReset(name)
				} else if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != want || want == 200 && string(bodyOf(t, resp)) != c.body {
					t.Errorf("%s, HTTP/1.%s, cut off: %t: status %d, want %d", name, minor, cut, resp.StatusCode, want)
				}
				if told := strings.Contains(b.log.String(), "without close_notify; an answer was cut short"); told != (cut && c.ended == 200 && c.cut == reset) {
					t.Errorf("%s, cut off: %t; log:\n%s", name, cut, b.log)
				}
				p.Close()
				b.done()
			}
		}
	}
}

// TestHTTPSCutOffWhileIdle: a connection that is kept and ends, either way, is
// dropped, and the next request has a new one.
func TestHTTPSCutOffWhileIdle(t *testing.T) {
	for _, cut := range []bool{false, true} {
		b, serving := newHTTPSBench(t, false)
		p := b.plain.Dial()
		for range 3 {
			p.Write(get("/api"))
			near := serving.Accept("the request")
			verdictOn(t, b, near)
			near.Write(okAnswer)
			b.sim.Idle()
			exchanged(t, p.Read(), "GET")
			if n := len(b.w.routes[0].pools[0].idle); n != 1 {
				t.Errorf("%d connections are kept", n)
			}
			b.ends(near, cut)
			if n := len(b.w.routes[0].pools[0].idle); n != 0 {
				t.Errorf("%d connections are kept that ended", n)
			}
		}
		if strings.Contains(b.log.String(), "upstream") {
			t.Errorf("log:\n%s", b.log)
		}
		p.Close()
		b.done()
	}
}

// TestHTTPSTunnelCutOff: what came through a tunnel reaches the client, which then
// sees the end that the upstream made: TLS without close_notify, if that was it.
func TestHTTPSTunnelCutOff(t *testing.T) {
	for _, cut := range []bool{false, true} {
		b := newTLSBench(t, proxyOptions(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) {
			c.Proxy = []string{"/api=https://192.0.2.10"}
		}}, false), []string{"a.example"})
		t.Cleanup(b.s.endBridges)
		serving := b.sim.Serve("unix:" + b.bridgeName())
		c := b.dial("a.example")
		io.WriteString(c, "GET /api/ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		near := serving.Accept("the request")
		verdictOn(t, b.bench, near)
		near.Write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		b.sim.Idle()
		near.Write("the last words")
		b.ends(near, cut)
		if got := readAll(t, c); !strings.HasSuffix(got, "\r\n\r\nthe last words") {
			t.Errorf("cut off: %t: the client got %q", cut, got)
		}
		if _, err := c.Read(make([]byte, 1)); err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		if raw := c.NetConn().(*simConn); raw.ended != cut || !raw.p.EOF() {
			t.Errorf("cut off: %t: ended without close_notify: %t, FIN: %t", cut, raw.ended, raw.p.EOF())
		}
		c.Close()
		b.done()
	}
}
