// Requests against a small site.

package site

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/proxy/httpmsg"
)

// newSite packs files (name → content) and opens the archive.
func newSite(t testing.TB, opts Options, files map[string]string) *Site {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, name), content)
	}
	s, err := OpenDir(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var testTime = time.Date(2024, 2, 29, 12, 30, 45, 0, time.UTC)

const testDate = "Thu, 29 Feb 2024 12:30:45 GMT"

func writeFile(t testing.TB, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, testTime, testTime); err != nil {
		t.Fatal(err)
	}
}

// request makes a request from a line `GET /path?query` and fields `Name: value`.
func request(line string, fields ...string) *httpmsg.Request {
	method, target, _ := strings.Cut(line, " ")
	path, query, asked := strings.Cut(target, "?")
	req := &httpmsg.Request{Method: []byte(method), Target: []byte(target), Path: []byte(path), Major: 1, Minor: 1}
	if asked {
		req.Query = []byte(query)
	}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Append([]byte(name), []byte(value))
	}
	return req
}

// ask serves one request.
func ask(s *Site, line string, fields ...string) *httpmsg.Response {
	var resp httpmsg.Response
	s.Serve(request(line, fields...), &resp)
	return &resp
}

// bodyOf reads the body the way a sender would, and checks that its length is
// the one announced.
func bodyOf(t testing.TB, s *Site, resp *httpmsg.Response) string {
	t.Helper()
	if resp.NoBody {
		return ""
	}
	var b bytes.Buffer
	read := func(off, n int64) {
		p := make([]byte, n)
		if _, err := s.file.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
		b.Write(p)
	}
	switch {
	case len(resp.Parts) > 0:
		for _, part := range resp.Parts {
			if part.Bytes != nil {
				b.Write(part.Bytes)
			} else {
				read(part.Off, part.Length)
			}
		}
	case resp.Bytes != nil:
		b.Write(resp.Bytes)
	case resp.File >= 0:
		read(resp.Off, resp.ContentLength)
	}
	if int64(b.Len()) != resp.ContentLength {
		t.Errorf("the body has %d bytes, announced were %d", b.Len(), resp.ContentLength)
	}
	return b.String()
}

func header(resp *httpmsg.Response, name string) string { return string(resp.Header.Get(name)) }

func TestPlainFile(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.txt": "hello"})
	resp := ask(s, "GET /a.txt")
	if resp.Status != 200 || bodyOf(t, s, resp) != "hello" {
		t.Fatalf("status %d", resp.Status)
	}
	for name, want := range map[string]string{
		"Content-Type":  "text/plain; charset=utf-8",
		"Last-Modified": testDate,
		"Accept-Ranges": "bytes",
		// The first 128 bits of the SHA-256 of "hello".
		"ETag":             `"LPJNul-wow4m6Dsqxbning"`,
		"Vary":             "",
		"Content-Encoding": "",
	} {
		if got := header(resp, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
