package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edge/edge/reactor/sim"
	"edge/proxy/resolve"
)

// newPassBench is a bench with proxy.o.
func newPassBench(t *testing.T, o sim.Options) *bench {
	t.Helper()
	b := newProxyBench(t, benchOptions{sim: o}, false)
	b.runScripts("proxy.o")
	return b
}

// passed are requests for the program of proxy.c: what the application gets behind
// the head, or else the answer that the program gives itself.
var passed = []struct {
	name, raw  string
	body       string // to the application
	status     int    // of the program's own; 0: the application's
	statusBody string
}{
	{name: "no body", raw: "GET /app HTTP/1.1\r\nHost: a\r\n\r\n"},
	{name: "empty", raw: post("Content-Length: 0", "")},
	{name: "length", raw: post("Content-Length: 5", "hello"), body: "hello"},
	{name: "chunked", raw: post("Transfer-Encoding: chunked", "3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n"), body: "5\r\nabcde\r\n0\r\n\r\n"},
	{name: "chunked, empty", raw: post("Transfer-Encoding: chunked", "0\r\n\r\n"), body: "0\r\n\r\n"},
	{name: "trailers", raw: post("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n"),
		body: "3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-B: 2\r\n\r\n"},
	{name: "refused", raw: post("Content-Length: 9", "an attack"), status: 403, statusBody: "refused 9"},
	{name: "refused, chunked", raw: post("Transfer-Encoding: chunked", "5\r\nan at\r\n4\r\ntack\r\n0\r\n\r\n"), status: 403, statusBody: "refused 9"},
	{name: "as long as wanted", raw: post("X-Limit: 5\r\nX-Strict: 1\r\nContent-Length: 5", "hello"), body: "hello"},
	{name: "too long", raw: post("X-Limit: 4\r\nX-Strict: 1\r\nContent-Length: 5", "hello"), status: 413, statusBody: "too long 4"},
	{name: "too long, chunked", raw: post("X-Limit: 4\r\nX-Strict: 1\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
		status: 413, statusBody: "too long 4"},
	{name: "too long, passed on", raw: post("X-Limit: 4\r\nContent-Length: 6", "attack"), body: "attack"},
	{name: "too long, passed on in chunks", raw: post("X-Limit: 4\r\nTransfer-Encoding: chunked", "6\r\nattack\r\n3\r\nxyz\r\n0\r\n\r\n"),
		body: "5\r\nattac\r\n1\r\nk\r\n3\r\nxyz\r\n0\r\n\r\n"},
	{name: "limit of limits", raw: post("X-Limit: 65537\r\nContent-Length: 5", "hello"), status: 500, statusBody: "limit 65537"},
	{name: "no URL", raw: post("X-To: ftp://a/\r\nContent-Length: 0", ""), status: 500, statusBody: "proxy 22"},
	{name: "with a user", raw: post("X-To: http://a@b/\r\nContent-Length: 0", ""), status: 500, statusBody: "proxy 22"},
	{name: "URL too long", raw: post("X-To: unix:/"+strings.Repeat("a", 110)+"\r\nContent-Length: 0", ""), status: 500, statusBody: "proxy 22"},
}

func post(fields, body string) string {
	return "POST /app HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n\r\n" + body
}

// A program sees the body and decides; the application gets it as it was sent,
// wherever the request is cut.
func TestProgramsPassRequestsOn(t *testing.T) {
	for i := range 2 * len(passed) {
		c, o := passed[i/2], sim.Options{Calm: i%2 == 0} // with faults, and without
		b := newPassBench(t, o)
		app := b.sim.Serve(appOne)
		var conn *sim.Peer
		head, _, _ := strings.Cut(c.raw, "\r\n\r\n")
		step := max(1, (len(c.raw)-len(head))/12)
		for cut := len(head) - 1; cut <= len(c.raw); cut += step {
			p := b.plain.Dial()
			p.Write(c.raw[:cut])
			b.sim.Idle()
			p.Write(c.raw[cut:])
			b.sim.Idle()
			if c.status == 0 {
				if conn == nil || app.Waiting() > 0 {
					conn = app.Accept(c.name)
				}
				got, body, _ := strings.Cut(string(conn.Read()), "\r\n\r\n")
				if !strings.Contains(got, " /base/app HTTP/1.1\r\n") || !sameBody(body, c.body) {
					t.Errorf("%s, cut at %d: the application got %q\nand %q, want %q", c.name, cut, got, body, c.body)
				}
				conn.Write(okAnswer)
				b.sim.Idle()
			}
			resp := exchanged(t, p.Read(), "POST")[0]
			wantStatus, want := c.status, c.statusBody
			if c.status == 0 {
				wantStatus, want = 200, "hello"
			}
			if got := string(bodyOf(t, resp)); resp.StatusCode != wantStatus || got != want || resp.Header.Get("X-Seen") != "yes" {
				t.Errorf("%s, cut at %d: status %d, X-Seen %q, body %q", c.name, cut, resp.StatusCode, resp.Header.Get("X-Seen"), got)
			}
			p.Close()
		}
		if conn != nil {
			conn.Close()
		}
		b.done()
	}
}

// sameBody compares bodies; chunks may be of other sizes.
func sameBody(a, b string) bool {
	return a == b || strings.HasSuffix(b, "0\r\n\r\n") && dechunked([]byte(a)) == dechunked([]byte(b))
}

// A client that waits for 100 is told to send the body that a program waits for.
func TestHeldBodiesAreAskedFor(t *testing.T) {
	b := newPassBench(t, sim.Options{Calm: true})
	app := b.sim.Serve(appOne)
	p := b.plain.Dial()
	p.Write(post("Content-Length: 5\r\nExpect: 100-continue", ""))
	p.Want("asked for the body", "HTTP/1.1 100 Continue\r\n\r\n")
	b.sim.Advance(b.s.cfg.Timeouts.Body / 2)
	p.Write("hello" + get("/f174.bin"))
	b.sim.Idle()
	conn := app.Accept("the request")
	if got := string(conn.Read()); !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Errorf("the application got %q", got)
	}
	conn.Write("HTTP/1.1 100 Continue\r\n\r\n" + okAnswer)
	b.sim.Idle()
	if all := exchanged(t, p.Read(), "POST", "GET"); all[0].StatusCode != 200 || all[1].StatusCode != 200 {
		t.Errorf("status %d, then %d", all[0].StatusCode, all[1].StatusCode)
	}
	p.Close()
	conn.Close()
	b.done()
}

