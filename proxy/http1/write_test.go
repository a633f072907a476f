package http1

import (
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

const testDate = "Sun, 06 Nov 1994 08:49:37 GMT"

func TestAppendResponseHead(t *testing.T) {
	const date = "Date: " + testDate + "\r\n"
	for _, c := range []struct {
		name      string
		set       func(r *httpmsg.Response)
		status    int
		minor     uint8
		keepAlive bool
		want      string
		framing   Framing
	}{
		{"length", func(r *httpmsg.Response) { r.ContentLength = 5; r.Header.Add("Server", "x") }, 200, 1, true,
			"HTTP/1.1 200 OK\r\nServer: x\r\n" + date + "Content-Length: 5\r\n\r\n", Framing{Body: httpmsg.BodyLength}},
		{"length 0", func(r *httpmsg.Response) {}, 404, 1, true,
			"HTTP/1.1 404 Not Found\r\n" + date + "Content-Length: 0\r\n\r\n", Framing{Body: httpmsg.BodyLength}},
		{"length to HTTP/1.0", func(r *httpmsg.Response) { r.ContentLength = 5 }, 200, 0, true,
			"HTTP/1.1 200 OK\r\n" + date + "Content-Length: 5\r\nConnection: keep-alive\r\n\r\n", Framing{Body: httpmsg.BodyLength}},
		{"unknown length", func(r *httpmsg.Response) { r.ContentLength = -1 }, 200, 1, true,
			"HTTP/1.1 200 OK\r\n" + date + "Transfer-Encoding: chunked\r\n\r\n", Framing{Body: httpmsg.BodyChunked}},
		{"unknown length and close", func(r *httpmsg.Response) { r.ContentLength = -1 }, 200, 1, false,
			"HTTP/1.1 200 OK\r\n" + date + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n", Framing{Body: httpmsg.BodyChunked, Close: true}},
		{"unknown length to HTTP/1.0", func(r *httpmsg.Response) { r.ContentLength = -1 }, 200, 0, true,
			"HTTP/1.1 200 OK\r\n" + date + "Connection: close\r\n\r\n", Framing{Body: httpmsg.BodyClose, Close: true}},
		{"close by the maker", func(r *httpmsg.Response) { r.Close = true }, 400, 1, true,
			"HTTP/1.1 400 Bad Request\r\n" + date + "Content-Length: 0\r\nConnection: close\r\n\r\n", Framing{Body: httpmsg.BodyLength, Close: true}},
		{"HEAD", func(r *httpmsg.Response) { r.ContentLength = 5; r.NoBody = true }, 200, 1, true,
			"HTTP/1.1 200 OK\r\n" + date + "Content-Length: 5\r\n\r\n", Framing{}},
		{"HEAD of unknown length", func(r *httpmsg.Response) { r.ContentLength = -1; r.NoBody = true }, 200, 1, true,
			"HTTP/1.1 200 OK\r\n" + date + "\r\n", Framing{}},
		{"204", func(r *httpmsg.Response) {}, 204, 1, true,
			"HTTP/1.1 204 No Content\r\n" + date + "\r\n", Framing{}},
		{"304", func(r *httpmsg.Response) { r.NoBody = true }, 304, 1, true,
			"HTTP/1.1 304 Not Modified\r\n" + date + "\r\n", Framing{}},
		{"101", func(r *httpmsg.Response) { r.Header.Add("Upgrade", "websocket"); r.Header.Add("Connection", "Upgrade") }, 101, 1, true,
			"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n" + date + "Connection: upgrade\r\n\r\n", Framing{}},
		{"no phrase", func(r *httpmsg.Response) {}, 299, 1, true,
			"HTTP/1.1 299 \r\n" + date + "Content-Length: 0\r\n\r\n", Framing{Body: httpmsg.BodyLength}},
		{"date of an upstream", func(r *httpmsg.Response) { r.Header.Add("date", "x") }, 200, 1, true,
			"HTTP/1.1 200 OK\r\ndate: x\r\nContent-Length: 0\r\n\r\n", Framing{Body: httpmsg.BodyLength}},
		{"framing fields of the maker", func(r *httpmsg.Response) {
			for _, name := range []string{"content-length", "Transfer-Encoding", "CONNECTION", "Keep-Alive", "Trailer"} {
				r.Header.Add(name, "1")
			}
		}, 200, 1, true, "HTTP/1.1 200 OK\r\n" + date + "Content-Length: 0\r\n\r\n", Framing{Body: httpmsg.BodyLength}},
	} {
		var r httpmsg.Response
		r.Reset(c.status)
		c.set(&r)
		got, framing := AppendResponseHead([]byte("x"), &r, []byte(testDate), c.minor, c.keepAlive)
		if string(got) != "x"+c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got[1:], c.want)
		}
		if framing != c.framing {
			t.Errorf("%s: framing %+v, want %+v", c.name, framing, c.framing)
		}
	}
}

