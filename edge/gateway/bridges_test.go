package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/bridge"
)

// bridgeName is the socket of the only https target.
func (b *bench) bridgeName() string {
	b.t.Helper()
	for _, bridge := range b.s.bridges {
		return bridge.Name()
	}
	b.t.Fatal("no bridge")
	return ""
}

// newHTTPSBench proxies /api to appOne over https, whose bridge is the test; with
// two, to appTwo over http as well.
func newHTTPSBench(t *testing.T, two bool) (*bench, *sim.Backend) {
	t.Helper()
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) {
		c.Proxy = []string{"/api=https://192.0.2.10"}
		if two {
			c.Proxy = append(c.Proxy, "/api=http://"+appTwo)
		}
	}}, false)
	t.Cleanup(b.s.endBridges)
	return b, b.sim.Serve("unix:" + b.bridgeName())
}

// greets checks what the bridge is told, before anything of the request.
func greets(t *testing.T, near *sim.Peer) {
	t.Helper()
	near.Want("where to connect, and no more", bridge.AppendPreface(nil, 1, netip.MustParseAddrPort("192.0.2.10:443"), nil))
}

func TestHTTPSWaitsForTheVerdict(t *testing.T) {
	b, serving := newHTTPSBench(t, false)
	body := strings.Repeat("x", 100<<10)
	p := b.plain.Dial()
	p.Write(fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	near := serving.Accept("the request")
	greets(t, near)
	near.WantIdle("nothing before the verdict")
	near.Write([]byte{byte(bridge.Connected)})
	if got := request(t, b, near); !strings.HasSuffix(got, "\r\n\r\n"+body) {
		t.Fatalf("%d bytes came through", len(got))
	}
	near.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "POST")
	p.Write(get("/api"))
	if got := request(t, b, near); !strings.HasPrefix(got, "GET /api ") {
		t.Errorf("the second request: %q", got)
	}
	near.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "GET")
	p.Close()
	near.Close()
	b.done()
}

// TestHTTPSFailuresToldApart: the bridge's word decides the status, and since nothing
// was sent, another target is asked where there is one, whatever the method (P04).
func TestHTTPSFailuresToldApart(t *testing.T) {
	for name, c := range map[string]struct {
		says   string
		status int
	}{
		"unreachable":     {string(rune(bridge.Unreachable)), 502},
		"untrusted":       {string(rune(bridge.Untrusted)), 502},
		"late":            {string(rune(bridge.Late)), 504},
		"gone":            {"", 502},
		"no verdict":      {"H", 502},
		"answer unasked":  {string(rune(bridge.Connected)) + okAnswer, 502},
		"never a verdict": {"-", 504},
	} {
		for _, two := range []bool{false, true} {
			b, serving := newHTTPSBench(t, two)
			other := b.sim.Serve(appTwo)
			p := b.plain.Dial()
			p.Write("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
			near := serving.Accept("the request")
			greets(t, near)
			if c.says == "-" {
				b.sim.Advance(b.s.cfg.Timeouts.Connect + time.Second)
			} else {
				near.Write(c.says)
				near.Close()
				b.sim.Idle()
			}
			want := c.status
			var conn *sim.Peer
			// Where the kernel delivered the verdict alone, the request was on its way before
			// the answer came, which is one then: it is not sent twice.
			alone := name == "answer unasked" && other.Waiting() == 0
			if two && !alone {
				conn, want = other.Accept("the other target: "+name), 200
				request(t, b, conn)
				conn.Write(okAnswer)
				b.sim.Idle()
			}
			if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != want && !(alone && resp.StatusCode == 200) {
				t.Errorf("%s, two: %t: status %d, want %d", name, two, resp.StatusCode, want)
			}
			p.Close()
			near.Close()
			if conn != nil {
				conn.Close()
			}
			b.done()
		}
	}
}

func TestHTTPSClientGoneBeforeTheVerdict(t *testing.T) {
	b, serving := newHTTPSBench(t, false)
	p := b.plain.Dial()
	p.Write(get("/api"))
	near := serving.Accept("the request")
	greets(t, near)
	p.Reset()
	near.WantEOF("nobody waits for it any more")
	near.Close()
	b.done()
}

// TestInsecureIsTold: at the start, once for each.
func TestInsecureIsTold(t *testing.T) {
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) {
		c.Proxy = []string{"/a=https://192.0.2.10#insecure", "/b=https://192.0.2.10#insecure", "/c=https://192.0.2.10"}
	}}, false)
	t.Cleanup(b.s.endBridges)
	if n := strings.Count(b.log.String(), "is not verified"); n != 1 || len(b.s.bridges) != 2 {
		t.Errorf("told %d times, %d bridges; log:\n%s", n, len(b.s.bridges), b.log)
	}
	b.done()
}

// TestVanishedAddressIsDropped: an idle connection to an address that the name no
// longer has is closed at the next request, which goes to the new one (P07).
func TestVanishedAddressIsDropped(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	pool := b.w.routes[0].pools[0]
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the first request")
	request(t, b, conn)
	conn.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "GET")
	pool.name = b.s.resolver.Name("192.0.2.11") // what a look-up gave in the meantime
	next := b.sim.Serve(appTwo)
	p.Write(get("/api"))
	moved := next.Accept("the new address")
	conn.WantEOF("its address is gone")
	request(t, b, moved)
	pool.name = b.s.resolver.Name("192.0.2.12") // gone while it is busy
	pool.forget([]netip.Addr{netip.MustParseAddr("192.0.2.12")})
	moved.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "GET")
	moved.WantEOF("not kept")
	for _, peer := range []*sim.Peer{p, conn, moved} {
		peer.Close()
	}
	b.done()
}
