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

func TestLookups(t *testing.T) {
	files := map[string]string{
		"index.html": "root", "a/index.html": "a", "a/b.txt": "b", "c.html": "c", "d/x": "x",
		"e": "file", "e.html": "page", "f.html": "page", "f/index.html": "dir", "g%2fh": "odd", `i\j`: "backslash",
		".git/config": "secret", "a/.env": "secret", ".edge/scripts/a.o": "program", ".well-known/security.txt": "contact",
	}
	sites := map[bool]*Site{
		false: newSite(t, Options{}, files),
		true:  newSite(t, Options{HTMLFallback: true}, files),
	}
	for _, c := range []struct {
		path, body string // body "" and location "": 404; location: 301
		location   string
		html       bool // needs HTMLFallback
	}{
		{path: "/", body: "root"},
		{path: "/index.html", body: "root"},
		{path: "/?q", body: "root"},
		{path: "/a/", body: "a"},
		{path: "/a/index.html", body: "a"},
		{path: "/a", location: "/a/"},
		{path: "/a?x=1&y=%20", location: "/a/?x=1&y=%20"},
		{path: "/a/b.txt", body: "b"},
		{path: "/a/b.txt/"},
		{path: "/A/"},
		{path: "/d"},
		{path: "/d/"},
		{path: "/d/x", body: "x"},
		{path: "/c", body: "c", html: true},
		{path: "/c/"},
		{path: "/e", body: "file"},
		{path: "/f", location: "/f/"},
		{path: "/g%2fh"},
		{path: "/g%252fh", body: "odd"},
		{path: "/i%5cj", body: "backslash"},
		{path: "/i/j"},
		{path: "/%61/%62.txt", body: "b"},
		{path: "/a%2fb.txt", body: "b"},
		{path: "/x/../a/./b.txt", body: "b"},
		{path: "/../../a//b.txt", body: "b"},
		{path: "/.git/config"},
		{path: "/%2egit/config"},
		{path: "/a/.env"},
		{path: "/a/%2e%65nv"},
		{path: "/.edge/scripts/a.o"},
		{path: "/x/../.edge/scripts/a.o"},
		{path: "/.well-known/security.txt", body: "contact"},
		{path: "/" + strings.Repeat("a", 5000)},
		{path: "/" + strings.Repeat("%61", 5000)},
	} {
		for fallback, s := range sites {
			resp := ask(s, "GET "+c.path)
			want := 404
			switch {
			case c.location != "":
				want = 301
			case c.body != "" && (fallback || !c.html):
				want = 200
			}
			body := bodyOf(t, s, resp)
			if resp.Status != want || header(resp, "Location") != c.location || want == 200 && body != c.body {
				t.Errorf("%.60s: %d %q to %q, want %d %q to %q", c.path, resp.Status, body, header(resp, "Location"), want, c.body, c.location)
			}
		}
	}
}

func TestBadPath(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"index.html": "root"})
	for _, path := range []string{"/%", "/%zz", "/a%00.html", "*", "/%2"} {
		if resp := ask(s, "GET "+path); resp.Status != 400 {
			t.Errorf("%s: %d", path, resp.Status)
		}
	}
}

// A location must not lead to another host, nor end its field, whatever the
// client asks for and whatever names the archive has (P13).
func TestRedirectStaysHere(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{
		"evil.example/index.html": "x", `\evil.example/index.html`: "x", "a\r\nX: 1/index.html": "x",
		`q"<b>/index.html`: "x", "ü/index.html": "x", "a/evil.example/index.html": "x", "http:/index.html": "x",
	})
	for path, want := range map[string]string{
		"//evil.example":              "/evil.example/",
		"///evil.example":             "/evil.example/",
		"/%2f%2fevil.example":         "/evil.example/",
		"/a/..//evil.example":         "/evil.example/",
		`/\evil.example`:              "/%5Cevil.example/",
		"/%5cevil.example":            "/%5Cevil.example/",
		"/a%0d%0aX:%201":              "/a%0D%0AX:%201/",
		"/q%22%3Cb%3E":                "/q%22%3Cb%3E/",
		"/%C3%BC":                     "/%C3%BC/",
		"/http:":                      "/http:/",
		"/a/evil.example?//x\r\n\"\\": "/a/evil.example/?//x%0D%0A%22%5C",
	} {
		resp := ask(s, "GET "+path)
		if got := header(resp, "Location"); resp.Status != 301 || got != want {
			t.Errorf("%q: %d to %q, want %q", path, resp.Status, got, want)
		}
	}
}

