package site

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"
)

// thousand is a file of 1000 bytes, no two stretches of it alike.
var thousand = func() string {
	var b strings.Builder
	for i := range 250 {
		fmt.Fprintf(&b, "%03x.", i)
	}
	return b.String()
}()

// Field case H09: forms of Range.
func TestRangeForms(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"f.txt": thousand, "empty": ""})
	for _, c := range []struct {
		value    string
		status   int
		from, to int // of 206
	}{
		{"bytes=0-", 206, 0, 1000},
		{"bytes=0-999", 206, 0, 1000},
		{"bytes=0-1000", 206, 0, 1000},
		{"bytes=-1", 206, 999, 1000},
		{"bytes=-0", 416, 0, 0},
		{"bytes=-2000", 206, 0, 1000},
		{"bytes=999-", 206, 999, 1000},
		{"bytes=1000-", 416, 0, 0},
		{"bytes=1000-2000", 416, 0, 0},
		{"bytes=500-100", 200, 0, 0},
		{"bytes=abc-def", 200, 0, 0},
		{"bytes=,0-1,", 206, 0, 2},
		{"bytes=, 0-1 ,\t", 206, 0, 2},
		{"bytes= 0-1", 200, 0, 0},
		{" 0-1", 200, 0, 0},
		{"0-1", 200, 0, 0},
		{"bytes = 0-1", 200, 0, 0},
		{"bytes=", 200, 0, 0},
		{"bytes=,", 200, 0, 0},
		{"bytes=-", 200, 0, 0},
		{"bytes=0", 200, 0, 0},
		{"bytes=0-1-2", 200, 0, 0},
		{"bytes=+0-1", 200, 0, 0},
		{"bytes=0 - 1", 200, 0, 0},
		{"bytes=--1", 200, 0, 0},
		{"bytes=0-1;2-3", 200, 0, 0},
		{"Bytes=0-1", 206, 0, 2},
		{"lines=0-1", 200, 0, 0},
		{"bytes=0-18446744073709551616", 206, 0, 1000},
		{"bytes=18446744073709551616-", 416, 0, 0},
		{"bytes=-18446744073709551616", 206, 0, 1000},
		{"bytes=9223372036854775807-9223372036854775807", 416, 0, 0},
		{"bytes=0-0,5000-", 206, 0, 1}, // one can be satisfied
		{"bytes=2000-,5000-", 416, 0, 0},
		{"bytes=0-0,x-1", 200, 0, 0},  // one malformed spoils all
		{"bytes=0-,0-0", 200, 0, 0},   // more than the file
		{"bytes=-1000,-1", 200, 0, 0}, // likewise
	} {
		resp := ask(s, "GET /f.txt", "Range: "+c.value)
		want, contentRange := "", ""
		switch c.status {
		case 200:
			want = thousand
		case 206:
			want, contentRange = thousand[c.from:c.to], fmt.Sprintf("bytes %d-%d/1000", c.from, c.to-1)
		case 416:
			contentRange = "bytes */1000"
		}
		if got := bodyOf(t, s, resp); resp.Status != c.status || got != want {
			t.Errorf("%q: %d with %d bytes, want %d with %d", c.value, resp.Status, len(got), c.status, len(want))
		}
		if got := header(resp, "Content-Range"); got != contentRange {
			t.Errorf("%q: Content-Range %q, want %q", c.value, got, contentRange)
		}
		if resp.Status == 206 && resp.Entry != -1 {
			t.Errorf("%q: a part is offered as the whole", c.value)
		}
	}
}

func TestRangeOfEmptyFile(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"empty": ""})
	for value, status := range map[string]int{
		"bytes=-5": 416, "bytes=0-": 416, "bytes=0-0": 416, "bytes=-0": 416, "bytes=x": 200,
	} {
		resp := ask(s, "GET /empty", "Range: "+value)
		if bodyOf(t, s, resp); resp.Status != status {
			t.Errorf("%q: %d, want %d", value, resp.Status, status)
		}
		if got := header(resp, "Content-Range"); status == 416 && got != "bytes */0" {
			t.Errorf("%q: Content-Range %q", value, got)
		}
	}
}

