package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
)

// runScripts has a bench run programs from now on.
func (b *bench) runScripts(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.s.builtIn = append(b.s.builtIn, scriptFile(b.t, name))
	}
	p, err := b.s.loadPrograms(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.s.current().run(p)
}

// Programs see and change the answers of applications as they do the site's.
func TestProgramsAmendProxiedAnswers(t *testing.T) {
	for _, c := range proxyAnswers {
		if c.status == 304 || c.status == 204 {
			continue // the same with less
		}
		b := newProxyBench(t, benchOptions{}, false)
		b.runScripts("header.o", "answer.o")
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(c.method + " /api/x HTTP/1.1\r\nHost: a.example\r\n\r\n")
		conn := app.Accept(c.name)
		request(t, b, conn)
		conn.Write(c.raw)
		b.sim.Idle()
		got := string(p.Read())
		if i := strings.Index(got, "103 Early Hints"); i >= 0 {
			got = got[strings.Index(got, "\r\n\r\n")+4:]
		}
		resp := exchanged(t, []byte(got), c.method)[0]
		h := resp.Header
		if resp.StatusCode != c.status || string(bodyOf(t, resp)) != c.body {
			t.Errorf("%s: status %d, or the body differs", c.name, resp.StatusCode)
		}
		if h.Get("X-Script") != c.method+" /api/x" || h.Get("Server") != "example" || h.Get("X-From") != "early" {
			t.Errorf("%s: header %v", c.name, h)
		}
		conn.Close()
		p.Close()
		b.done()
	}
}

// They do so with the page that stands in for an application that does not answer.
func TestProgramsAmendFailurePages(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	b.runScripts("header.o", "answer.o")
	p := b.plain.Dial()
	p.Write(get("/api/x") + "HEAD /api/x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
	b.sim.Idle()
	for i, resp := range exchanged(t, p.Read(), "GET", "HEAD") {
		h := resp.Header
		if resp.StatusCode != 502 || h.Get("X-Script") == "" || h.Get("Server") != "example" || h.Get("X-From") != "early" || resp.Close != (i == 1) {
			t.Errorf("answer %d: status %d, header %v, close %v", i, resp.StatusCode, h, resp.Close)
		}
	}
	p.WantEOF("the client asked for no more")
	p.Close()
	b.done()
}

// A program of edge/response that takes its time holds the answer back, loses
// nothing of it, and is stopped like any other.
func TestProxiedAnswersWaitForPrograms(t *testing.T) {
	body := strings.Repeat("0123456789", 20000)
	for name, answer := range map[string]string{
		"length":      fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-App: 1\r\n\r\n%s", len(body), body),
		"until close": "HTTP/1.1 200 OK\r\nX-App: 1\r\n\r\n" + body,
		"no body":     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-App: 1\r\n\r\n",
		"cut short":   fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-App: 1\r\n\r\n%s", len(body)+1, body),
	} {
		for _, path := range []string{"/api/slow", "/late"} {
			b := newProxyBench(t, benchOptions{config: func(c *config.Config) {
				c.Proxy = []string{"/=http://" + appOne}
				c.Timeouts.Script = 5 * time.Millisecond
			}}, false)
			b.runScripts("slow.o", "loop.o")
			app := b.sim.Serve(appOne)
			p := b.plain.Dial()
			p.Write("GET " + path + " HTTP/1.1\r\nHost: a.example\r\n\r\n")
			conn := app.Accept(name)
			request(t, b, conn)
			conn.Write(answer)
			if name != "length" {
				for conn.Unsent() > 0 && b.sim.Step() {
				}
				conn.CloseWrite()
			}
			b.sim.Idle()
			got := p.Read()
			switch {
			case path == "/late":
				if resp := exchanged(t, got, "GET")[0]; resp.StatusCode != 503 || resp.Header.Get("X-App") != "" {
					t.Errorf("%s, %s: status %d", name, path, resp.StatusCode)
				}
			case name == "cut short":
				if strings.HasSuffix(string(got), "\r\n0\r\n\r\n") || !p.WasReset() {
					t.Errorf("%s: %d bytes, and no reset", name, len(got))
				}
			default:
				resp := exchanged(t, got, "GET")[0]
				want := body
				if name == "no body" {
					want = ""
				}
				if resp.StatusCode != 200 || resp.Header.Get("X-App") != "1" || string(bodyOf(t, resp)) != want {
					t.Errorf("%s: status %d, header %v, or the body differs", name, resp.StatusCode, resp.Header)
				}
			}
			conn.Close()
			p.Close()
			b.done()
		}
	}
}
