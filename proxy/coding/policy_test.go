package coding

import (
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

// header reads "Name: value" lines.
func header(lines ...string) (h httpmsg.Header) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

// lines is the opposite of header.
func lines(h *httpmsg.Header) string {
	var all []string
	for _, f := range h.Fields {
		all = append(all, string(f.Name)+": "+string(f.Value))
	}
	return strings.Join(all, "\n")
}

func newPolicy(t testing.TB) *Policy {
	t.Helper()
	p, err := NewPolicy([]string{"zstd", "br", "gzip"}, []string{"text/*", "+json", "application/json"}, 100)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestJudgesAnswers(t *testing.T) {
	const html = "Content-Type: text/html; charset=utf-8"
	p := newPolicy(t)
	for _, c := range []struct {
		name   string
		status int
		length int64
		fields []string
		want   Verdict
	}{
		{"text", 200, 100, []string{html}, Code},
		{"text of unknown length", 200, -1, []string{html}, Code},
		{"an error page", 404, 1000, []string{html}, Code},
		{"short", 200, 99, []string{html}, Leave},
		{"empty", 200, 0, []string{html}, Leave},
		{"JSON", 201, 1000, []string{"content-type: application/problem+json"}, Code},
		{"events", 200, -1, []string{"Content-Type: text/event-stream"}, Code},
		{"an image", 200, 1000, []string{"Content-Type: image/png"}, Leave},
		{"of no type", 200, 1000, nil, Leave},
		{"of two types", 200, 1000, []string{html, html}, Leave},
		{"coded", 200, 1000, []string{html, "Content-Encoding: gzip"}, Leave},
		{"coded, unknown to us", 200, 1000, []string{html, "Content-Encoding: x"}, Leave},
		{"identity, said aloud", 200, 1000, []string{html, "Content-Encoding: Identity"}, Code},
		{"no-transform", 200, 1000, []string{html, "Cache-Control: public, No-Transform"}, Leave},
		{"other cache control", 200, 1000, []string{html, "Cache-Control: public, max-age=5"}, Code},
		{"Content-MD5", 200, 1000, []string{html, "Content-MD5: Q2hlY2sgSW50ZWdyaXR5IQ=="}, Leave},
		{"Digest", 200, 1000, []string{html, "Digest: sha-256=x"}, Leave},
		{"Content-Digest", 200, 1000, []string{html, "Content-Digest: sha-256=:x:"}, Leave},
		{"Repr-Digest", 200, 1000, []string{html, "Repr-Digest: sha-256=:x:"}, Leave},
		{"a part", 206, 10, []string{html, "Content-Range: bytes 0-9/1000"}, Vary},
		{"parts", 206, 100, []string{"Content-Type: multipart/byteranges; boundary=x"}, Leave},
		{"Content-Range without 206", 200, 1000, []string{html, "Content-Range: bytes 0-9/1000"}, Vary},
		{"no such range", 416, 100, []string{html}, Leave},
		{"no content", 204, -1, []string{html}, Leave},
		{"reset content", 205, -1, []string{html}, Leave},
		{"not modified", 304, -1, []string{html}, Leave},
		{"another protocol", 101, -1, []string{html}, Leave},
	} {
		req := httpmsg.Request{Major: 1, Minor: 1, Header: header("Accept-Encoding: gzip")}
		resp := httpmsg.Response{Status: c.status, ContentLength: c.length, Header: header(c.fields...)}
		got, coding := p.Judge(&req, &resp)
		if got != c.want || got == Code && coding != httpmsg.Gzip {
			t.Errorf("%s: verdict %d with %v, want %d", c.name, got, coding, c.want)
		}
	}
}

func TestJudgesClients(t *testing.T) {
	p := newPolicy(t)
	for _, c := range []struct {
		minor  uint8
		fields []string
		want   Verdict
		coding httpmsg.Coding
	}{
		{1, nil, Vary, 0},
		{1, []string{"Accept-Encoding: "}, Vary, 0},
		{1, []string{"Accept-Encoding: identity"}, Vary, 0},
		{1, []string{"Accept-Encoding: deflate"}, Vary, 0},
		{1, []string{"Accept-Encoding: gzip, deflate, br, zstd"}, Code, httpmsg.Zstd},
		{1, []string{"Accept-Encoding: gzip, deflate, br"}, Code, httpmsg.Brotli},
		{1, []string{"Accept-Encoding: gzip", "Accept-Encoding: br"}, Code, httpmsg.Brotli},
		{1, []string{"Accept-Encoding: zstd;q=0.2, br;q=0.8, gzip"}, Code, httpmsg.Gzip},
		{1, []string{"Accept-Encoding: *"}, Code, httpmsg.Zstd},
		{1, []string{"Accept-Encoding: *, zstd;q=0"}, Code, httpmsg.Brotli},
		{1, []string{"Accept-Encoding: *;q=0"}, Vary, 0},
		{1, []string{"Accept-Encoding: identity;q=0"}, Vary, 0}, // RFC 9110, 12.5.3: rather that than nothing
		{1, []string{"Accept-Encoding: identity;q=0, gzip;q=0.1"}, Code, httpmsg.Gzip},
		{1, []string{"Accept-Encoding: gzip;q=0.5, identity"}, Vary, 0},
		{1, []string{"Accept-Encoding: gzip;q=0.5, identity;q=0.5"}, Code, httpmsg.Gzip},
		{1, []string{"Accept-Encoding: gzip;q=0"}, Vary, 0},
		{1, []string{"Accept-Encoding: gzip", "Cache-Control: no-transform"}, Vary, 0},
		{1, []string{"Accept-Encoding: gzip", "Cache-Control: no-cache"}, Code, httpmsg.Gzip},
		{0, []string{"Accept-Encoding: gzip"}, Vary, 0},
	} {
		req := httpmsg.Request{Major: 1, Minor: c.minor, Header: header(c.fields...)}
		resp := httpmsg.Response{Status: 200, ContentLength: -1, Header: header("Content-Type: text/css")}
		if got, coding := p.Judge(&req, &resp); got != c.want || coding != c.coding {
			t.Errorf("HTTP/1.%d %q: verdict %d with %v", c.minor, c.fields, got, coding)
		}
		req.Major, req.Minor = 2, 0
		if got, _ := p.Judge(&req, &resp); c.minor == 0 && got != Code {
			t.Error("HTTP/2 is taken for HTTP/1.0")
		}
	}
}

func TestPolicyRefuses(t *testing.T) {
	for _, c := range []struct{ codings, types []string }{
		{nil, []string{"text/*"}},
		{[]string{"deflate"}, nil},
		{[]string{"GZIP"}, nil},
		{[]string{"gzip", "br", "gzip"}, nil},
		{[]string{"gzip"}, []string{"text"}},
		{[]string{"gzip"}, []string{"*/*"}},
		{[]string{"gzip"}, []string{"*/html"}},
		{[]string{"gzip"}, []string{"text/ht*"}},
		{[]string{"gzip"}, []string{"text/html; charset=x"}},
		{[]string{"gzip"}, []string{"+"}},
		{[]string{"gzip"}, []string{""}},
		{[]string{"gzip"}, []string{"a/b/c"}},
	} {
		if _, err := NewPolicy(c.codings, c.types, 0); err == nil {
			t.Errorf("%q, %q: no error", c.codings, c.types)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	types, err := parseTypes([]string{"text/*", "+json", "Application/JSON", " font/ttf"})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{
		"text/html":                        true,
		"TEXT/HTML;charset=utf-8":          true,
		"text/x ; charset=utf-8":           true,
		"application/json":                 true,
		"application/ld+JSON; x":           true,
		"font/ttf":                         true,
		"application/jsonx":                false,
		"application/json+x":               false,
		"text/":                            false,
		"textual/html":                     false,
		"+json":                            false,
		"":                                 false,
		"image/png":                        false,
		strings.Repeat("x", 128):           false,
		"text/" + strings.Repeat("x", 122): true,
		"text/" + strings.Repeat("x", 123): false,
	} {
		if got := types.has([]byte(value)); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

// FuzzJudge: whatever the fields say, they stay well formed, and the second look
// finds what the first one left.
func FuzzJudge(f *testing.F) {
	f.Add("gzip", "text/html", "Accept, *", `"a"`, `W/"a", "b"`)
	f.Add("*;q=0.1,identity;q=0", "a/b+json", "accept-encoding", `W/"a"`, `W/"`)
	p := newPolicy(f)
	f.Fuzz(func(t *testing.T, accept, mediaType, vary, etag, match string) {
		for _, s := range []string{accept, mediaType, vary, etag, match} {
			if !httpmsg.IsValue([]byte(s)) {
				return
			}
		}
		req := httpmsg.Request{Major: 1, Minor: 1, Header: header("Accept-Encoding: "+accept, "If-Match: "+match, "If-None-Match: "+match)}
		resp := httpmsg.Response{Status: 200, ContentLength: -1, Header: header("Content-Type: "+mediaType, "Vary: "+vary, "ETag: "+etag)}
		verdict, c := p.Judge(&req, &resp)
		if verdict == Leave {
			return
		}
		AddVary(&resp.Header)
		if got := resp.Header.Get("vary"); !listHas(got, "*") && !listHas(got, "accept-encoding") {
			t.Fatalf("Vary is %q", got)
		}
		if verdict == Code {
			Announce(&resp.Header, c)
			if got, _ := p.Judge(&req, &resp); got != Leave {
				t.Fatal("it would be coded twice")
			}
			if tag := resp.Header.Get("etag"); tag != nil && !strings.HasPrefix(string(tag), "W/") {
				t.Fatalf("the entity tag is %q", tag)
			}
		}
		RestoreIfMatch(&req.Header)
		resp.Status = 304
		Revalidate(&req, &resp)
		for _, h := range []*httpmsg.Header{&req.Header, &resp.Header} {
			for i := range h.Fields {
				if !httpmsg.IsValue(h.Fields[i].Value) {
					t.Fatalf("%q is no value", h.Fields[i].Value)
				}
			}
		}
	})
}
