package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// goApplication is a net/http server that does what applications do.
type goApplication struct {
	file      []byte
	opened    atomic.Int64  // connections made to it
	heard     chan struct{} // the client got the last event
	cancelled chan struct{} // a client went away
}

func startGoApplication(t *testing.T) (*goApplication, *httptest.Server) {
	t.Helper()
	a := &goApplication{file: bytes.Repeat([]byte("0123456789abcdef"), 100<<10), heard: make(chan struct{}, 1), cancelled: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("/app/file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"one"`)
		http.ServeContent(w, r, "file.bin", time.Unix(1_700_000_000, 0), bytes.NewReader(a.file))
	})
	mux.HandleFunc("/app/small", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "small") })
	mux.HandleFunc("/app/sum", a.sum)
	mux.HandleFunc("/app/refuse", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	mux.HandleFunc("/app/events", a.events)
	mux.HandleFunc("/app/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		fmt.Fprint(w, "after the hints")
	})
	s := httptest.NewUnstartedServer(mux)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			a.opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return a, s
}

// sum tells a body's length and hash, and of its trailers.
func (a *goApplication) sum(w http.ResponseWriter, r *http.Request) {
	h := sha256.New()
	n, err := io.Copy(h, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Trailer", "X-Sum")
	fmt.Fprintf(w, "%d bytes, length %d, trailer %q\n", n, r.ContentLength, r.Trailer.Get("X-Told"))
	w.(http.Flusher).Flush()
	w.Header().Set("X-Sum", fmt.Sprintf("%x", h.Sum(nil)))
}

// events sends each event only after the client got the one before.
func (a *goApplication) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; ; i++ {
		fmt.Fprintf(w, "data: %d\n\n", i)
		w.(http.Flusher).Flush()
		select {
		case <-a.heard:
		case <-r.Context().Done():
			a.cancelled <- struct{}{}
			return
		}
	}
}

