package coding

import (
	"testing"

	"edge/proxy/httpmsg"
)

func TestAddVary(t *testing.T) {
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, "Vary: Accept-Encoding"},
		{[]string{"Vary: "}, "Vary: Accept-Encoding"},
		{[]string{"vary: *"}, "vary: *"},
		{[]string{"Vary: Origin, *"}, "Vary: Origin, *"},
		{[]string{"Vary: accept-encoding"}, "Vary: accept-encoding"},
		{[]string{"Vary: Origin, Accept-Encoding , X"}, "Vary: Origin, Accept-Encoding , X"},
		{[]string{"Vary: Origin"}, "Vary: Origin, Accept-Encoding"},
		{[]string{"Vary: Origin", "X: 1", "VARY: Accept"}, "X: 1\nVary: Origin, Accept, Accept-Encoding"},
		{[]string{"Vary: Accept-Encodings"}, "Vary: Accept-Encodings, Accept-Encoding"},
	} {
		h := header(c.fields...)
		AddVary(&h)
		if got := lines(&h); got != c.want {
			t.Errorf("%q becomes %q", c.fields, got)
		}
		AddVary(&h)
		if got := lines(&h); got != c.want {
			t.Errorf("%q becomes %q the second time", c.fields, got)
		}
	}
}

func TestAnnounce(t *testing.T) {
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{nil, "Content-Encoding: br"},
		{[]string{"Accept-Ranges: bytes", "content-encoding: identity"}, "Content-Encoding: br"},
		{[]string{`ETag: "a"`}, "ETag: W/\"a\"\nContent-Encoding: br"},
		{[]string{`etag: ""`}, "ETag: W/\"\"\nContent-Encoding: br"},
		{[]string{`ETag: W/"a"`}, "ETag: W/\"a\"\nContent-Encoding: br"},
		{[]string{"ETag: abc"}, "Content-Encoding: br"},
		{[]string{`ETag: "`}, "Content-Encoding: br"},
		{[]string{"Last-Modified: x"}, "Last-Modified: x\nContent-Encoding: br"},
	} {
		h := header(c.fields...)
		Announce(&h, httpmsg.Brotli)
		if got := lines(&h); got != c.want {
			t.Errorf("%q becomes %q", c.fields, got)
		}
	}
}

func TestRevalidate(t *testing.T) {
	const weakened = "ETag: W/\"a\"\nVary: Accept-Encoding"
	for _, c := range []struct {
		status     int
		match, tag string
		want       string
	}{
		{304, `W/"a"`, `"a"`, weakened},
		{304, `"b", W/"a"`, `"a"`, weakened},
		{304, `"a", W/"b"`, `"a"`, `ETag: "a"`}, // the client has it as it is
		{304, `"xW/"a"`, `"a"`, `ETag: "a"`},
		{304, `*`, `"a"`, `ETag: "a"`},
		{304, `W/"a"`, `W/"a"`, `ETag: W/"a"`},
		{200, `W/"a"`, `"a"`, `ETag: "a"`},
	} {
		req := httpmsg.Request{Header: header("If-None-Match: " + c.match)}
		resp := httpmsg.Response{Status: c.status, Header: header("ETag: " + c.tag)}
		Revalidate(&req, &resp)
		if got := lines(&resp.Header); got != c.want {
			t.Errorf("%d, %s, %s: %q", c.status, c.match, c.tag, got)
		}
	}
}

func TestRestoreIfMatch(t *testing.T) {
	for value, want := range map[string]string{
		`"a"`:             `"a"`,
		`*`:               `*`,
		`W/"a"`:           `W/"a", "a"`,
		`W/"a","b", W/""`: `W/"a","b", W/"", "a", ""`,
		`"xW/", "a"`:      `"xW/", "a"`,
		`W/"a`:            `W/"a`,
		`W/"a" junk`:      `W/"a" junk, "a"`,
	} {
		h := header("X: 1", "If-Match: "+value)
		RestoreIfMatch(&h)
		if got := string(h.Get("if-match")); got != want {
			t.Errorf("%s becomes %s", value, got)
		}
	}
}

func TestDropDigests(t *testing.T) {
	h := header("Repr-Digest: sha-256=:x:", "X-Sum: 1", "content-digest: y", "Digest: z", "Content-MD5: q")
	DropDigests(&h)
	if got := lines(&h); got != "X-Sum: 1" {
		t.Errorf("left is %q", got)
	}
}

// Fields are edited without taking memory, once a header has its own.
func TestFieldsAllocateNothing(t *testing.T) {
	var h httpmsg.Header
	p := newPolicy(t)
	req := httpmsg.Request{Major: 1, Minor: 1, Header: header("Accept-Encoding: gzip, br")}
	resp := httpmsg.Response{Status: 200, ContentLength: -1}
	if n := testing.AllocsPerRun(100, func() {
		h.Reset()
		h.Add("Content-Type", "text/html; charset=utf-8")
		h.Add("Vary", "Origin")
		h.Add("ETag", `"abc"`)
		resp.Header = h
		if verdict, c := p.Judge(&req, &resp); verdict != Code || c != httpmsg.Brotli {
			t.Fatal("it is not coded")
		}
		AddVary(&resp.Header)
		Announce(&resp.Header, httpmsg.Brotli)
		h = resp.Header
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
