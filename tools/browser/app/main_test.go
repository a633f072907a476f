package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"edge/tools/soak/websocket"
)

func post(t *testing.T, url, body string) string {
	t.Helper()
	resp, err := http.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %d, %v", url, resp.StatusCode, err)
	}
	return string(b)
}

func TestSum(t *testing.T) {
	s := httptest.NewServer(newApp())
	defer s.Close()
	if got, want := post(t, s.URL+"/sum", "abc"), "3 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEvents: as many as were heard, and one.
func TestEvents(t *testing.T) {
	s := httptest.NewServer(newApp())
	defer s.Close()
	resp, err := http.Get(s.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
		lines.ReadString('\n')
		if lines.Buffered() > 0 {
			t.Error("an event that nobody asked for")
		}
		post(t, s.URL+"/heard", "")
	}
}

func TestEcho(t *testing.T) {
	s := httptest.NewServer(newApp())
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	c.Write(websocket.AppendFrame(nil, websocket.Text, 1, []byte("hello")))
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("%v, %v", resp, err)
	}
	if op, p, err := websocket.ReadFrame(r); err != nil || op != websocket.Text || string(p) != "hello" {
		t.Errorf("%d %q, %v", op, p, err)
	}
}

// TestHold: what is held back comes when the page is done; before, until nobody
// waits for it any more.
func TestHold(t *testing.T) {
	h := newApp()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ask := func(method, path string, ctx context.Context) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil).WithContext(ctx))
		return w.Body.String()
	}
	if got := ask("GET", "/hold", ctx); got != "" {
		t.Errorf("before the page is done: %q", got)
	}
	ask("POST", "/over", t.Context())
	ask("POST", "/over", t.Context())
	if got := ask("GET", "/hold", t.Context()); got != "over" {
		t.Errorf("after it: %q", got)
	}
}