// upload posts a body of that many bytes and checks what is told of it.
func upload(t *testing.T, c *http.Client, url string, size int, edit func(*http.Request)) {
	t.Helper()
	body := bytes.Repeat([]byte("upload.."), size/8)
	req, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	length, told := int64(len(body)), ""
	if edit != nil {
		edit(req)
		length = req.ContentLength
		told = req.Trailer.Get("X-Told")
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	want := fmt.Sprintf("%d bytes, length %d, trailer %q\n", len(body), length, told)
	if err != nil || string(got) != want {
		t.Errorf("%d bytes: %q, %v; want %q", size, got, err, want)
	}
	if got, want := resp.Trailer.Get("X-Sum"), fmt.Sprintf("%x", sha256.Sum256(body)); got != want {
		t.Errorf("%d bytes: the trailer says %q, want %q", size, got, want)
	}
}

// Go's client, edge, and Go's server.
func TestGoApplication(t *testing.T) {
	t.Parallel()
	a, s := startGoApplication(t)
	in := serveDev(t, "--proxy", "/app="+s.URL, "--max-body-bytes", "64m", site(t))
	c := in.client()
	t.Run("uploads", func(t *testing.T) {
		for _, size := range []int{8, 8 << 10, 8 << 20} {
			upload(t, c, in.url("/app/sum"), size, nil)
			upload(t, c, in.url("/app/sum"), size, func(r *http.Request) { r.Header.Set("Expect", "100-continue") })
			upload(t, c, in.url("/app/sum"), size, func(r *http.Request) {
				r.ContentLength, r.GetBody = -1, nil
				r.Trailer = http.Header{"X-Told": {"at the end"}}
			})
		}
	})
	t.Run("expectation not met", func(t *testing.T) {
		req, _ := http.NewRequest("POST", in.url("/app/refuse"), strings.NewReader("never sent"))
		req.Header.Set("Expect", "100-continue")
		if resp, err := c.Do(req); err != nil || resp.StatusCode != 403 {
			t.Errorf("%v, %v", resp, err)
		}
	})
	t.Run("downloads", func(t *testing.T) { a.downloads(t, c, in.url("/app/file")) })
	t.Run("early hints", func(t *testing.T) {
		var hints textproto.MIMEHeader
		trace := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
			Got1xxResponse: func(_ int, h textproto.MIMEHeader) error { hints = h; return nil }})
		req, _ := http.NewRequestWithContext(trace, "GET", in.url("/app/hints"), nil)
		resp, err := c.Do(req)
		if err != nil || hints.Get("Link") != "</style.css>; rel=preload" {
			t.Errorf("%v, hints %v, %v", resp, hints, err)
		}
	})
	t.Run("events", func(t *testing.T) {
		resp, err := c.Get(in.url("/app/events"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(resp.Body)
		for i := range 20 {
			line, err := lines.ReadString('\n')
			if err != nil || line != fmt.Sprintf("data: %d\n", i) {
				t.Fatalf("%q, %v; want event %d", line, err, i)
			}
			lines.ReadString('\n')
			a.heard <- struct{}{}
		}
		resp.Body.Close()
		select {
		case <-a.cancelled:
		case <-time.After(patience):
			t.Error("the application does not hear that its client is gone")
		}
	})
	t.Run("reuse", func(t *testing.T) {
		before := a.opened.Load()
		for range 50 {
			resp, err := c.Get(in.url("/app/small"))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "small" {
				t.Fatalf("%q, %v", b, err)
			}
			resp.Body.Close()
		}
		if n := a.opened.Load() - before; n > 1 {
			t.Errorf("50 requests, one after the other, took %d new connections to the application", n)
		}
	})
}

func (a *goApplication) downloads(t *testing.T, c *http.Client, url string) {
	for _, d := range []struct {
		method, field, value string
		status               int
		body                 string
	}{
		{"GET", "", "", 200, string(a.file)},
		{"HEAD", "", "", 200, ""},
		{"GET", "Range", "bytes=5-20", 206, string(a.file[5:21])},
		{"GET", "Range", "bytes=-7", 206, string(a.file[len(a.file)-7:])},
		{"GET", "Range", "bytes=99999999-", 416, ""},
		{"GET", "If-None-Match", `"one"`, 304, ""},
		{"GET", "If-None-Match", `"two"`, 200, string(a.file)},
	} {
		req, _ := http.NewRequest(d.method, url, nil)
		if d.field != "" {
			req.Header.Set(d.field, d.value)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Errorf("%s %s %s: %v", d.method, d.field, d.value, err)
			continue
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != d.status || d.status != 416 && string(b) != d.body {
			t.Errorf("%s %s %s: status %d, %d bytes, %v; want %d and %d bytes", d.method, d.field, d.value, resp.StatusCode, len(b), err, d.status, len(d.body))
		}
		if d.method == "HEAD" && resp.ContentLength != int64(len(a.file)) {
			t.Errorf("HEAD says %d bytes", resp.ContentLength)
		}
	}
}

// curl does the same as its users do.
func TestCurlThroughProxy(t *testing.T) {
	t.Parallel()
	a, s := startGoApplication(t)
	in := serveDev(t, "--proxy", "/app="+s.URL, "--max-body-bytes", "64m", site(t))
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, a.file)
	sum := fmt.Sprintf("%x", sha256.Sum256(a.file))
	for _, c := range []struct {
		path string
		want string
		args []string
	}{
		{"/app/sum", fmt.Sprintf("%d bytes, length %d", len(a.file), len(a.file)), []string{"-T", file}},
		{"/app/sum", fmt.Sprintf("%d bytes, length %d", len(a.file), len(a.file)), []string{"-T", file, "-H", "Expect: 100-continue"}},
		{"/app/sum", fmt.Sprintf("%d bytes, length -1", len(a.file)), []string{"-T", file, "-H", "Transfer-Encoding: chunked"}},
		{"/app/sum", "X-Sum: " + sum, []string{"-T", file, "-D", "-"}},
		{"/app/refuse", "403", []string{"-T", file, "-o", "/dev/null", "-w", "%{http_code}"}},
		{"/app/refuse", "403", []string{"-T", file, "-H", "Expect: 100-continue", "-o", "/dev/null", "-w", "%{http_code}"}},
		{"/app/file", "23456789abcdef", []string{"-r", "2-15"}},
		{"/app/file", fmt.Sprintf("Content-Length: %d", len(a.file)), []string{"-I"}},
		{"/app/file", fmt.Sprint("200 ", len(a.file)), []string{"-o", "/dev/null", "-w", "%{http_code} %{size_download}"}},
		{"/app/file", "304 0", []string{"-H", `If-None-Match: "one"`, "-w", "%{http_code} %{size_download}"}},
		{"/app/hints", "HTTP/1.1 103", []string{"-D", "-"}},
		{"/app/small", "small", []string{"--http1.0"}},
	} {
		out, err := in.curl(t, c.path, c.args...)
		if err != nil || !strings.Contains(out, c.want) {
			t.Errorf("curl %q %s: %.300q, %v; want %q", c.args, c.path, out, err, c.want)
		}
	}
}

// wrk and h2load: nothing they ask for fails.
func TestLoadThroughProxy(t *testing.T) {
	t.Parallel()
	_, s := startGoApplication(t)
	in := serveDev(t, "--proxy", "/app="+s.URL, site(t))
	t.Run("wrk", func(t *testing.T) {
		for _, path := range []string{"/app/small", "/app/file"} {
			out, err := program(t, "", "wrk", "-t1", "-c8", "-d1s", "--timeout", "20s", in.url(path))
			if err != nil || !strings.Contains(out, "Requests/sec") || strings.Contains(out, "Socket errors") || strings.Contains(out, "Non-2xx") {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
		}
	})
	t.Run("h2load", func(t *testing.T) {
		out, err := program(t, "", "h2load", "--h1", "-n400", "-c8", in.url("/app/small"))
		if err != nil || !strings.Contains(out, "400 succeeded, 0 failed, 0 errored") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
