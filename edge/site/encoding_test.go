package site

import "testing"

func TestPrecompressed(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{
		"a.css": "plain-plain-plain", "a.css.br": "br", "a.css.zst": "zstd", "a.css.gz": "gzip.",
		"b.js": "plain", "b.js.gz": "gz",
		"c.txt":           "plain",
		"d/index.html":    "plain",
		"d/index.html.br": "br",
		"e.txt.gz":        "alone",
		".hidden.txt.gz":  "x",
	})
	for _, c := range []struct{ path, accept, coding string }{
		{"/a.css", "gzip, deflate, br, zstd", "br"},
		{"/a.css", "gzip, deflate, zstd", "zstd"},
		{"/a.css", "gzip, deflate", "gzip"},
		{"/a.css", "GZIP", "gzip"},
		{"/a.css", "x-gzip", "gzip"},
		{"/a.css", "", ""},
		{"/a.css", "identity", ""},
		{"/a.css", "deflate", ""},
		{"/a.css", "*", "br"},
		{"/a.css", "*;q=0", ""},
		{"/a.css", "*, br;q=0", "zstd"},
		{"/a.css", "br;q=0.5, gzip;q=0.8", "gzip"},
		{"/a.css", "br;q=0, gzip;q=0.001", "gzip"},
		{"/a.css", "br;q=0.000", ""},
		{"/a.css", "br;q=0.5, identity;q=0.8", ""},
		{"/a.css", "br;q=0.5, identity;q=0.5", "br"},
		{"/a.css", "identity;q=0, gzip;q=0.1", "gzip"},
		{"/a.css", "identity;q=0", ""}, // 12.5.3: rather that than nothing
		{"/a.css", "br;q=1.1, gzip", "gzip"},
		{"/a.css", "br;q=, gzip", "gzip"},
		{"/a.css", "br;q=0.1234, gzip", "gzip"},
		{"/a.css", "br;x=1, gzip", "gzip"},
		{"/a.css", "br ; Q=1.000", "br"},
		{"/b.js", "br, zstd", ""},
		{"/b.js", "br, zstd, gzip", "gzip"},
		{"/c.txt", "gzip", ""},
		{"/d/", "br", "br"},
		{"/e.txt.gz", "gzip", ""},
	} {
		resp := ask(s, "GET "+c.path, "Accept-Encoding: "+c.accept)
		if got := header(resp, "Content-Encoding"); resp.Status != 200 || got != c.coding {
			t.Errorf("%s %q: %d %q, want %q", c.path, c.accept, resp.Status, got, c.coding)
		}
		bodyOf(t, s, resp)
	}
}

func TestVary(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.css": "plain", "a.css.gz": "gz", "b.css": "x", "404.html": "none", "404.html.gz": "gz"})
	tag := header(ask(s, "GET /a.css", "Accept-Encoding: gzip"), "ETag")
	for _, c := range []struct {
		line, field, vary string
		status            int
	}{
		{"GET /a.css", "X: y", "Accept-Encoding", 200},
		{"GET /a.css", "Range: bytes=0-0", "Accept-Encoding", 206},
		{"GET /a.css", "Range: bytes=0-0,2-2", "Accept-Encoding", 206},
		{"GET /a.css", "If-None-Match: *", "Accept-Encoding", 304},
		{"GET /a.css", "If-None-Match: " + tag, "Accept-Encoding", 200}, // that of another coding
		{"GET /none", "X: y", "Accept-Encoding", 404},
		{"GET /b.css", "X: y", "", 200},
	} {
		resp := ask(s, c.line, c.field)
		if got := header(resp, "Vary"); got != c.vary || resp.Status != c.status {
			t.Errorf("%s, %s: %d, Vary %q", c.line, c.field, resp.Status, got)
		}
	}
	// The sibling is the file's content in another form, not a file of its type.
	resp := ask(s, "GET /a.css", "Accept-Encoding: gzip")
	if got := header(resp, "Content-Type"); got != "text/css; charset=utf-8" {
		t.Errorf("Content-Type of the sibling: %q", got)
	}
	if tag == header(ask(s, "GET /a.css"), "ETag") {
		t.Error("two representations have one tag")
	}
	resp = ask(s, "GET /a.css", "Accept-Encoding: gzip", "Range: bytes=1-1")
	if got := bodyOf(t, s, resp); got != "z" || header(resp, "Content-Encoding") != "gzip" {
		t.Errorf("a range of the sibling: %q", got)
	}
	if resp = ask(s, "GET /none", "Accept-Encoding: gzip"); bodyOf(t, s, resp) != "gz" || resp.Status != 404 {
		t.Error("404.html has no sibling")
	}
}
