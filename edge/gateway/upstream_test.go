package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/resolve"
)

// Applications of these tests answer at these addresses.
const appOne, appTwo = "192.0.2.10:80", "192.0.2.11:80"

// newProxyBench is a bench that proxies /api to appOne and, if two is asked for,
// to appTwo as well.
func newProxyBench(t testing.TB, o benchOptions, two bool) *bench {
	t.Helper()
	return newBench(t, proxyOptions(t, o, two))
}

// proxyOptions are options with the applications added.
func proxyOptions(t testing.TB, o benchOptions, two bool) benchOptions {
	before := o.config
	o.config = func(c *config.Config) {
		c.Proxy = []string{"/api=http://" + appOne}
		if two {
			c.Proxy = append(c.Proxy, "/api=http://"+appTwo)
		}
		if before != nil {
			before(c)
		}
	}
	o.server = func(s *server) {
		s.resolver = resolve.New(t.Context(), func(context.Context, string) ([]netip.Addr, time.Duration, error) {
			return nil, 0, resolve.ErrNotFound
		}, func(string) {})
		if err := s.setUpProxy(); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// request reads one request head off an application's connection.
func request(t testing.TB, b *bench, app *sim.Peer) string {
	t.Helper()
	b.sim.Idle()
	got := string(app.Read())
	if !strings.Contains(got, "\r\n\r\n") {
		t.Fatalf("the application got %q", got)
	}
	return got
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-App: 1\r\n\r\nhello"

func TestProxyAnswersAndKeepsTheConnection(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	var conn *sim.Peer
	for i := range 3 {
		p.Write("GET /api/x?y HTTP/1.1\r\nHost: a.example\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n")
		if i == 0 {
			conn = app.Accept("the first request")
		}
		head := request(t, b, conn)
		if !strings.HasPrefix(head, "GET /api/x?y HTTP/1.1\r\n") || strings.Contains(head, "X-Hop") ||
			!strings.Contains(head, "X-Forwarded-For: ") || !strings.Contains(head, "\r\nHost: a.example\r\n") {
			t.Fatalf("request to the application:\n%s", head)
		}
		conn.Write(okAnswer)
		b.sim.Idle()
		resp := exchanged(t, p.Read(), "GET")[0]
		if string(bodyOf(t, resp)) != "hello" || resp.Header.Get("X-App") != "1" {
			t.Fatalf("answer %d: %v", i, resp)
		}
	}
	if n := app.Waiting(); n != 0 {
		t.Errorf("%d connections more than one", n)
	}
	p.Close()
	b.sim.Advance(poolIdleTime + time.Second)
	conn.WantEOF("idle in the pool")
	conn.Close()
	b.done()
}

// answers are whole answers of an application, and what the client must get.
var proxyAnswers = []struct {
	name, method, raw string
	status            int
	body              string
	closes            bool // the application's connection must not be used again
}{
	{"length", "GET", okAnswer, 200, "hello", false},
	{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", 200, "abcde", false},
	{"trailers", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n", 200, "abc", false},
	{"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", 200, "", false},
	{"no content", "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", false},
	{"not modified", "GET", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 77\r\n\r\n", 304, "", false},
	{"empty", "GET", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "", false},
	{"early hints", "GET", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + okAnswer, 200, "hello", false},
	{"close", "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true},
	{"surplus", "GET", okAnswer + "HTTP/1.1 200 OK\r\n", 200, "hello", true},
}

func TestProxyAnswersCutAtEveryByte(t *testing.T) {
	for _, c := range proxyAnswers {
		t.Run(c.name, func(t *testing.T) {
			b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
			app := b.sim.Serve(appOne)
			var conn *sim.Peer
			for cut := 0; cut < len(c.raw); cut++ {
				p := b.plain.Dial()
				p.Write(c.method + " /api/ HTTP/1.1\r\nHost: a\r\n\r\n")
				b.sim.Idle()
				if conn == nil || app.Waiting() > 0 {
					conn = app.Accept("a request")
				}
				request(t, b, conn)
				conn.Write(c.raw[:cut])
				b.sim.Idle()
				conn.Write(c.raw[cut:])
				b.sim.Idle()
				got := p.Read()
				if c.name == "early hints" {
					hint, rest, ok := bytes.Cut(got, []byte("\r\n\r\n"))
					if !ok || !bytes.HasPrefix(hint, []byte("HTTP/1.1 103 ")) {
						t.Fatalf("cut %d: no 103 in %q", cut, got)
					}
					got = rest
				}
				resp := exchanged(t, got, c.method)[0]
				if body := string(bodyOf(t, resp)); resp.StatusCode != c.status || body != c.body {
					t.Fatalf("cut %d: status %d, body %q", cut, resp.StatusCode, body)
				}
				p.Close()
				b.sim.Idle()
				if c.closes {
					if !conn.EOF() && !conn.WasReset() {
						t.Fatalf("cut %d: the connection is kept although it must not be used again", cut)
					}
					conn.Close()
				}
			}
			conn.Close()
			b.done()
		})
	}
}

func TestProxyBodyUntilClose(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the request")
	request(t, b, conn)
	conn.Write("HTTP/1.0 200 OK\r\n\r\nsome bytes")
	conn.Close()
	b.sim.Idle()
	resp := exchanged(t, p.Read(), "GET")[0]
	if string(bodyOf(t, resp)) != "some bytes" {
		t.Errorf("answer %v", resp)
	}
	p.WantIdle("the client's connection lives on")
	p.Close()
	b.done()
}

// TestProxyBrokenAnswers: before anything went to the client a broken answer is
// 502; after that the client must see that it is not whole (P03).
func TestProxyBrokenAnswers(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing":           "",
		"half a head":       "HTTP/1.1 200 OK\r\nConte",
		"not HTTP":          "220 smtp.example ESMTP\r\n\r\n",
		"two lengths":       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"length and coding": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"status 99":         "HTTP/1.1 99 Odd\r\n\r\n",
		"status 600":        "HTTP/1.1 600 Odd\r\n\r\n",
		"unasked 101":       "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
		"endless head":      "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 1<<20),
	} {
		b := newProxyBench(t, benchOptions{}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(get("/api"))
		conn := app.Accept("the request")
		request(t, b, conn)
		conn.Write(raw)
		conn.Close()
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != 502 {
			t.Errorf("%s: status %d, want 502", name, resp.StatusCode)
		}
		p.Close()
		b.done()
	}
	for name, raw := range map[string]string{
		"short length": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfifty",
		"cut chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc",
		"no last":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"bad chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
	} {
		b := newProxyBench(t, benchOptions{}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(get("/api"))
		conn := app.Accept("the request")
		request(t, b, conn)
		conn.Write(raw)
		conn.Close()
		p.WantReset(name)
		b.done()
	}
}

func TestProxyRequestBodies(t *testing.T) {
	body := strings.Repeat("0123456789", 30000)
	for name, raw := range map[string]string{
		"length":  fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"chunked": fmt.Sprintf("POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		b := newProxyBench(t, benchOptions{}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(raw + get("/api/next"))
		conn := app.Accept("the request")
		b.sim.Idle()
		got := conn.Read()
		head, rest, _ := bytes.Cut(got, []byte("\r\n\r\n"))
		if name == "chunked" {
			rest = dechunk(t, rest)
		}
		if string(rest) != body {
			t.Fatalf("%s: body of %d bytes reached the application as %d, head:\n%s", name, len(body), len(rest), head)
		}
		conn.Write(okAnswer)
		request(t, b, conn)
		conn.Write(okAnswer)
		b.sim.Idle()
		exchanged(t, p.Read(), "POST", "GET")
		p.Close()
		conn.Close()
		b.done()
	}
}

func dechunk(t *testing.T, b []byte) (out []byte) {
	t.Helper()
	for {
		line, rest, ok := bytes.Cut(b, []byte("\r\n"))
		var n int
		if _, err := fmt.Sscanf(string(line), "%x", &n); err != nil || !ok {
			t.Fatalf("chunk head %q", line)
		}
		if n == 0 {
			return out
		}
		out = append(out, rest[:n]...)
		b = rest[n+2:]
	}
}

func TestProxyEarlyAnswerDuringUpload(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write("POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 64<<10))
	conn := app.Accept("the request")
	b.sim.Idle()
	conn.Read()
	conn.Write("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig")
	conn.Close()
	b.sim.Idle()
	resp := exchanged(t, p.Read(), "POST")[0]
	if resp.StatusCode != 413 || string(bodyOf(t, resp)) != "big" || !resp.Close {
		t.Errorf("answer %v", resp)
	}
	p.Close()
	b.done()
}

// TestProxyRetries: a connection that closes as it is used again costs a silent
// retry where nothing can be done twice (P01).
func TestProxyRetries(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		reset     bool
		status    int
	}{
		{"GET, closed", get("/api"), false, 200},
		{"GET, reset", get("/api"), true, 200},
		{"POST", "POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", false, 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
			app := b.sim.Serve(appOne)
			p := b.plain.Dial()
			p.Write(get("/api"))
			conn := app.Accept("the first request")
			request(t, b, conn)
			conn.Write(okAnswer)
			b.sim.Idle()
			exchanged(t, p.Read(), "GET")

			p.Write(c.raw)
			request(t, b, conn) // over the connection that is kept
			if c.reset {
				conn.Reset()
			} else {
				conn.Close()
			}
			b.sim.Idle()
			if c.status == 200 {
				again := app.Accept("the retry")
				request(t, b, again)
				again.Write(okAnswer)
				b.sim.Idle()
				again.Close()
			}
			if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != c.status {
				t.Errorf("status %d, want %d", resp.StatusCode, c.status)
			}
			if n := app.Waiting(); n != 0 {
				t.Errorf("%d attempts too many", n)
			}
			p.Close()
			b.done()
		})
	}
}

// Field case P04: 502, 503 and 504.
func TestProxyFailuresToldApart(t *testing.T) {
	status := func(b *bench) int {
		p := b.plain.Dial()
		p.Write(get("/api"))
		b.sim.Advance(2 * time.Minute)
		code := exchanged(b.t, p.Read(), "GET")[0].StatusCode
		p.Close()
		return code
	}
	t.Run("refused", func(t *testing.T) {
		b := newProxyBench(t, benchOptions{}, false)
		if got := status(b); got != 502 {
			t.Errorf("status %d", got)
		}
		b.done()
	})
	t.Run("black hole", func(t *testing.T) {
		b := newProxyBench(t, benchOptions{}, false)
		b.sim.Backend(appOne).Hang = true
		if got := status(b); got != 504 {
			t.Errorf("status %d", got)
		}
		b.done()
	})
	t.Run("silent", func(t *testing.T) {
		b := newProxyBench(t, benchOptions{}, false)
		app := b.sim.Serve(appOne)
		if got := status(b); got != 504 {
			t.Errorf("status %d", got)
		}
		app.Accept("it was asked").Close()
		b.done()
	})
	t.Run("one of two down", func(t *testing.T) {
		b := newProxyBench(t, benchOptions{}, true)
		app := b.sim.Serve(appTwo)
		for range 4 {
			p := b.plain.Dial()
			p.Write(get("/api"))
			conn := app.Accept("the other target")
			request(t, b, conn)
			conn.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			b.sim.Idle()
			if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != 200 {
				t.Errorf("status %d", resp.StatusCode)
			}
			p.Close()
			conn.Close()
		}
		b.done()
	})
}

// Field case P08: the application hears that nobody listens any more.
func TestProxyClientGoneCancelsTheUpstream(t *testing.T) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(get("/api"))
	conn := app.Accept("the request")
	request(t, b, conn)
	conn.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
	b.sim.Idle()
	if got := p.Read(); !bytes.Contains(got, []byte("data: 1")) {
		t.Fatalf("the first event did not reach the client: %q", got)
	}
	p.Reset()
	b.sim.Idle()
	conn.WantEOF("the client is gone")
	conn.Close()
	b.done()
}

func TestProxySlowReaderHoldsTheUpstream(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MB
	p := b.plain.Dial()
	p.Stalled = true
	p.Write(get("/api"))
	conn := app.Accept("the request")
	request(t, b, conn)
	conn.Write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body)))
	conn.Write(body)
	b.sim.Idle()
	if conn.Unsent() < len(body)/2 {
		t.Errorf("%d bytes of %d went in although the client does not read", len(body)-conn.Unsent(), len(body))
	}
	p.Stalled = false
	b.sim.Idle()
	resp := exchanged(t, p.Read(), "GET")[0]
	if !bytes.Equal(bodyOf(t, resp), body) {
		t.Error("body differs")
	}
	p.Close()
	conn.Close()
	b.done()
}

// Field case P09: first frames sent along with the upgrade, both ways, and half-close.
func TestProxyTunnel(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write("GET /api/ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\nearly frame")
	conn := app.Accept("the request")
	head := request(t, b, conn)
	if !strings.Contains(strings.ToLower(head), "upgrade: websocket") {
		t.Fatalf("the upgrade did not go on:\n%s", head)
	}
	conn.Write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst frame")
	b.sim.Idle()
	got := string(p.Read())
	if !strings.HasPrefix(got, "HTTP/1.1 101 ") || !strings.HasSuffix(got, "\r\n\r\nfirst frame") {
		t.Fatalf("client got %q", got)
	}
	conn.Want("the client's early frame", "early frame")
	p.Write("ping")
	conn.Want("a frame", "ping")
	conn.Write("pong")
	p.Want("a frame", "pong")
	b.sim.Advance(30 * time.Second)
	p.WantIdle("a quiet socket lives")
	p.CloseWrite()
	conn.WantEOF("the client's end")
	conn.Write("bye")
	conn.Close()
	p.Want("the last frame", "bye")
	p.WantEOF("the application's end")
	p.Close()
	b.done()
}

// The application's connection stays, the client's ends as it asked for.
func TestProxyClosesWhenTheClientAsks(t *testing.T) {
	for name, head := range map[string]string{
		"Connection: close": "GET /api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"HTTP/1.0":          "GET /api HTTP/1.0\r\nHost: a\r\n\r\n",
	} {
		b := newProxyBench(t, benchOptions{}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(head)
		b.sim.Idle()
		up := app.Accept(name)
		if got := request(t, b, up); strings.Contains(strings.ToLower(got), "connection: close") {
			t.Errorf("%s: the application got %q", name, got)
		}
		up.Write(okAnswer)
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "GET")[0]; !resp.Close || string(bodyOf(t, resp)) != "hello" {
			t.Errorf("%s: the answer does not say close, or has another body", name)
		}
		p.WantEOF(name)
		p.Close()
		b.done()
	}
}
