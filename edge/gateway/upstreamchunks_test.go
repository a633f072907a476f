package gateway

import (
	"bytes"
	"strings"
	"testing"

	"edge/edge/config"
)

// What is wrong with a chunked body is found on its way to the application, which
// sees no whole request; the answer and the log name the limit.
func TestProxyRefusesChunks(t *testing.T) {
	limit := func(c *config.Config) {
		c.Limits.ChunkLineBytes, c.Limits.TrailerBytes, c.Limits.BodyBytes = 18, 64, 20
	}
	for _, c := range []struct {
		body   string
		status int
		reason string
	}{
		{"1;a=" + strings.Repeat("b", 15) + "\r\n", 400, "max-chunk-line-bytes"},
		{"0\r\nA: " + strings.Repeat("b", 60) + "\r\n\r\n", 431, "max-trailer-bytes"},
		{"15\r\n" + strings.Repeat("b", 21) + "\r\n", 413, "max-body-bytes"},
		{"0x5\r\nhello\r\n0\r\n\r\n", 400, "hexadecimal"},
		{"5\nhello\r\n0\r\n\r\n", 400, "bare LF"},
		{"5\r\nhello6\r\n0\r\n\r\n", 400, "CRLF"},
		{"0\r\nContent-Length: 5\r\n\r\n", 400, "trailer"},
	} {
		b := newProxyBench(t, benchOptions{config: limit}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write("POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
		conn := app.Accept("the request")
		b.sim.Idle()
		p.Write(c.body + get("/api/smuggled"))
		b.sim.Idle()
		if got := string(conn.Read()); strings.Contains(got, "smuggled") || strings.HasSuffix(got, "0\r\n\r\n") {
			t.Errorf("%q: the application saw a whole request: %q", c.body, got)
		}
		resp := exchanged(t, p.Read(), "POST")[0]
		if page := bodyOf(t, resp); resp.StatusCode != c.status || !resp.Close || !bytes.Contains(page, []byte(c.reason)) {
			t.Errorf("%q: %d, %s, want %d for %s and the end", c.body, resp.StatusCode, page, c.status, c.reason)
		}
		if !strings.Contains(b.log.String(), c.reason) {
			t.Errorf("%q: the log does not name %s: %s", c.body, c.reason, b.log)
		}
		p.Close()
		conn.Close()
		b.done()
	}
}