// TestNothingIsInjected: no byte of a name or value can end its line (P13).
func TestNothingIsInjected(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		for _, f := range []struct {
			name, value string
			drop        bool
		}{
			{"X-" + b, "v", httpmsg.Classes[c]&httpmsg.ClassToken == 0},
			{"X", "v" + b + "w", c < ' ' && c != '\t' || c == 0x7f},
			{"X", "a long value" + b + "and more of it", c < ' ' && c != '\t' || c == 0x7f},
			{"X", "a long value and more of it" + b, c < ' ' && c != '\t' || c == 0x7f},
		} {
			var r httpmsg.Response
			r.Reset(200)
			r.Header.Add(f.name, f.value)
			got, framing := AppendResponseHead(nil, &r, nil, 1, true)
			if framing.Dropped == 1 != f.drop {
				t.Errorf("%q: %q dropped: %v, want %v", f.name, f.value, !f.drop, f.drop)
			}
			if lines := strings.Count(string(got), "\n"); !f.drop && lines != 4 || f.drop && lines != 3 {
				t.Errorf("%q: %q made %q", f.name, f.value, got)
			}
		}
	}
	var r httpmsg.Response
	r.Reset(200)
	r.Header.Add("", "v")
	if got, framing := AppendResponseHead(nil, &r, nil, 1, true); framing.Dropped != 1 {
		t.Errorf("field without a name made %q", got)
	}
}

func TestAppendInformational(t *testing.T) {
	var h httpmsg.Header
	h.Add("Link", "</a.css>; rel=preload")
	h.Add("Content-Length", "5")
	h.Add("X", "a\nb")
	if got := AppendInformational(nil, 103, &h); string(got) != "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n" {
		t.Errorf("%q", got)
	}
	if got := AppendInformational(nil, 100, nil); string(got) != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Errorf("%q", got)
	}
}

// upstreamRequest parses in, as a proxy does before it writes the request again.
func upstreamRequest(t *testing.T, in string) *httpmsg.Request {
	t.Helper()
	var p Parser
	req := new(httpmsg.Request)
	if n, err := p.ParseRequest([]byte(in), req); n != len(in) || err != nil {
		t.Fatal(n, err)
	}
	return req
}

func TestAppendRequestHead(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"GET http://b.example/p?q HTTP/1.1\r\nX: y\r\nHost: a.example\r\n\r\n",
			"GET /p?q HTTP/1.1\r\nHost: b.example\r\nX: y\r\n\r\n"},
		{"GET /? HTTP/1.1\r\nHost: a\r\n\r\n", "GET /? HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 007\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n"},
		{"POST / HTTP/1.1\r\nHost: a\r\ntransfer-encoding: Chunked\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, X\r\nUpgrade: websocket\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te, close\r\n\r\n"},
		{"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n"},
	} {
		got, _, err := AppendRequestHead(nil, upstreamRequest(t, c.in), "", "")
		if string(got) != c.want || err != nil {
			t.Errorf("%q\n got %q %v\nwant %q", c.in, got, err, c.want)
		}
	}
}

func TestAppendRequestHeadForTarget(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"GET /p?q HTTP/1.1\r\nHost: a\r\n\r\n", "GET /base/p?q HTTP/1.1\r\nHost: b:8080\r\n\r\n"},
		{"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: b:8080\r\n\r\n"},
	} {
		got, _, err := AppendRequestHead(nil, upstreamRequest(t, c.in), "/base", "b:8080")
		if string(got) != c.want || err != nil {
			t.Errorf("%q\n got %q %v\nwant %q", c.in, got, err, c.want)
		}
	}
}

func TestAppendRequestHeadRefuses(t *testing.T) {
	for name, spoil := range map[string]func(r *httpmsg.Request){
		"method":        func(r *httpmsg.Request) { r.Method = []byte("GET /x HTTP/1.1\r\n") },
		"no method":     func(r *httpmsg.Request) { r.Method = nil },
		"path":          func(r *httpmsg.Request) { r.Path = []byte("/a b") },
		"path with LF":  func(r *httpmsg.Request) { r.Path = []byte("/a\nb") },
		"no path":       func(r *httpmsg.Request) { r.Path = nil },
		"relative path": func(r *httpmsg.Request) { r.Path = []byte("a") },
		"query":         func(r *httpmsg.Request) { r.Query = []byte("a\r\nb") },
		"authority":     func(r *httpmsg.Request) { r.Authority = []byte("a\r\nX: y") },
	} {
		req := upstreamRequest(t, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		spoil(req)
		if got, _, err := AppendRequestHead([]byte("x"), req, "", ""); err != ErrUnwritable || string(got) != "x" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	req := upstreamRequest(t, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	req.Header.Add("X-Bad", "a\r\nb")
	if got, framing, err := AppendRequestHead(nil, req, "", ""); framing.Dropped != 1 || err != nil || strings.Contains(string(got), "X-Bad") {
		t.Errorf("%q, %+v, %v", got, framing, err)
	}
}

func TestWritersAllocateNothing(t *testing.T) {
	resp := typicalResponse()
	req := upstreamRequest(t, browserRequest)
	date := []byte(testDate)
	dst := make([]byte, 0, 4096)
	allocations := testing.AllocsPerRun(100, func() {
		dst, _ = AppendResponseHead(dst[:0], resp, date, 1, true)
		dst, _, _ = AppendRequestHead(dst, req, "/base", "a.example")
		dst = AppendChunkHead(dst, 16384)
		dst = AppendLastChunk(dst, nil)
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
