package gateway

import (
	"strings"
	"testing"

	"edge/edge/config"
)

// Field case H11: no spelling of a path leads out of an application's base path.
func TestPathsStayBelowTheBase(t *testing.T) {
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.Proxy = []string{"/=http://" + appOne + "/base"} }}, false)
	app := b.sim.Serve(appOne)
	for _, path := range []string{"/../x", "/%2e%2E/x", "/a/../../x", "/..%2fx", "/a//../../x", "/..;/x", `/..\x`} {
		resp := exchanged(t, b.ask("GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"), "GET")[0]
		if resp.StatusCode != 400 || app.Waiting() != 0 {
			t.Errorf("%s: status %d, %d connections to the application", path, resp.StatusCode, app.Waiting())
		}
	}
	p := b.plain.Dial()
	p.Write("GET /a/../x?.. HTTP/1.1\r\nHost: a\r\n\r\n")
	conn := app.Accept("a path that stays")
	if head := request(t, b, conn); !strings.HasPrefix(head, "GET /base/a/../x?.. HTTP/1.1\r\n") {
		t.Errorf("the application got\n%s", head)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	p.Read()
	p.Close()
	b.done()
}

// An HTTP/1.0 request may name no host; the HTTP/1.1 request made of it must, or the
// application refuses it.
func TestHostOfRequestsWithoutOne(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write("GET /api HTTP/1.0\r\n\r\n")
	conn := app.Accept("the request")
	if head := request(t, b, conn); !strings.Contains(head, "\r\nHost: 192.0.2.10\r\n") {
		t.Errorf("the application got\n%s", head)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	p.Close()
	b.done()
}

// Beside applications and without a site, what is for none of them is not found: the
// page that says what to do next is for those who have set up nothing yet.
func TestApplicationsWithoutASite(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, false)
	b.w.gen.site = nil
	for start, want := range map[string]int{
		"GET /": 404, "GET /apiary": 404, "GET /api/%zz": 400, "GET /api%00": 400, "GET /%": 400, "OPTIONS *": 204,
	} {
		method, _, _ := strings.Cut(start, " ")
		resp := exchanged(t, b.ask(start+" HTTP/1.1\r\nHost: a\r\n\r\n"), method)[0]
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", start, resp.StatusCode, want)
		}
	}
	b.done()
}

// What is told of a client makes a head longer: a name as long as a head may be stood
// in it four times, and was more than a buffer holds.
func TestLongHeads(t *testing.T) {
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.Limits.HeadBytes, c.Trust = 64<<10, []string{"0.0.0.0/0", "unix"} }}, false)
	app := b.sim.Serve(appOne)
	for raw, want := range map[string]int{
		"GET /api HTTP/1.1\r\nHost: " + strings.Repeat("a", 65000) + "\r\n\r\n":                                                                        400,
		"GET http://" + strings.Repeat("a", 7000) + "/api HTTP/1.1\r\nHost: a\r\n\r\n":                                                                 400,
		"GET /api HTTP/1.1\r\nHost: a:" + strings.Repeat("0", 65000) + "80\r\n\r\n":                                                                    400,
		"GET /api HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 65000) + "\r\n\r\n":                                                                200,
		"GET /api HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + strings.Repeat("a", 32000) + "\r\nForwarded: " + strings.Repeat("a", 32000) + "\r\n\r\n": 200,
	} {
		p := b.plain.Dial()
		p.Write(raw)
		b.sim.Idle()
		if want == 200 {
			conn := app.Accept("a long head")
			b.sim.Idle()
			if head := string(conn.Read()); !strings.HasSuffix(head, "\r\n\r\n") || len(head) < 64000 {
				t.Errorf("the application got %d bytes of %.50q", len(head), raw)
			}
			conn.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			b.sim.Idle()
			conn.Close()
		}
		if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != want {
			t.Errorf("%.50q: status %d, want %d", raw, resp.StatusCode, want)
		}
		p.Close()
	}
	b.done()
}

// A head that is too long with what is put before its path, or said of the client, is
// refused.
func TestHeadsThatGrowTooLong(t *testing.T) {
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) {
		c.Limits.HeadBytes = 64 << 10
		c.Proxy = []string{"http://" + appOne + "/" + strings.Repeat("b", 70<<10)}
	}}, false)
	app := b.sim.Serve(appOne)
	resp := exchanged(t, b.ask("GET /api HTTP/1.1\r\nHost: a\r\nA: "+strings.Repeat("a", 65000)+"\r\n\r\n"), "GET")[0]
	if resp.StatusCode != 431 || !resp.Close || app.Waiting() != 0 {
		t.Errorf("status %d, %d connections to the application", resp.StatusCode, app.Waiting())
	}
	b.done()
}

// The head of an answer is bounded by the flag that the log names, but not to less
// than its default: that is for clients.
func TestLimitsOfAnswers(t *testing.T) {
	answer := func(fields, bytes int) string {
		return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n" + strings.Repeat("Set-Cookie: a\r\n", fields) + "A: " + strings.Repeat("a", bytes) + "\r\n\r\n"
	}
	for _, c := range []struct {
		name                 string
		maxFields, maxHead   int
		fields, bytes, wants int
	}{
		{"less than the defaults", 8, 9 << 10, 90, 20 << 10, 200},
		{"more fields", 100, 32 << 10, 110, 0, 502},
		{"more fields, raised", 120, 32 << 10, 110, 0, 200},
		{"longer", 100, 32 << 10, 0, 40 << 10, 502},
		{"longer, raised", 100, 64 << 10, 0, 40 << 10, 200},
	} {
		b := newProxyBench(t, benchOptions{config: func(cfg *config.Config) {
			cfg.Limits.Fields, cfg.Limits.HeadBytes = c.maxFields, c.maxHead
		}}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(get("/api"))
		conn := app.Accept(c.name)
		request(t, b, conn)
		conn.Write(answer(c.fields, c.bytes))
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != c.wants {
			t.Errorf("%s: status %d, want %d", c.name, resp.StatusCode, c.wants)
		}
		p.Close()
		conn.Close()
		b.done()
	}
}

// Applications get our name in Via where the operator gives one, behind those that were
// there.
func TestVia(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"", "Via: 1.0 before\r\n"},
		{"our-door", "Via: 1.0 before, 1.1 our-door\r\n"},
	} {
		b := newProxyBench(t, benchOptions{config: func(cfg *config.Config) { cfg.ProxyVia = c.name }}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write("GET /api HTTP/1.1\r\nHost: a\r\nVia: 1.0 before\r\n\r\n")
		conn := app.Accept("the request")
		if head := request(t, b, conn); !strings.Contains(head, "\r\n"+c.want) || strings.Count(head, "Via:") != 1 {
			t.Errorf("name %q: the application got\n%s", c.name, head)
		}
		conn.Write(okAnswer)
		b.sim.Idle()
		p.Close()
		conn.Close()
		b.done()
	}
}
