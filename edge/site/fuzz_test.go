package site

import (
	"bytes"
	"testing"

	"edge/proxy/httpmsg"
)

// Whatever is asked, the answer holds together: its length is that of its body,
// its fields are clean, and nothing hidden is in it.
func FuzzServe(f *testing.F) {
	for _, seed := range []struct{ path, query, name, value string }{
		{"/", "", "Range", "bytes=0-0,-1"},
		{"/a", "x=1", "If-None-Match", "*"},
		{"/a.css", "", "Accept-Encoding", "br;q=0.5, gzip"},
		{"/.git/config", "", "If-Range", `"x"`},
		{"/%2e%2e/a", "", "If-Modified-Since", testDate},
		{"/none", "", "If-Match", `W/"x"`},
	} {
		f.Add([]byte(seed.path), []byte(seed.query), []byte(seed.name), []byte(seed.value))
	}
	s := newSite(f, Options{HTMLFallback: true}, map[string]string{
		"index.html": "root", "a/index.html": "directory", "a.css": "plain", "a.css.br": "br", "a.css.gz": "gzip",
		"page.html": "page", "404.html": "own page", ".git/config": "secret", "a/.env": "secret", "empty": "",
	})
	var resp httpmsg.Response
	f.Fuzz(func(t *testing.T, path, query, name, value []byte) {
		req := request("GET /")
		req.Path, req.Query = path, query
		req.Header.Append([]byte("Range"), []byte("bytes=1-1,0-0"))
		req.Header.Append(name, value)
		s.Serve(req, &resp)
		switch resp.Status {
		case 200, 206, 301, 304, 400, 404, 412, 416:
		default:
			t.Fatalf("status %d", resp.Status)
		}
		for _, f := range resp.Header.Fields {
			if bytes.ContainsAny(f.Value, "\r\n\x00") || len(f.Value) == 0 {
				t.Fatalf("%s: %q", f.Name, f.Value)
			}
		}
		if location := resp.Header.Get("Location"); resp.Status == 301 && (location[0] != '/' || location[1] == '/' || location[1] == '\\') {
			t.Fatalf("Location: %q", location)
		}
		if body := bodyOf(t, s, &resp); bytes.Contains([]byte(body), []byte("secret")) {
			t.Fatalf("%q gives %q", path, body)
		}
	})
}
