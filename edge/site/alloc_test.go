package site

import (
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

// browser is what a browser sends along.
var browser = []string{
	"Host: example.com", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "Accept: text/html,*/*;q=0.8",
	"Accept-Language: en", "Accept-Encoding: gzip, deflate, br, zstd", "Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate",
	"Sec-Fetch-Site: none", "Upgrade-Insecure-Requests: 1", "Priority: u=0, i", "Cookie: a=b; c=d",
}

var allocationCases = []struct {
	why, line string
	fields    []string
	status    int
}{
	{"a file", "GET /a.txt", nil, 200},
	{"HEAD", "HEAD /a.txt", nil, 200},
	{"an index", "GET /d/", nil, 200},
	{"a compressed sibling", "GET /b.css", nil, 200},
	{"a path to clean", "GET /d/../%61.txt", nil, 200},
	{"not modified", "GET /a.txt", []string{"If-None-Match: *"}, 304},
	{"a range", "GET /a.txt", []string{"Range: bytes=1-2"}, 206},
	{"nothing", "GET /none", nil, 404},
	{"a method", "POST /a.txt", nil, 405},
	{"a bad path", "GET /%", nil, 400},
}

func TestNoAllocation(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.txt": "hello", "d/index.html": "d", "b.css": "plain", "b.css.br": "br"})
	for _, kept := range []bool{false, true} {
		for _, c := range allocationCases {
			req := request(c.line, append(c.fields, browser...)...)
			var resp httpmsg.Response
			s.Serve(req, &resp) // its slices grow
			if resp.Status != c.status {
				t.Fatalf("%s: %d, want %d", c.why, resp.Status, c.status)
			}
			if n := testing.AllocsPerRun(100, func() { s.Serve(req, &resp) }); n != 0 {
				t.Errorf("%s (in memory: %v): %v allocations", c.why, kept, n)
			}
		}
		if i, _ := s.index.findFile([]byte("/a.txt")); !kept {
			s.Keep(i, []byte("hello"))
		}
	}
}

func BenchmarkServe(b *testing.B) {
	s := newSite(b, Options{}, map[string]string{"174.html": strings.Repeat("x", 174), "d/index.html": "d", "b.css": "plain", "b.css.br": "br"})
	for _, c := range []struct{ name, line string }{
		{"file", "GET /174.html"}, {"sibling", "GET /b.css"}, {"unclean", "GET /d/../174.html"},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := request(c.line, browser...)
			var resp httpmsg.Response
			b.ReportAllocs()
			for b.Loop() {
				s.Serve(req, &resp)
			}
		})
	}
}
