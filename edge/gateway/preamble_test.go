package gateway

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/proxyproto"
)

// headerBench takes PROXY headers from the peers of the simulation.
func headerBench(t *testing.T, trust string) *bench {
	return newProxyBench(t, benchOptions{config: func(c *config.Config) {
		c.ProxyProtocol, c.Trust = true, []string{trust}
		c.Limits.ConnectionsPerAddress = 2
	}}, false)
}

const simPeers = "192.0.2.0/24"

var headerClient = netip.MustParseAddrPort("203.0.113.7:4711")

func headers(client netip.AddrPort) map[string]string {
	to := netip.MustParseAddrPort("198.51.100.1:443")
	return map[string]string{
		"v1": string(proxyproto.AppendV1(nil, client, to)),
		"v2": string(proxyproto.AppendV2(nil, client, to, proxyproto.AppendTLV(nil, proxyproto.TypeAuthority, []byte("a")))),
	}
}

// TestProxyHeader: the client that a header names is the one that applications are
// told of, however the header is cut.
func TestProxyHeader(t *testing.T) {
	for version, header := range headers(headerClient) {
		for cut := range len(header) + 1 {
			b := headerBench(t, simPeers)
			app := b.sim.Serve(appOne)
			p := b.plain.Dial()
			p.Write(header[:cut])
			b.sim.Idle()
			p.Write(header[cut:] + get("/api"))
			conn := app.Accept(version)
			if head := request(t, b, conn); !strings.Contains(head, "\r\nX-Forwarded-For: 203.0.113.7\r\n") {
				t.Fatalf("%s cut at %d:\n%s", version, cut, head)
			}
			conn.Write(okAnswer)
			b.sim.Idle()
			exchanged(t, p.Read(), "GET")
			p.Close()
			conn.Close()
			b.done()
		}
	}
}

// TestProxyHeaderLeavesOpen: a proxy that looks whether we live is its own client.
func TestProxyHeaderLeavesOpen(t *testing.T) {
	for name, header := range headers(netip.AddrPort{}) {
		b := headerBench(t, simPeers)
		p := b.plain.Dial()
		p.Write(header + get("/"))
		b.sim.Idle()
		if c := b.onlyConn(); c.peer != p.Addr {
			t.Errorf("%s: the peer is %v, want %v", name, c.peer, p.Addr)
		}
		exchanged(t, p.Read(), "GET")
		p.Close()
		b.done()
	}
}

func TestProxyHeaderRefused(t *testing.T) {
	good := headers(headerClient)
	for name, raw := range map[string]string{
		"missing":          get("/"),
		"missing, TLS":     "\x16\x03\x01\x02\x00\x01",
		"malformed":        "PROXY TCP4 203.0.113.7\r\n" + get("/"),
		"length of 65,535": "\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff" + strings.Repeat("x", 20),
	} {
		b := headerBench(t, simPeers)
		p := b.plain.Dial()
		p.Write(raw)
		p.WantReset(name)
		if got := p.Read(); len(got) > 0 {
			t.Errorf("%s was answered: %q", name, got)
		}
		b.done()
	}
	t.Run("twice", func(t *testing.T) {
		b := headerBench(t, simPeers)
		if got := b.ask(good["v1"] + good["v1"] + get("/")); !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) {
			t.Errorf("%q", got)
		}
		b.done()
	})
	t.Run("not whole in time", func(t *testing.T) {
		b := headerBench(t, simPeers)
		p := b.plain.Dial()
		p.Write(good["v2"][:20])
		b.sim.Advance(b.s.cfg.Timeouts.Handshake + time.Second)
		if !p.EOF() && !p.WasReset() {
			t.Error("it is still waited for")
		}
		p.Close()
		b.done()
	})
	t.Run("from anybody", func(t *testing.T) {
		b := headerBench(t, "198.51.100.0/24")
		if got := b.ask(good["v1"] + get("/")); !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) {
			t.Errorf("%q", got)
		}
		exchanged(t, b.ask(get("/")), "GET") // and without one as ever
		b.done()
	})
}

// TestProxyHeaderLimits: the limit by address is the client's, not the proxy's.
func TestProxyHeaderLimits(t *testing.T) {
	b := headerBench(t, simPeers)
	proxy := sim.AddrOf(1)
	var peers []*sim.Peer
	dial := func(client string) *sim.Peer {
		p := b.plain.DialFrom(proxy)
		p.Write(headers(netip.MustParseAddrPort(client))["v2"] + get("/"))
		b.sim.Idle()
		peers = append(peers, p)
		return p
	}
	for range 2 {
		exchanged(t, dial("203.0.113.7:1").Read(), "GET")
		exchanged(t, dial("203.0.113.8:1").Read(), "GET")
	}
	dial("203.0.113.7:1").WantReset("the third of one client")
	for _, p := range peers {
		p.Close()
	}
	b.done()
	if n := len(b.w.bySource.count); n != 0 {
		t.Errorf("%d addresses are still counted", n)
	}
}

// TestFailurePages: the site's own page stands in for ours, and the client is told
// when to come again (P04).
func TestFailurePages(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, true)
	s := openFiles(t, map[string][]byte{"502.html": []byte("<p>sorry"), "503.html": make([]byte, failurePageMax+1)})
	shared := b.s.current().shared
	if err := shared.failures.load(s); err == nil || !strings.Contains(err.Error(), "503.html") {
		t.Errorf("a page that is too long: %v", err)
	}
	resp := exchanged(t, b.ask(get("/api")), "GET")[0]
	if got := string(bodyOf(t, resp)); resp.StatusCode != 502 || got != "<p>sorry" {
		t.Errorf("status %d, page %q", resp.StatusCode, got)
	}
	for range 10 { // until both applications are left alone
		resp = exchanged(t, b.ask(get("/api")), "GET")[0]
	}
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	b.done()
}

// TestFailurePageOfEach: 502, 503 and 504 each have a page, the site's or a small one
// of ours (P04).
func TestFailurePageOfEach(t *testing.T) {
	pages := map[string][]byte{"502.html": []byte("<p>gone"), "503.html": []byte("<p>rests"), "504.html": []byte("<p>late")}
	for _, own := range []bool{false, true} {
		for _, status := range []int{502, 503, 504} {
			b := newProxyBench(t, benchOptions{}, false)
			if own {
				if err := b.s.current().shared.failures.load(openFiles(t, pages)); err != nil {
					t.Fatal(err)
				}
			}
			switch status {
			case 503:
				b.sim.FailConnect(unix.EMFILE)
			case 504:
				b.sim.Backend(appOne).Hang = true
			}
			p := b.plain.Dial()
			p.Write(get("/api"))
			b.sim.Advance(2 * time.Minute)
			resp := exchanged(t, p.Read(), "GET")[0]
			body := string(bodyOf(t, resp))
			if resp.StatusCode != status || resp.Header.Get("Content-Type") != string(textHTML) {
				t.Errorf("%d, own %v: status %d of type %q", status, own, resp.StatusCode, resp.Header.Get("Content-Type"))
			}
			if want := string(pages[fmt.Sprintf("%d.html", status)]); own && body != want || !own && (!strings.Contains(body, fmt.Sprint(status)) || len(body) > 1000) {
				t.Errorf("%d, own %v: page %q", status, own, body)
			}
			p.Close()
			b.done()
		}
	}
}
