package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/proxy"
	"edge/proxy/resolve"
)

// newCheckedBench is a bench of two applications that are checked; what the checks
// find is the test's to say.
func newCheckedBench(t *testing.T) *bench {
	t.Helper()
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.ProxyHealth = []string{"/healthz"} }}, true)
	b.s.workers = []*worker{b.w}
	return b
}

// found has the check of a target find something.
func (b *bench) found(target int, up bool) {
	b.s.checkChanged(b.s.checks[target], up, errors.New("no answer"))
	b.sim.Idle()
}

// status asks for /api, and has whichever of the two applications is asked answer
// with its number; 503 is another outcome.
func (b *bench) statusOf(t *testing.T) int {
	t.Helper()
	p := b.plain.Dial()
	p.Write("GET /api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	b.sim.Idle()
	for i, at := range []string{appOne, appTwo} {
		if app := b.sim.Backend(at); app.Waiting() > 0 {
			conn := app.Accept("the request")
			request(t, b, conn)
			fmt.Fprintf(writerTo{conn.Write}, "HTTP/1.1 %d OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", 201+i)
			conn.Close()
		}
	}
	b.sim.Idle()
	resp := exchanged(t, p.Read(), "GET")[0]
	p.Close()
	b.sim.Idle()
	return resp.StatusCode
}

type writerTo struct{ write func(any) }

func (w writerTo) Write(p []byte) (int, error) {
	w.write(append([]byte(nil), p...))
	return len(p), nil
}

// TestChecksDecide: an application that checks found down gets no request, and when
// all are down the answer is 503 at once, until one is found up; over a reload, too.
func TestChecksDecide(t *testing.T) {
	b := newCheckedBench(t)
	b.sim.Serve(appOne)
	b.sim.Serve(appTwo)
	share := func(why string, want map[int]int) {
		t.Helper()
		got := map[int]int{}
		for range 4 {
			got[b.statusOf(t)]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: answers %v, want %v", why, got, want)
		}
	}
	share("both count as up at first", map[int]int{201: 2, 202: 2})
	b.found(0, false)
	share("one is down", map[int]int{202: 4})
	next := &generation{number: 2, certs: &certificates{}}
	next.take()
	b.s.swap(next)
	b.sim.Idle()
	share("after a reload", map[int]int{202: 4})
	b.found(1, false)
	share("both are down", map[int]int{503: 4})
	b.found(0, true)
	share("one is up again", map[int]int{201: 4})
	b.found(1, true)
	share("both are", map[int]int{201: 2, 202: 2})
	if down, up := strings.Count(b.log.String(), " is down: GET /healthz: no answer\n"), strings.Count(b.log.String(), " is up: "); down != 2 || up != 2 {
		t.Errorf("log tells %d and %d times:\n%s", down, up, b.log)
	}
	b.s.current().drop()
	b.done()
}

// TestChecksOfRoutes: which applications are asked, for what, and how often each.
func TestChecksOfRoutes(t *testing.T) {
	routes := []string{"/a=http://one#weight=2", "/a=http://two/base", "/b=http://one/base", "/b=unix:/run/x", "https://one"}
	for _, c := range []struct {
		checks []string
		want   string // targets, paths and places; an error otherwise
	}{
		{[]string{"/ok"}, "https://one /ok [{2 0}], http://one /ok [{0 0} {1 0}], http://two /ok [{0 1}], unix:/run/x /ok [{1 1}]"},
		{[]string{"/a/=/ok?deep=1"}, "http://one /ok?deep=1 [{0 0}], http://two /ok?deep=1 [{0 1}]"},
		{[]string{"/b=/b", "/other"}, "http://one /b [{1 0}], http://one /other [{0 0}], http://two /other [{0 1}], https://one /other [{2 0}], unix:/run/x /b [{1 1}]"},
		{[]string{"/=/ok", "/?a=/b"}, "https://one /ok [{2 0}], http://one /?a=/b [{0 0} {1 0}], http://two /?a=/b [{0 1}], unix:/run/x /?a=/b [{1 1}]"},
		{[]string{"/c=/ok"}, "--proxy-health /c=/ok: no --proxy is for that path"},
		{[]string{"ok"}, `--proxy-health "ok": give [PATH=]URLPATH`},
		{[]string{"/a=ok"}, `--proxy-health "/a=ok": give`},
		{[]string{"/a b"}, `--proxy-health "/a b": give`},
		{[]string{"/a\r\nX:"}, `give`},
		{[]string{""}, `give`},
	} {
		cfg := config.New()
		cfg.ProxyHealth = c.checks
		parsed, err := proxy.ParseRoutes(routes)
		if err != nil {
			t.Fatal(err)
		}
		s := &server{cfg: cfg, routes: parsed}
		err = s.setChecks()
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %s", c.checks, err, c.want)
			}
			continue
		}
		got := map[string]bool{}
		for _, k := range s.checks {
			got[fmt.Sprintf("%s %s %v", k.target, k.path, k.places)] = true
		}
		for _, line := range strings.Split(c.want, ", ") {
			if !got[line] {
				t.Errorf("%q: no %s in %v", c.checks, line, got)
			}
			delete(got, line)
		}
		if len(got) > 0 {
			t.Errorf("%q: too many: %v", c.checks, got)
		}
	}
	s := &server{cfg: config.New(), routes: proxy.Routes{{Path: "/"}}}
	s.cfg.ProxyHealth, s.cfg.ProxyHealthHost = []string{"/ok"}, "a b"
	if err := s.setChecks(); err == nil || !strings.Contains(err.Error(), "--proxy-health-host") {
		t.Errorf("a host that is none: %v", err)
	}
}

// TestCheckConnections: real sockets are reached as a worker reaches them, and begin
// with a PROXY header that speaks for ourselves where one is wanted.
func TestCheckConnections(t *testing.T) {
	dir, err := os.MkdirTemp("", "edge") // short enough for a socket's name
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.sock")
	s := &server{cfg: config.New(), resolver: resolve.New(t.Context(), func(context.Context, string) ([]netip.Addr, time.Duration, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, time.Hour, nil
	}, func(string) {})}
	for _, at := range []struct{ network, address string }{{"tcp", "127.0.0.1:0"}, {"unix", path}} {
		l, err := net.Listen(at.network, at.address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for options, want := range map[string]string{
			"":                   "ping",
			"#proxy-protocol=v1": "PROXY UNKNOWN\r\nping",
			"#proxy-protocol=v2": "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00ping",
		} {
			url := "unix:" + path
			if at.network == "tcp" {
				url = "http://app.example:" + l.Addr().String()[len("127.0.0.1:"):]
			}
			target, err := proxy.ParseTarget(url + options)
			if err != nil {
				t.Fatal(err)
			}
			var name *resolve.Name
			if target.Unix == "" {
				name = s.resolver.Name(target.Host)
				name.Wait(t.Context())
			}
			conn, err := s.dialCheck(t.Context(), &target, name)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(conn, "ping")
			conn.Close()
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(far); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v, want %q", target.String(), got, err, want)
			}
			far.Close()
		}
	}
}