// A body that does not come whole ends the connection, and no application hears of
// the request.
func TestHeldBodiesThatDoNotCome(t *testing.T) {
	for name, end := range map[string]func(b *bench, p *sim.Peer){
		"FIN":     func(b *bench, p *sim.Peer) { p.CloseWrite() },
		"reset":   func(b *bench, p *sim.Peer) { p.Reset() },
		"timeout": func(b *bench, p *sim.Peer) { b.sim.Advance(b.s.cfg.Timeouts.Body + time.Second) },
	} {
		b := newPassBench(t, sim.Options{Calm: true})
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(post("Content-Length: 5", "hell"))
		b.sim.Idle()
		end(b, p)
		b.sim.Idle()
		if b.w.open != 0 || app.Waiting() != 0 {
			t.Errorf("%s: %d connections open, %d requests passed on", name, b.w.open, app.Waiting())
		}
		p.Close()
		b.done()
	}
	b := newPassBench(t, sim.Options{Calm: true})
	p := b.plain.Dial()
	p.Write(post("Transfer-Encoding: chunked", "3\r\nabc\r\nx\r\n"))
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 400 {
		t.Errorf("bad chunk: status %d", resp.StatusCode)
	}
	p.Close()
	b.done()
}

// A connection that the application closed meanwhile costs nothing: the body is sent
// again.
func TestHeldBodiesAreSentAgain(t *testing.T) {
	b := newPassBench(t, sim.Options{Calm: true})
	app := b.sim.Serve(appOne)
	put := strings.Replace(post("Content-Length: 5", "hello"), "POST", "PUT", 1)
	p := b.plain.Dial()
	p.Write(put)
	conn := app.Accept("the first request")
	b.sim.Idle()
	conn.Read()
	conn.Write(okAnswer)
	b.sim.Idle()
	p.Write(put)
	b.sim.Idle()
	if got := string(conn.Read()); !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Fatalf("the kept connection got %q", got)
	}
	conn.Close()
	again := app.Accept("the second request, once more")
	b.sim.Idle()
	if got := string(again.Read()); !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Errorf("the new connection got %q", got)
	}
	again.Write(okAnswer)
	b.sim.Idle()
	if all := exchanged(t, p.Read(), "PUT", "PUT"); all[1].StatusCode != 200 {
		t.Errorf("status %d", all[1].StatusCode)
	}
	p.Close()
	again.Close()
	b.done()
}

