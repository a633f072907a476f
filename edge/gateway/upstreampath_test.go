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
