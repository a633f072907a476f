package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"edge/tools/soak/websocket"
)

// These tests put real applications behind edge, and real clients in front.

// application starts a program and waits for a line of its output that matches;
// the first group is returned. It is skipped where the program is not installed.
func application(t *testing.T, ready *regexp.Regexp, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	c := exec.CommandContext(t.Context(), path, args...)
	c.WaitDelay = time.Second
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	found := make(chan string, 1)
	var said lockedBuffer
	go func() {
		lines := bufio.NewScanner(io.TeeReader(out, &said))
		for lines.Scan() {
			if m := ready.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case found <- m[1]:
				default:
				}
			}
		}
		close(found)
	}()
	select {
	case s, ok := <-found:
		if !ok {
			t.Fatalf("%s ended:\n%s", name, said.String())
		}
		return s
	case <-time.After(patience):
		t.Fatalf("%s was not ready within %v:\n%s", name, patience, said.String())
	}
	return ""
}

// curl runs curl, which trusts the development authority; path stands for the URL.
func (in *instance) curl(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	_, port, _ := strings.Cut(in.tls, ":")
	base := []string{"-sS", "--noproxy", "*", "--cacert", in.caFile, "--resolve", "localhost:" + port + ":127.0.0.1"}
	return program(t, "", "curl", append(append(base, args...), "https://localhost:"+port+path)...)
}

// client is Go's client.
func (in *instance) client() *http.Client {
	tr := &http.Transport{TLSClientConfig: in.config(), ExpectContinueTimeout: patience}
	in.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

func (in *instance) url(path string) string {
	_, port, _ := strings.Cut(in.tls, ":")
	return "https://localhost:" + port + path
}

// Python's http.server: HTTP/1.0 with a connection for each request, and HTTP/1.1.
func TestPythonApplication(t *testing.T) {
	t.Parallel()
	help, err := program(t, "", "python3", "-m", "http.server", "--help")
	if err != nil {
		t.Skipf("python3 has no http.server: %v", err)
	}
	dir := site(t)
	for _, protocol := range []string{"HTTP/1.0", "HTTP/1.1"} {
		args := []string{"-u", "-m", "http.server", "-b", "127.0.0.1", "-d", dir}
		if protocol != "HTTP/1.0" {
			if !strings.Contains(help, "--protocol") {
				continue
			}
			args = append(args, "-p", protocol)
		}
		t.Run(protocol, func(t *testing.T) {
			port := application(t, regexp.MustCompile(`^Serving HTTP on .* port (\d+)`), "python3", append(args, "0")...)
			usePython(t, serveDev(t, "--proxy", "http://127.0.0.1:"+port, "--max-body-bytes", "16m"))
		})
	}
}

func usePython(t *testing.T, in *instance) {
	upload := filepath.Join(t.TempDir(), "upload")
	writeFile(t, upload, bytes.Repeat([]byte("0123456789abcdef"), 64<<10))
	last := ""
	for range 3 {
		c, err := in.handshake(in.config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		expectPage(t, c)
		resp, body, err := get(c, "/big.bin")
		if err != nil || body != strings.Repeat("0123456789abcdef", 64<<10) {
			t.Fatalf("%d bytes, %v", len(body), err)
		}
		last = resp.Header.Get("Last-Modified")
		c.Close()
	}
	for _, c := range []struct {
		path string
		want string
		args []string
	}{
		{"/", fmt.Sprint("200 ", len(page)), []string{"-o", "/dev/null"}},
		{"/index.html", "200 0", []string{"-I", "-o", "/dev/null"}},
		{"/sub/", "200", []string{"-o", "/dev/null"}},
		{"/sub", "301 0", []string{"-o", "/dev/null"}},
		{"/nowhere", "404", []string{"-o", "/dev/null"}},
		{"/big.bin", "304 0", []string{"-H", "If-Modified-Since: " + last}},
		{"/upload", "501", []string{"-T", upload, "-o", "/dev/null"}},
		{"/upload", "501", []string{"-T", upload, "-o", "/dev/null", "-H", "Expect: 100-continue"}},
	} {
		out, err := in.curl(t, c.path, append(c.args, "-w", "%{http_code} %{size_download}")...)
		if err != nil || !strings.HasPrefix(out, c.want) {
			t.Errorf("curl %q %s: %q, %v; want %s", c.args, c.path, out, err, c.want)
		}
	}
}

// An asyncio program that echoes WebSockets, and a connection of each size of frame
// that there is, at the same time.
func TestPythonWebSocket(t *testing.T) {
	t.Parallel()
	port := application(t, regexp.MustCompile(`^(\d+)$`), "python3", "testdata/websocket_echo.py")
	in := serveDev(t, "--proxy", "/ws=http://127.0.0.1:"+port, site(t))
	for _, size := range []int{0, 1, 125, 126, 1<<16 - 1, 1 << 16, 500_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			echoThrough(t, in, size)
		})
	}
	out, err := in.curl(t, "/ws", "-o", os.DevNull, "-w", "%{http_code}")
	if err != nil || out != "426" {
		t.Errorf("no WebSocket: %q, %v", out, err)
	}
}

// echoThrough sends messages of that size, a ping, and the closing handshake.
func echoThrough(t *testing.T, in *instance, size int) {
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	fmt.Fprintf(c, "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n", key)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Sec-Websocket-Accept") != websocket.AcceptKey(key) {
		t.Fatalf("%v, %v", resp, err)
	}
	message := bytes.Repeat([]byte("a"), size)
	sent := make(chan error, 1)
	const messages = 5
	go func() {
		b := websocket.AppendFrame(nil, websocket.Ping, 5, []byte("ping"))
		for i := range messages {
			b = websocket.AppendFrame(b, websocket.Text, uint32(i+1), message)
		}
		_, err := c.Write(websocket.AppendFrame(b, websocket.Close, 9, []byte("\x03\xe8bye")))
		sent <- err
	}()
	want := func(op byte, p []byte) {
		t.Helper()
		if got, q, err := websocket.ReadFrame(r); err != nil || got != op || !bytes.Equal(q, p) {
			t.Fatalf("frame of kind %d and %d bytes, %v; want kind %d and %d bytes", got, len(q), err, op, len(p))
		}
	}
	want(websocket.Pong, []byte("ping"))
	for range messages {
		want(websocket.Text, message)
	}
	want(websocket.Close, []byte("\x03\xe8bye"))
	if n, err := io.Copy(io.Discard, r); n != 0 || err != nil {
		t.Errorf("after the closing handshake: %d bytes, %v", n, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
