package gateway

import (
	"strings"
	"testing"

	"edge/edge/reactor/sim"
)

// TestStaleConnections: P01. What a kept connection says, or that it ended, may
// arrive in the very turn in which it is used again. It is not about the request,
// which is not out yet.
func TestStaleConnections(t *testing.T) {
	const first = "GET /api HTTP/1.1\r\nHost: a\r\n\r\n"
	const empty = "POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
	const filled = "POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
	const begun = "PUT /api HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nhi"
	const chunked = "POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Last: 1\r\n\r\n"
	spoke := func(kept *sim.Peer) { kept.Write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nunasked") }
	for _, c := range []struct {
		name, raw string
		then      func(kept *sim.Peer)
		body      string // as the application gets it
	}{
		{"GET, spoke", first, spoke, ""},
		{"GET, closed", first, (*sim.Peer).Close, ""},
		{"POST, spoke", empty, spoke, ""},
		{"POST, closed", empty, (*sim.Peer).Close, ""},
		{"POST, reset", empty, (*sim.Peer).Reset, ""},
		{"POST with a body, spoke", filled, spoke, "hi"},
		{"POST with a body, closed", filled, (*sim.Peer).Close, "hi"},
		{"PUT whose body goes on, closed", begun, (*sim.Peer).Close, "hi..."},
		{"POST in chunks, reset", chunked, (*sim.Peer).Reset, "2\r\nhi\r\n0\r\nX-Last: 1\r\n\r\n"},
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

			p.Write(c.raw)
			c.then(kept)
			b.sim.Idle()
			again := app.Accept("the retry")
			got := request(t, b, again)
			if begun, goesOn := strings.CutSuffix(c.body, "..."); goesOn {
				p.Write("ho")
				b.sim.Idle()
				got, c.body = got+string(again.Read()), begun+"ho"
			}
			if _, body, _ := strings.Cut(got, "\r\n\r\n"); body != c.body {
				t.Errorf("the application got %q, not %q", body, c.body)
			}
			again.Write(okAnswer)
			b.sim.Idle()
			again.Close()
			if n := app.Waiting(); n != 0 {
				t.Errorf("%d attempts too many", n)
			}
			if got := kept.Read(); len(got) > 0 {
				t.Errorf("the connection that was given up was sent %q", got)
			}
			resp := exchanged(t, p.Read(), "POST")[0]
			if resp.StatusCode != 200 || string(bodyOf(t, resp)) != "hello" {
				t.Errorf("status %d, want 200, or the body differs", resp.StatusCode)
			}
			p.Close()
			kept.Close()
			b.done()
		})
	}
}

// What waits behind the end of an answer must not be lost for a connection that is
// kept: its next answer would be read from the middle.
func TestBytesBehindAnAnswer(t *testing.T) {
	held, chunk := []byte("the end of a body"), upstreamChunk{}
	for _, c := range []struct {
		name  string
		held  []byte
		queue []upstreamChunk
		want  bool
	}{
		{"nothing", nil, nil, false},
		{"held, which is consumed", held, nil, false},
		{"one queued, which is consumed", nil, []upstreamChunk{chunk}, false},
		{"a second one", nil, []upstreamChunk{chunk, chunk}, true},
		{"one queued behind held", held, []upstreamChunk{chunk}, true},
	} {
		if u := (&upstream{held: c.held, queue: c.queue}); u.behind() != c.want {
			t.Errorf("%s: %t", c.name, !c.want)
		}
	}
}