func TestMethods(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.txt": "hello"})
	get, head := ask(s, "GET /a.txt"), ask(s, "HEAD /a.txt")
	if head.Status != 200 || !head.NoBody || head.ContentLength != 5 {
		t.Errorf("HEAD: %+v", head)
	}
	for i, f := range get.Header.Fields {
		if h := head.Header.Fields[i]; string(h.Name) != string(f.Name) || string(h.Value) != string(f.Value) {
			t.Errorf("HEAD has %s: %s", h.Name, h.Value)
		}
	}
	for _, line := range []string{"OPTIONS /a.txt", "OPTIONS *", "OPTIONS /none"} {
		if resp := ask(s, line); resp.Status != 204 || header(resp, "Allow") != "GET, HEAD, OPTIONS" || !resp.NoBody {
			t.Errorf("%s: %d, Allow %q", line, resp.Status, header(resp, "Allow"))
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "TRACE", "CONNECT", "get", "BREW", ""} {
		if resp := ask(s, method+" /a.txt"); resp.Status != 405 || header(resp, "Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: %d, Allow %q", method, resp.Status, header(resp, "Allow"))
		}
	}
}

func TestNotFound(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.txt": "hello"})
	resp := ask(s, "GET /none")
	if body := bodyOf(t, s, resp); resp.Status != 404 || !strings.Contains(body, "404") || header(resp, "Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %q", resp.Status, body)
	}
	s = newSite(t, Options{}, map[string]string{"404.html": "own page"})
	for _, fields := range [][]string{nil, {"If-None-Match: *"}, {"Range: bytes=0-1"}, {`If-Match: "x"`}} {
		resp = ask(s, "GET /none", fields...)
		if body := bodyOf(t, s, resp); resp.Status != 404 || body != "own page" || header(resp, "Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%q: %d %q", fields, resp.Status, body)
		}
		if header(resp, "ETag") != "" {
			t.Error("the page is not what was asked for: its tag must not be given")
		}
	}
	if resp = ask(s, "HEAD /none"); resp.Status != 404 || !resp.NoBody || resp.ContentLength != 8 {
		t.Errorf("HEAD: %d", resp.Status)
	}
	if resp = ask(s, "GET /404.html"); resp.Status != 200 || header(resp, "ETag") == "" {
		t.Errorf("the page itself: %d", resp.Status)
	}
}

func TestMediaTypes(t *testing.T) {
	for name, want := range map[string]string{
		"/174.html": "text/html; charset=utf-8", "/100k.bin": "application/octet-stream", "/A.HTML": "text/html; charset=utf-8",
		"/a.js": "text/javascript; charset=utf-8", "/a.svg": "image/svg+xml", "/a.tar.gz": "application/gzip", "/a.woff2": "font/woff2",
		"/README": "application/octet-stream", "/a.": "application/octet-stream", "/a.html/b": "application/octet-stream",
		"/a.averylongextensionindeed": "application/octet-stream", "/a.xyz": "application/octet-stream", "/a.wasm": "application/wasm",
	} {
		if got := string(mediaTypes[mediaOf([]byte(name))]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	seen := map[string]bool{}
	for _, row := range mediaTable {
		for extension := range strings.FieldsSeq(row.extensions) {
			if seen[extension] {
				t.Errorf("%s has two types", extension)
			}
			seen[extension] = true
		}
	}
}
