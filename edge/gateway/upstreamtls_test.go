package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"edge/edge/reactor/sim"
)

// readAll gives what has come for a client so far.
func readAll(t *testing.T, c *tls.Conn) string {
	t.Helper()
	var got bytes.Buffer
	if _, err := io.Copy(&got, c); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return got.String()
}

// askedOverTLS has a client ask and gives the application's end.
func askedOverTLS(t *testing.T, raw string) (b *tlsBench, c *tls.Conn, app *sim.Peer) {
	t.Helper()
	b = newTLSBench(t, proxyOptions(t, benchOptions{sim: sim.Options{Calm: true}}, false), []string{"a.example"})
	serving := b.sim.Serve(appOne)
	c = b.dial("a.example")
	io.WriteString(c, raw)
	app = serving.Accept("the request")
	request(t, b.bench, app)
	return b, c, app
}

// TestProxyEventsOverTLS: head and events reach the client as they are made, for as
// long as there are some within the answer timeout; a client that is gone ends them (P08).
func TestProxyEventsOverTLS(t *testing.T) {
	for _, how := range []string{"close_notify and FIN", "reset"} {
		b, c, app := askedOverTLS(t, get("/api/events"))
		app.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		if got := readAll(t, c); !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Fatalf("the head waits for the first event: %q", got)
		}
		for range 8 {
			b.sim.Advance(b.s.cfg.Timeouts.Answer / 2)
			app.Write("data: x\n\n")
			if got := readAll(t, c); got != "9\r\ndata: x\n\n\r\n" {
				t.Fatalf("an event did not come at once: %q", got)
			}
		}
		if how == "reset" {
			c.NetConn().(*simConn).p.Reset()
		} else {
			c.Close()
		}
		app.WantEOF("the client is gone: " + how)
		app.Close()
		b.done()
	}
}

// TestProxyTunnelOverTLS: a WebSocket through TLS, with the first frames sent along
// with the upgrade, ended by either side (P09).
func TestProxyTunnelOverTLS(t *testing.T) {
	b, c, app := askedOverTLS(t, "GET /api/ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\nearly")
	app.Write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfirst")
	if got := readAll(t, c); !strings.HasPrefix(got, "HTTP/1.1 101 ") || !strings.HasSuffix(got, "\r\n\r\nfirst") {
		t.Fatalf("client got %q", got)
	}
	app.Want("the early frame", "early")
	data := bytes.Repeat([]byte("0123456789abcdef"), 20<<10) // 320 KB
	c.Write(data)
	b.sim.Idle()
	if got := app.Read(); !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d, or others, reached the application", len(got), len(data))
	}
	b.sim.Advance(b.s.cfg.Timeouts.RelayIdle - time.Second)
	app.Write(data)
	if got := readAll(t, c); got != string(data) {
		t.Errorf("%d bytes of %d, or others, reached the client", len(got), len(data))
	}
	c.CloseWrite()
	app.WantEOF("the client's close_notify")
	app.Write("bye")
	app.Close()
	if got := readAll(t, c); got != "bye" {
		t.Errorf("the last frame is %q", got)
	}
	c.Close()
	b.done()
}

// TestProxyUploadLeftOverTLS: a client that goes in the middle of an upload, in
// good order, without a word, or in the middle of a record, while the application
// reads and while it does not, is known to be gone at once (P07).
func TestProxyUploadLeftOverTLS(t *testing.T) {
	for name, leave := range map[string]func(c *tls.Conn, p *sim.Peer){
		"close_notify and FIN": func(c *tls.Conn, p *sim.Peer) { c.Close() },
		"close_notify":         func(c *tls.Conn, p *sim.Peer) { c.CloseWrite() },
		"FIN":                  func(c *tls.Conn, p *sim.Peer) { p.Close() },
		"part of a record and FIN": func(c *tls.Conn, p *sim.Peer) {
			p.Write("\x17\x03\x03\x01\x00abc")
			p.Close()
		},
	} {
		for _, framing := range []string{"Content-Length: 1000000", "Transfer-Encoding: chunked"} {
			for _, size := range []int{0, 1000, 900000} {
				b, c, app := askedOverTLS(t, "POST /api/x HTTP/1.1\r\nHost: a.example\r\n"+framing+"\r\n\r\n")
				app.Stalled = true
				if framing[0] == 'T' {
					fmt.Fprintf(c, "%x\r\n", 1000000)
				}
				c.Write(make([]byte, size))
				b.sim.Idle()
				leave(c, c.NetConn().(*simConn).p)
				b.sim.Idle()
				app.Stalled = false
				b.sim.Idle()
				app.Read()
				app.WantEOF(fmt.Sprintf("%s after %d bytes, %s", name, size, framing))
				app.Close()
				c.NetConn().Close()
				b.done()
			}
		}
	}
}
