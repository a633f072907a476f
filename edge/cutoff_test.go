package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// abruptApplication is an https application whose answers last until the connection ends. It
// ends it with close_notify, if the path says so, or without.
func abruptApplication(t *testing.T) string {
	t.Helper()
	pki := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer pki.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: pki.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerAndCut(c.(*tls.Conn))
		}
	}()
	return "https://" + l.Addr().String() + "#insecure"
}

func answerAndCut(c *tls.Conn) {
	raw := c.NetConn().(*net.TCPConn)
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(patience))
	head := make([]byte, 4096)
	n := 0
	for !strings.HasSuffix(string(head[:n]), "\r\n\r\n") {
		m, err := c.Read(head[n:])
		if err != nil {
			return
		}
		n += m
	}
	path := strings.Fields(string(head[:n]))[1]
	if strings.Contains(path, "/head") {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nConte")
	} else {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"+strings.Repeat("0123456789abcdef", 4<<10))
	}
	if strings.HasSuffix(path, "/whole") {
		c.CloseWrite()
	}
	raw.CloseWrite()
	io.Copy(io.Discard, raw)
}

// TestHTTPSApplicationCutOff: an answer that lasts until the connection ends is
// whole if TLS ended as it should, and else a visible part, whoever the client is.
func TestHTTPSApplicationCutOff(t *testing.T) {
	t.Parallel()
	in := serveDev(t, "--http", "127.0.0.1:0", "--proxy", abruptApplication(t))
	c := in.client()
	for _, base := range []string{in.url(""), "http://" + in.plain} {
		for path, whole := range map[string]bool{"/whole": true, "/part": false} {
			resp, err := c.Get(base + path)
			if err != nil {
				if whole {
					t.Error(err)
				}
				continue // cut off along with the head
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if (err == nil) != whole || whole && len(b) != 64<<10 {
				t.Errorf("%s%s: %d bytes, %v", base, path, len(b), err)
			}
		}
		for _, path := range []string{"/head/whole", "/head/part"} {
			resp, err := c.Get(base + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 502 {
				t.Errorf("%s%s: status %d", base, path, resp.StatusCode)
			}
		}
	}
	in.waitStderr("upstream ended the connection without close_notify; an answer was cut short")
}
