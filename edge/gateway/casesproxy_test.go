package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// What breaks between a proxy and its applications.

// TestReusedConnections: P01. A connection that was kept and fails as it is used
// again costs a silent retry where nothing can be done twice, and no more.
func TestReusedConnections(t *testing.T) {
	const first = "GET /api HTTP/1.1\r\nHost: a\r\n\r\n"
	body := func(method, fields string) string {
		return method + " /api HTTP/1.1\r\nHost: a\r\n" + fields + "Content-Length: 2\r\n\r\nhi"
	}
	for _, c := range []struct {
		name, raw string
		before    bool   // it closes before the request comes
		says      string // what it says before it closes
		reset     bool
		want      int // 0: the client sees an answer that is not whole
	}{
		{"GET, closed before", first, true, "", false, 200},
		{"POST, closed before", body("POST", ""), true, "", false, 200},
		{"GET, closed", first, false, "", false, 200},
		{"GET, reset", first, false, "", true, 200},
		{"HEAD", "HEAD /api HTTP/1.1\r\nHost: a\r\n\r\n", false, "", true, 200},
		{"DELETE", "DELETE /api HTTP/1.1\r\nHost: a\r\n\r\n", false, "", false, 200},
		{"PUT without a body", "PUT /api HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", false, "", false, 200},
		{"PUT, its body is gone", body("PUT", ""), false, "", false, 502},
		{"POST", body("POST", ""), false, "", true, 502},
		{"POST without a body", "POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", false, "", false, 502},
		{"POST with a key", body("POST", "Idempotency-Key: x\r\n"), false, "", false, 502},
		{"half a status line", first, false, "HTTP/1.1 2", false, 502},
		{"half a head", first, false, "HTTP/1.1 200 OK\r\nContent-Le", false, 502},
		{"head alone", first, false, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
			app := b.sim.Serve(appOne)
			p := b.plain.Dial()
			p.Write(first)
			kept := app.Accept("the first request")
			request(t, b, kept)
			kept.Write(okAnswer)
			b.sim.Idle()
			exchanged(t, p.Read(), "GET")
			if !c.before {
				p.Write(c.raw)
				request(t, b, kept)
				kept.Write(c.says)
				b.sim.Idle()
			}
			if c.reset {
				kept.Reset()
			} else {
				kept.Close()
			}
			b.sim.Idle()
			if c.before {
				p.Write(c.raw)
				b.sim.Idle()
			}
			if c.want == 200 {
				again := app.Accept("the retry")
				request(t, b, again)
				answer := okAnswer
				if strings.HasPrefix(c.raw, "HEAD ") {
					answer = strings.TrimSuffix(answer, "hello")
				}
				again.Write(answer)
				b.sim.Idle()
				again.Close()
			}
			if n := app.Waiting(); n != 0 {
				t.Errorf("%d attempts too many", n)
			}
			if c.want == 0 {
				p.WantReset("an answer that is not whole")
			} else if resp := exchanged(t, p.Read(), c.raw[:strings.IndexByte(c.raw, ' ')])[0]; resp.StatusCode != c.want {
				t.Errorf("status %d, want %d", resp.StatusCode, c.want)
			}
			p.Close()
			b.done()
		})
	}
}

// TestAnswersDuringAnUpload: P02. The client sees the answer whole, whatever the
// application does after it, and its connection is not used again.
func TestAnswersDuringAnUpload(t *testing.T) {
	const size = 1 << 20
	for _, coding := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n", size), "Transfer-Encoding: chunked\r\n\r\n100000\r\n"} {
		for name, then := range map[string]func(b *bench, conn *sim.Peer){
			"closes":        func(_ *bench, conn *sim.Peer) { conn.Close() },
			"resets":        func(b *bench, conn *sim.Peer) { b.sim.Idle(); conn.Reset() },
			"keeps reading": func(*bench, *sim.Peer) {},
			"stops reading": func(_ *bench, conn *sim.Peer) { conn.Stalled = true },
		} {
			b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.Limits.BodyBytes = 2 * size }}, false)
			app := b.sim.Serve(appOne)
			p := b.plain.Dial()
			p.Write("POST /api HTTP/1.1\r\nHost: a\r\n" + coding + strings.Repeat("x", 64<<10))
			conn := app.Accept(name)
			b.sim.Idle()
			conn.Read()
			conn.Write("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
			then(b, conn)
			b.sim.Idle()
			p.Write(strings.Repeat("x", 200<<10)) // it goes on with its upload
			b.sim.Idle()
			resp := exchanged(t, p.Read(), "POST")[0]
			if got := string(bodyOf(t, resp)); resp.StatusCode != 413 || got != "big" || !resp.Close {
				t.Errorf("%s: %d %q", name, resp.StatusCode, got)
			}
			conn.Stalled = false
			b.sim.Advance(lingerTime + time.Second)
			conn.Read()
			if name != "resets" && !conn.EOF() && !conn.WasReset() {
				t.Errorf("%s: the connection is kept although it must not be used again", name)
			}
			p.Close()
			conn.Close()
			b.done()
		}
	}
}