func TestRangeOnlyForGET(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"f.txt": thousand})
	if resp := ask(s, "HEAD /f.txt", "Range: bytes=0-1"); resp.Status != 200 || resp.ContentLength != 1000 || !resp.NoBody {
		t.Errorf("HEAD: %d, %d bytes", resp.Status, resp.ContentLength)
	}
	if resp := ask(s, "POST /f.txt", "Range: bytes=0-1"); resp.Status != 405 {
		t.Errorf("POST: %d", resp.Status)
	}
	if resp := ask(s, "GET /none", "Range: bytes=0-1"); resp.Status != 404 {
		t.Errorf("404: %d", resp.Status)
	}
	if resp := ask(s, "GET /f.txt", "Range: bytes=0-1", "Range: bytes=2-3"); resp.Status != 200 {
		t.Errorf("two fields: %d", resp.Status)
	}
}

func TestSeveralRanges(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"f.txt": thousand})
	for _, kept := range []bool{false, true} {
		if kept {
			i, _ := s.index.findFile([]byte("/f.txt"))
			s.Keep(i, []byte(thousand))
		}
		resp := ask(s, "GET /f.txt", "Range: bytes=0-0, 10-19,-1")
		if resp.Status != 206 || header(resp, "Content-Range") != "" {
			t.Fatalf("%d, Content-Range %q", resp.Status, header(resp, "Content-Range"))
		}
		checkParts(t, bodyOf(t, s, resp), header(resp, "Content-Type"), []string{
			"bytes 0-0/1000", thousand[:1],
			"bytes 10-19/1000", thousand[10:20],
			"bytes 999-999/1000", thousand[999:],
		})
	}
}

// checkParts reads a multipart body as clients do. want holds the range and the
// bytes of each part.
func checkParts(t *testing.T, body, contentType string, want []string) {
	t.Helper()
	media, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || media != "multipart/byteranges" {
		t.Fatalf("%q: %v", contentType, err)
	}
	r := multipart.NewReader(strings.NewReader(body), parameters["boundary"])
	for ; len(want) > 0; want = want[2:] {
		part, err := r.NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(part)
		if got := part.Header.Get("Content-Range"); got != want[0] || string(content) != want[1] {
			t.Errorf("%q with %q, want %q with %q", got, content, want[0], want[1])
		}
		if got := part.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("the type of a part is %q", got)
		}
	}
	if _, err := r.NextRawPart(); err != io.EOF {
		t.Errorf("after the last part: %v", err)
	}
}

func TestRangesMax(t *testing.T) {
	value := "bytes=0-0" + strings.Repeat(",2-2", 15)
	for _, c := range []struct{ limit, status int }{{0, 206}, {16, 206}, {15, 200}, {1, 200}, {1000, 206}} {
		s := newSite(t, Options{RangesMax: c.limit}, map[string]string{"f.txt": thousand})
		if resp := ask(s, "GET /f.txt", "Range: "+value); resp.Status != c.status {
			t.Errorf("limit %d: %d, want %d", c.limit, resp.Status, c.status)
		}
	}
	s := newSite(t, Options{RangesMax: 1000}, map[string]string{"f.txt": thousand})
	if resp := ask(s, "GET /f.txt", "Range: bytes=0-0"+strings.Repeat(",2-2", rangesMax)); resp.Status != 200 {
		t.Errorf("more than can be had: %d", resp.Status)
	}
}

func FuzzRanges(f *testing.F) {
	for _, seed := range []string{"bytes=0-", "bytes=-1", "bytes=0-0,-1", "bytes=,0-1,", "bytes=99999999999999999999-", "bytes=5-2"} {
		f.Add([]byte(seed), int64(1000), 16)
	}
	f.Fuzz(func(t *testing.T, value []byte, size int64, limit int) {
		size, limit = max(size, 0), max(1, min(limit, rangesMax))
		var spans [rangesMax]span
		n, result := parseRanges(value, size, &spans, limit)
		if n > limit || (n > 0) != (result == rangesSatisfied) {
			t.Fatalf("%d spans, result %d", n, result)
		}
		total := int64(0)
		for _, s := range spans[:n] {
			if s.from < 0 || s.from >= s.to || s.to > size {
				t.Fatalf("%d-%d of %d", s.from, s.to, size)
			}
			total += s.length()
		}
		if total > size {
			t.Fatalf("%d bytes of %d", total, size)
		}
	})
}
