package gateway

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/proxyproto"
)

// greetingBench proxies /api to appOne, which wants PROXY headers of a version.
func greetingBench(t *testing.T, version string) *bench {
	return newProxyBench(t, benchOptions{config: func(c *config.Config) {
		c.Proxy = []string{"/api=http://" + appOne + "#proxy-protocol=" + version}
	}}, false)
}

// greeted reads a request that a PROXY header stands in front of, and says whose
// it is; "" if there is none.
func greeted(t *testing.T, b *bench, app *sim.Peer) (h proxyproto.Header, source string) {
	t.Helper()
	got := []byte(request(t, b, app))
	n, err := proxyproto.Parse(got, &h)
	if err != nil {
		if !bytes.HasPrefix(got, []byte("GET /api")) {
			t.Fatalf("the application got %q", got)
		}
		return h, ""
	}
	if !bytes.HasPrefix(got[n:], []byte("GET /api")) {
		t.Fatalf("behind the header: %q", got[n:])
	}
	return h, h.Source.String()
}

// TestProxyHeaderBelongsToOneClient: the connection that begins with a header
// carries the requests of that client, and of nobody else.
func TestProxyHeaderBelongsToOneClient(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		b := greetingBench(t, version)
		app := b.sim.Serve(appOne)
		one, two := b.plain.Dial(), b.plain.Dial()
		var conns [2]*sim.Peer
		for round := range 3 {
			for i, p := range []*sim.Peer{one, two} {
				p.Write(get("/api"))
				want := ""
				if round == 0 {
					conns[i], want = app.Accept("a client's first request"), p.Addr.String()
				}
				h, source := greeted(t, b, conns[i])
				if source != want {
					t.Fatalf("%s, round %d: header for %q, want %q", version, round, source, want)
				}
				if want != "" && (h.Version != int(version[1]-'0') || len(h.TLVs) != 0) {
					t.Errorf("%s: %+v", version, h)
				}
				conns[i].Write(okAnswer)
				b.sim.Idle()
				exchanged(t, p.Read(), "GET")
			}
		}
		if app.Waiting() != 0 {
			t.Errorf("%s: more connections than clients", version)
		}
		one.Close()
		conns[0].WantEOF("its client is gone")
		conns[1].WantIdle("its client is not")
		b.sim.Advance(poolIdleTime + time.Second)
		conns[1].WantEOF("idle for too long")
		two.Write(get("/api"))
		again := app.Accept("after it was idle")
		if _, source := greeted(t, b, again); source != two.Addr.String() {
			t.Errorf("%s: header for %q", version, source)
		}
		again.Write(okAnswer)
		b.sim.Idle()
		exchanged(t, two.Read(), "GET")
		again.Close() // the application ends it first
		b.sim.Idle()
		two.Close()
		for _, c := range conns {
			c.Close()
		}
		b.done()
	}
}

// TestProxyHeaderOnARetry: a connection that closes as it is used again is replaced
// by one that begins with the header again.
func TestProxyHeaderOnARetry(t *testing.T) {
	b := greetingBench(t, "v1")
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the first request")
	greeted(t, b, conn)
	conn.Write(okAnswer)
	b.sim.Idle()
	p.Write(get("/api"))
	b.sim.Idle()
	if conn.Read(); app.Waiting() != 0 {
		t.Fatal("not sent over the connection that is there")
	}
	conn.Reset()
	again := app.Accept("the second attempt")
	if _, source := greeted(t, b, again); source != p.Addr.String() {
		t.Errorf("header for %q, want %v", source, p.Addr)
	}
	again.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, p.Read(), "GET", "GET")
	p.Close()
	again.Close()
	b.done()
}

// TestProxyHeaderTellsTLS: version 2 tells what the client's TLS is, to a plain
// target and, in front of the handshake, to an https one.
func TestProxyHeaderTellsTLS(t *testing.T) {
	for _, target := range []string{"http://", "https://"} {
		b := newTLSBench(t, proxyOptions(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) {
			c.Proxy = []string{"/api=" + target + "192.0.2.10:80#proxy-protocol=v2"}
		}}, false), []string{"a.example"})
		serving := b.sim.Serve(appOne)
		if target == "https://" {
			serving = b.sim.Serve("unix:" + b.bridgeName())
		}
		c := b.dial("a.example")
		io.WriteString(c, get("/api"))
		app := serving.Accept("the request")
		b.sim.Idle()
		got := app.Read()
		if target == "https://" {
			if to := string(got[18:28]); to != "\xff\xff\xc0\x00\x02\x0a\x00\x50"+string(got[26:28]) {
				t.Errorf("the bridge is sent to %x", to)
			}
			got = got[28:]
		}
		var h proxyproto.Header
		n, err := proxyproto.Parse(got, &h)
		if n == 0 || err != nil {
			t.Fatalf("%s: %q, %v", target, got, err)
		}
		alpn, _ := h.TLV(proxyproto.TypeALPN)
		name, _ := h.TLV(proxyproto.TypeAuthority)
		ssl, _ := h.TLV(proxyproto.TypeSSL)
		if string(alpn) != c.ConnectionState().NegotiatedProtocol || string(name) != "a.example" ||
			!strings.HasPrefix(string(ssl), "\x01\x00\x00\x00\x01\x21\x00\x07TLSv1.3\x23\x00\x16TLS_AES_128_GCM_SHA256") {
			t.Errorf("%s: ALPN %q, name %q, TLS %q", target, alpn, name, ssl)
		}
		if target == "https://" {
			if n != len(got) {
				t.Errorf("behind the header, before the verdict: %q", got[n:])
			}
		} else if !bytes.HasPrefix(got[n:], []byte("GET /api")) {
			t.Errorf("behind the header: %q", got[n:])
		}
		c.Close()
		b.sim.Idle()
		app.Close()
		b.done()
	}
}

// TestProxyHeaderFitsItsRoom: the longest there can be.
func TestProxyHeaderFitsItsRoom(t *testing.T) {
	if len(localHeader(1)) == 0 || len(localHeader(2)) != 16 || localHeader(0) != nil {
		t.Error("headers of our own connections")
	}
	long := strings.Repeat("x", textMax)
	tlvs := proxyproto.AppendTLV(nil, proxyproto.TypeALPN, []byte(long))
	tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeAuthority, []byte(long))
	tlvs = proxyproto.AppendSSL(tlvs, proxyproto.SSL{Version: "TLSv1.3", Cipher: "TLS_CHACHA20_POLY1305_SHA256", Cert: true, CommonName: long})
	if n := 20 + 16 + 36 + len(tlvs); n > proxyHeaderBytes {
		t.Errorf("%d bytes", n)
	}
}