// TestBodyThatStalls: P04. A body of which no more comes ends as not whole after
// --answer-timeout, and the log says which application, and why.
func TestBodyThatStalls(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the request")
	request(t, b, conn)
	conn.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfifty")
	b.sim.Advance(b.s.cfg.Timeouts.Answer - time.Second)
	if p.WasReset() {
		t.Error("cut within the application's time")
	}
	b.sim.Advance(2 * time.Second)
	p.WantReset("no more came")
	if log := b.log.String(); !strings.Contains(log, "192.0.2.10") || !strings.Contains(log, "cut short") {
		t.Errorf("the log says %q", log)
	}
	conn.Close()
	b.done()
}

// TestWhoTheClientIs: P05. What a stranger says of itself never reaches the
// application; a trusted peer is believed, and its word is added to.
func TestWhoTheClientIs(t *testing.T) {
	const said = "GET /api HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: ::1, junk\r\n" +
		"X-Forwarded-Proto: https\r\nX-Forwarded-Host: b.example\r\nX-Real-IP: 203.0.113.9\r\nForwarded: for=203.0.113.9\r\n" +
		"X_Forwarded_For: 203.0.113.9\r\nx-forwarded_for: 203.0.113.9\r\nX_Real_IP: 203.0.113.9\r\nX-JA4: forged\r\nX_JA4: forged\r\n" +
		"X-ECH: forged\r\nClient-Cert: forged\r\nClient_Cert: forged\r\nX-Client-Cert-Subject: forged\r\nX.Client.Cert.Subject: forged\r\n"
	for _, trusted := range []bool{false, true} {
		b := newProxyBench(t, benchOptions{config: func(c *config.Config) {
			if trusted {
				c.Trust = []string{"0.0.0.0/0", "::/0"}
			}
		}}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(said + "X-Forwarded-For: " + strings.Repeat("203.0.113.9, ", 800) + "203.0.113.10\r\n\r\n")
		conn := app.Accept("the request")
		got := request(t, b, conn)
		if strings.Contains(got, "forged") || strings.Contains(got, "_") {
			t.Errorf("trusted %v: the application got %.2000q", trusted, got)
		}
		if has := strings.Contains(got, "203.0.113.9") || strings.Contains(got, "b.example"); has != trusted {
			t.Errorf("trusted %v: what the peer says reached the application: %v", trusted, has)
		}
		if strings.Count(got, "X-Forwarded-For: ") != 1 || strings.Count(got, "X-Real-IP: ") != 1 {
			t.Errorf("trusted %v: the application got %.2000q", trusted, got)
		}
		conn.Write(okAnswer)
		b.sim.Idle()
		exchanged(t, p.Read(), "GET")
		p.Close()
		conn.Close()
		b.done()
	}
}

// TestUpgradesThatDoNotHappen: P09. Any answer but 101 is an answer like any other,
// and both connections go on; what may not be tunnelled is not asked for.
func TestUpgradesThatDoNotHappen(t *testing.T) {
	const ws = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"
	for _, c := range []struct {
		name, start, fields, body string
		upgrade                   bool
	}{
		{"in odd case", "GET", "connection: KEEP-ALIVE, upgrade\r\nUPGRADE: WebSocket\r\n", "", true},
		{"without a key", "GET", ws, "", true},
		{"not listed", "GET", "Upgrade: websocket\r\n", "", false},
		{"with a body", "POST", ws + "Content-Length: 5\r\n", "hello", false},
		{"h2c", "GET", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", "", false},
		{"TLS", "GET", "Connection: Upgrade\r\nUpgrade: TLS/1.3\r\n", "", false},
		{"several", "GET", "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n", "", false},
	} {
		for _, answer := range []string{"200 OK", "400 Bad Request", "426 Upgrade Required"} {
			b := newProxyBench(t, benchOptions{}, false)
			app := b.sim.Serve(appOne)
			p := b.plain.Dial()
			p.Write(c.start + " /api HTTP/1.1\r\nHost: a\r\n" + c.fields + "\r\n" + c.body + get("/api/next"))
			conn := app.Accept(c.name)
			got := strings.ToLower(request(t, b, conn))
			if strings.Contains(got, "\r\nupgrade: ") != c.upgrade || strings.Contains(got, "http2-settings") || strings.Contains(got, "/api/next") {
				t.Errorf("%s: the application got %q", c.name, got)
			}
			conn.Write("HTTP/1.1 " + answer + "\r\nContent-Length: 5\r\n\r\nhello")
			if next := request(t, b, conn); !strings.HasPrefix(next, "GET /api/next ") {
				t.Errorf("%s: then the application got %q", c.name, next)
			}
			conn.Write(okAnswer)
			b.sim.Idle()
			all := exchanged(t, p.Read(), c.start, "GET")
			if got := fmt.Sprint(all[0].StatusCode); got != answer[:3] || string(bodyOf(t, all[0])) != "hello" {
				t.Errorf("%s: %s, not %s", c.name, got, answer)
			}
			p.Close()
			conn.Close()
			b.done()
		}
	}
}

// TestSwitchedUnasked: P09. An application that switches to what it was not asked
// for is broken.
func TestSwitchedUnasked(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	for _, protocol := range []string{"h2c", "websocket, other", ""} {
		got := appAnswer(t, b, app, "GET /api HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n", false)
		if resp := exchanged(t, got, "GET")[0]; resp.StatusCode != 502 {
			t.Errorf("%q: status %d", protocol, resp.StatusCode)
		}
	}
	b.done()
}