// A name that nobody has asked for before is looked up, and waited for.
func TestProgramsProxyToNames(t *testing.T) {
	b := newPassBench(t, sim.Options{Calm: true})
	looked := make(chan struct{})
	b.s.resolver = resolve.New(t.Context(), func(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
		<-looked
		if name != "app.example" {
			return nil, 0, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr("192.0.2.11")}, time.Hour, nil
	}, func(string) {})
	app := b.sim.Serve("192.0.2.11:81")
	known, unknown, gone := b.plain.Dial(), b.plain.Dial(), b.plain.Dial()
	known.Write(post("X-To: http://app.example:81\r\nContent-Length: 5", "hello"))
	gone.Write(post("X-To: http://app.example:81\r\nContent-Length: 5", "hello"))
	unknown.Write(post("X-To: http://other.example\r\nContent-Length: 0", ""))
	b.sim.Idle()
	gone.Reset()
	b.sim.Idle()
	close(looked)
	var answered []byte
	for end := time.Now().Add(time.Minute); app.Waiting() == 0 || len(answered) == 0; {
		if b.sim.Idle(); time.Now().After(end) {
			t.Fatalf("nothing came of it: %d, %q", app.Waiting(), answered)
		}
		answered = append(answered, unknown.Read()...)
		time.Sleep(time.Millisecond) // the names are looked up on other goroutines
	}
	if resp := exchanged(t, answered, "POST")[0]; resp.StatusCode != 502 {
		t.Errorf("unknown name: status %d", resp.StatusCode)
	}
	conn := app.Accept("the request")
	if got := request(t, b, conn); !strings.HasSuffix(got, "\r\n\r\nhello") {
		t.Errorf("the application got %q", got)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	if resp := exchanged(t, known.Read(), "POST")[0]; resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	known.Close()
	unknown.Close()
	conn.Close()
	b.done()
}

// Unix sockets, and the limit of what programs may name.
func TestTargetsOfPrograms(t *testing.T) {
	b := newPassBench(t, sim.Options{Calm: true})
	app := b.sim.Serve("unix:/run/app.sock")
	p := b.plain.Dial()
	p.Write(post("X-To: unix:/run/app.sock:/v1\r\nContent-Length: 5", "hello"))
	conn := app.Accept("the request")
	if got := request(t, b, conn); !strings.HasPrefix(got, "POST /v1/app HTTP/1.1\r\n") {
		t.Errorf("the application got %q", got)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	for i := 1; i < programTargetsMax; i++ {
		if _, err := b.w.programTarget(fmt.Appendf(nil, "http://192.0.2.1:%d", i)); err != nil {
			t.Fatalf("target %d: %v", i, err)
		}
	}
	if _, err := b.w.programTarget([]byte("http://192.0.2.2")); !errors.Is(err, errTargetsMany) {
		t.Errorf("one more than the limit: %v", err)
	}
	if _, err := b.w.programTarget([]byte("http://192.0.2.1:7")); err != nil {
		t.Errorf("one that is known: %v", err)
	}
	p.Write(post("X-To: http://192.0.2.2\r\nContent-Length: 0", ""))
	b.sim.Idle()
	if all := exchanged(t, p.Read(), "POST", "POST"); string(bodyOf(t, all[1])) != "proxy 28" {
		t.Errorf("the program is told %d", all[1].StatusCode)
	}
	p.Close()
	conn.Close()
	b.done()
}
