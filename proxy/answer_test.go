package proxy

import (
	"slices"
	"testing"

	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// upstreamHead parses a response head to a request with the given method.
func upstreamHead(t *testing.T, text, method string) *http1.ResponseHead {
	t.Helper()
	var p http1.Parser
	head := new(http1.ResponseHead)
	if n, err := p.ParseResponse([]byte(text), head, []byte(method)); n != len(text) || err != nil {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return head
}

func TestResponse(t *testing.T) {
	for _, c := range []struct {
		name, method, head string
		want               []string
		length             int64
		noBody             bool
	}{
		{"length", "GET", "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\n",
			[]string{"Server: x", "Content-Length: 5"}, 5, false},
		{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", nil, -1, false},
		{"until close", "GET", "HTTP/1.0 200 OK\r\nA: b\r\n\r\n", []string{"A: b"}, -1, false},
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", []string{"Content-Length: 5"}, 5, true},
		{"HEAD of unknown length", "HEAD", "HTTP/1.1 200 OK\r\n\r\n", nil, -1, true},
		{"304", "GET", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", []string{`ETag: "x"`}, -1, true},
		{"hop by hop", "GET", "HTTP/1.1 200 OK\r\nConnection: close, X-A\r\nX-A: 1\r\nKeep-Alive: 5\r\nProxy-Authenticate: x\r\nUpgrade: h2c\r\n" +
			"Trailer: X\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-Request-ID: 1\r\nContent-Length: 0\r\n\r\n",
			[]string{"Set-Cookie: a", "Set-Cookie: b", "X-Request-ID: 1", "Content-Length: 0"}, 0, false},
	} {
		var f Forwarder
		var resp httpmsg.Response
		req := parse(t, c.method+" /")
		if err := f.Response(upstreamHead(t, c.head, c.method), req, &resp); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := lines(&resp.Header); !slices.Equal(got, c.want) {
			t.Errorf("%s: fields %q, want %q", c.name, got, c.want)
		}
		if resp.ContentLength != c.length || resp.NoBody != c.noBody || resp.Close || resp.File != -1 {
			t.Errorf("%s: %+v", c.name, resp)
		}
	}
}

func TestSwitchingProtocols(t *testing.T) {
	const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: x\r\n\r\n"
	for _, c := range []struct {
		name, protocol, head string
		want                 error
	}{
		{"as asked", "websocket", switched, nil},
		{"unasked", "", switched, ErrUpgrade},
		{"another protocol", "custom", switched, ErrUpgrade},
		{"asked for what does not go on", "h2c", "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", ErrUpgrade},
		{"no protocol", "websocket", "HTTP/1.1 101 x\r\n\r\n", ErrUpgrade},
	} {
		sent := []string{"A: b"}
		if c.protocol != "" {
			sent = []string{"Connection: Upgrade", "Upgrade: " + c.protocol}
		}
		req := parse(t, "GET /", sent...)
		var f Forwarder
		var resp httpmsg.Response
		if err := f.Request(req, foreigner); err != nil {
			t.Fatal(err)
		}
		err := f.Response(upstreamHead(t, c.head, "GET"), req, &resp)
		if err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil && (string(resp.Header.Get("upgrade")) != "WebSocket" || !resp.NoBody) {
			t.Errorf("%s: %+v", c.name, resp)
		}
	}
}

func TestInformational(t *testing.T) {
	for _, c := range []struct {
		name, head       string
		waits, continued bool
		minor            uint8
		want             bool
	}{
		{"100 waited for", "HTTP/1.1 100 Continue\r\n\r\n", true, false, 1, true},
		{"100 sent before", "HTTP/1.1 100 Continue\r\n\r\n", true, true, 1, false},
		{"100 not waited for", "HTTP/1.1 100 Continue\r\n\r\n", false, false, 1, false},
		{"100 to HTTP/1.0", "HTTP/1.1 100 Continue\r\n\r\n", true, false, 0, false},
		{"103", "HTTP/1.1 103 Early Hints\r\nLink: x\r\nConnection: X\r\nX: y\r\n\r\n", false, false, 1, true},
		{"103 to HTTP/1.0", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", false, false, 0, false},
	} {
		req := parse(t, "PUT /")
		req.ExpectContinue, req.Minor = c.waits, c.minor
		head := upstreamHead(t, c.head, "PUT")
		if got := new(Forwarder).Informational(head, req, c.continued); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.want && (head.Header.Has("x") || head.Header.Has("connection")) {
			t.Errorf("%s: fields %q", c.name, head.Header.Fields)
		}
	}
}

func TestTrailer(t *testing.T) {
	sent := []string{"X-Sum: 1", "Keep-Alive: 1", "X-Forwarded-For: 1.2.3.4", "X-JA4: x", "X_Real_IP: y"}
	h := fields(sent...)
	new(Forwarder).Trailer(&h, true)
	if got := lines(&h); !slices.Equal(got, []string{"X-Sum: 1"}) {
		t.Errorf("request: %q", got)
	}
	h = fields(sent...)
	new(Forwarder).Trailer(&h, false)
	if got := lines(&h); !slices.Equal(got, []string{"X-Sum: 1", "X-Forwarded-For: 1.2.3.4", "X-JA4: x"}) {
		t.Errorf("response: %q", got)
	}
}
