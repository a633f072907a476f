package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

func TestSite(t *testing.T) {
	in := serveDev(t, site(t))
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	etag := ""
	for _, tc := range []struct {
		method, path string
		status       int
		kind, body   string
	}{
		{"GET", "/", 200, "text/html", page},
		{"GET", "/index.html", 200, "text/html", page},
		{"HEAD", "/index.html", 200, "text/html", ""},
		{"GET", "/sub/doc.txt", 200, "text/plain", "text\n"},
		{"GET", "/big.bin", 200, "application/octet-stream", strings.Repeat("0123456789abcdef", 64<<10)},
		{"GET", "/nowhere", 404, "text/html", "<p>the 404 of these tests\n"},
		{"GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "text/html", "<p>the 404 of these tests\n"},
	} {
		fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n", tc.method, tc.path)
		resp, err := http.ReadResponse(r, &http.Request{Method: tc.method})
		if err != nil {
			t.Fatalf("%s %s: %v", tc.method, tc.path, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%s %s: %v", tc.method, tc.path, err)
		}
		if resp.StatusCode != tc.status || string(body) != tc.body || !strings.HasPrefix(resp.Header.Get("Content-Type"), tc.kind) {
			t.Errorf("%s %s: %d %v, %d bytes; want %d %s, %d bytes", tc.method, tc.path,
				resp.StatusCode, resp.Header, len(body), tc.status, tc.kind, len(tc.body))
		}
		if tc.path == "/" {
			etag = resp.Header.Get("Etag")
		}
	}
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: %s\r\n\r\n", etag)
	if resp, err := http.ReadResponse(r, nil); err != nil || resp.StatusCode != 304 {
		t.Errorf("If-None-Match %s: %v, %v; want 304", etag, resp, err)
	}
}

// Requests that are sent before the answers are read are answered in order.
func TestPipelining(t *testing.T) {
	in := serveDev(t, site(t))
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	paths := []string{"/", "/sub/doc.txt", "/nowhere"}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[i%len(paths)])
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for i := range n {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
		body, err := io.ReadAll(resp.Body)
		want := []string{page, "text\n", "<p>the 404 of these tests\n"}[i%len(paths)]
		if err != nil || string(body) != want {
			t.Fatalf("answer %d: %q, %v; want %q", i, body, err, want)
		}
	}
}

func TestMalformedRequest(t *testing.T) {
	in := serveDev(t, site(t))
	for request, want := range map[string]int{
		"GET / HTTP/1.1\n\n":                              400,
		"GET / HTTP/1.1\r\n\r\n":                          400,
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":    400,
		"GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n": 400,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n": 400,
		"GET /" + strings.Repeat("a", 9000) + " HTTP/1.1\r\nHost: a\r\n\r\n":                    414,
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("a: b\r\n", 200) + "\r\n":              431,
		"GET / HTTP/1.1\r\nHost: a\r\na: " + strings.Repeat("b", 40000) + "\r\n\r\n":            431,
	} {
		c, err := in.handshake(in.config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, request) // may end in an error: the answer comes first
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != want || !resp.Close {
			t.Errorf("%.60q: %v, %v; want %d and the end", request, resp, err, want)
		}
		c.Close()
	}
}

func TestNoSite(t *testing.T) {
	in := serveDev(t)
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := get(c, "/")
	if err != nil || !strings.Contains(body, "edge serve") || !strings.Contains(body, "edge pack") {
		t.Errorf("%v, body %q: it does not say what to do", err, body)
	}
}

func TestPlainHTTP(t *testing.T) {
	in := serveDev(t, "--http", "127.0.0.1:0", site(t))
	expectPage(t, in.dialTo(in.plain))
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, c)
}

func TestRedirect(t *testing.T) {
	in := serveDev(t, "--http", "127.0.0.1:0", "--http-redirect", site(t))
	resp, _, err := get(in.dialTo(in.plain), "/sub/doc.txt?a=b")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(in.tls, ":")
	want := "https://localhost:" + port + "/sub/doc.txt?a=b"
	if got := resp.Header.Get("Location"); resp.StatusCode != 308 || got != want {
		t.Errorf("status %d, Location %q; want 308 to %q", resp.StatusCode, got, want)
	}
}

// Each worker has a socket of its own: all of them answer.
func TestSeveralWorkers(t *testing.T) {
	in := serveDev(t, "--workers", "3", site(t))
	for range 32 {
		c, err := in.handshake(in.config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		expectPage(t, c)
		c.Close()
	}
}

// Tickets are good with every worker: their keys are shared.
func TestResumptionAcrossWorkers(t *testing.T) {
	in := serveDev(t, "--workers", "3", site(t))
	conf := in.config()
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for i := range 16 {
		c, err := in.handshake(conf, nil)
		if err != nil {
			t.Fatal(err)
		}
		expectPage(t, c)
		if resumed := c.ConnectionState().DidResume; resumed != (i > 0) {
			t.Errorf("connection %d: resumed %v", i, resumed)
		}
		c.Close()
	}
}

func TestTerminate(t *testing.T) {
	in := serveDev(t, site(t))
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, c)
	if status := in.stop(); status != 0 {
		t.Errorf("status %d after SIGTERM, stderr:\n%s", status, in.stderr.String())
	}
	if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
		t.Errorf("the idle connection got %d bytes and %v; want close_notify", n, err)
	}
}

// A server that is up answers on every address it said it listens on, and says
// how to trust it.
func TestReadyLines(t *testing.T) {
	in := serveDev(t, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", site(t))
	in.waitStderr("https://localhost:")
	in.waitStderr("curl --cacert " + in.caFile)
	for _, at := range []string{in.tls, in.plain} {
		in.dialTo(at).Close()
	}
}

// An address without a host is every address, of both families.
func TestBothFamilies(t *testing.T) {
	in := serveDev(t, "--http", ":0", site(t))
	_, port, err := net.SplitHostPort(in.plain)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, in.dialTo("127.0.0.1:"+port))
	c, err := net.Dial("tcp", "[::1]:"+port)
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	defer c.Close()
	expectPage(t, c)
}
