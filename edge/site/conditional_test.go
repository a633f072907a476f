package site

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestConditions(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.txt": "hello"})
	etag := header(ask(s, "GET /a.txt"), "ETag")
	const before, after = "Wed, 28 Feb 2024 12:30:45 GMT", "Fri, 01 Mar 2024 12:30:45 GMT"
	for _, c := range []struct {
		why    string
		status int
		fields []string
	}{
		{"the tag", 304, []string{"If-None-Match: " + etag}},
		{"the tag in a list", 304, []string{`If-None-Match: "x", ` + etag}},
		{"a tag with a comma", 304, []string{`If-None-Match: "x,y" ,,W/"z",` + etag}},
		{"the weak tag", 304, []string{"If-None-Match: W/" + etag}},
		{"in the second field", 304, []string{`If-None-Match: "x"`, "If-None-Match: " + etag}},
		{"the star", 304, []string{"If-None-Match: *"}},
		{"another tag", 200, []string{`If-None-Match: "x"`}},
		{"the tag without quotes", 200, []string{"If-None-Match: " + etag[1:len(etag)-1]}},
		{"an open quote", 200, []string{"If-None-Match: " + etag[:len(etag)-1]}},
		{"no comma between", 200, []string{`If-None-Match: "x" ` + etag}},
		{"an empty field", 200, []string{"If-None-Match: "}},
		{"lower case", 304, []string{"if-none-match: " + etag}},

		{"the very date", 304, []string{"If-Modified-Since: " + testDate}},
		{"a later date", 304, []string{"If-Modified-Since: " + after}},
		{"an earlier date", 200, []string{"If-Modified-Since: " + before}},
		{"RFC 850", 304, []string{"If-Modified-Since: Thursday, 29-Feb-24 12:30:45 GMT"}},
		{"asctime", 304, []string{"If-Modified-Since: Thu Feb 29 12:30:45 2024"}},
		{"asctime, earlier", 200, []string{"If-Modified-Since: Thu Feb  1 12:30:45 2024"}},
		{"no date", 200, []string{"If-Modified-Since: tomorrow"}},
		{"a date of no month", 200, []string{"If-Modified-Since: Thu, 31 Feb 2024 12:30:45 GMT"}},
		{"two dates", 200, []string{"If-Modified-Since: " + after, "If-Modified-Since: " + after}},
		{"the tag goes before the date", 200, []string{`If-None-Match: "x"`, "If-Modified-Since: " + after}},
		{"the tag goes before the date", 304, []string{"If-Modified-Since: " + before, "If-None-Match: " + etag}},

		{"match", 200, []string{"If-Match: " + etag}},
		{"match any", 200, []string{"If-Match: *"}},
		{"match one of", 200, []string{`If-Match: "x", ` + etag}},
		{"no match", 412, []string{`If-Match: "x"`}},
		{"a weak match is none", 412, []string{"If-Match: W/" + etag}},
		{"not modified since", 200, []string{"If-Unmodified-Since: " + testDate}},
		{"modified since", 412, []string{"If-Unmodified-Since: " + before}},
		{"no date", 200, []string{"If-Unmodified-Since: never"}},
		{"the tag goes before the date", 200, []string{"If-Match: " + etag, "If-Unmodified-Since: " + before}},
		{"412 goes before 304", 412, []string{`If-Match: "x"`, "If-None-Match: " + etag}},
		{"both", 304, []string{"If-Match: " + etag, "If-None-Match: " + etag}},

		{"range", 206, []string{"Range: bytes=0-0"}},
		{"304 goes before range", 304, []string{"Range: bytes=0-0", "If-None-Match: " + etag}},
		{"412 goes before 416", 412, []string{"Range: bytes=9-", `If-Match: "x"`}},
		{"if range", 206, []string{"Range: bytes=0-0", "If-Range: " + etag}},
		{"if range, another", 200, []string{"Range: bytes=0-0", `If-Range: "x"`}},
		{"if range, weak", 200, []string{"Range: bytes=0-0", "If-Range: W/" + etag}},
		{"if range, date", 206, []string{"Range: bytes=0-0", "If-Range: " + testDate}},
		{"if range, later date", 200, []string{"Range: bytes=0-0", "If-Range: " + after}},
		{"if range goes before 416", 200, []string{"Range: bytes=9-", `If-Range: "x"`}},
		{"if range twice", 200, []string{"Range: bytes=0-0", "If-Range: " + etag, "If-Range: " + etag}},
		{"if range alone", 200, []string{`If-Range: "x"`}},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			status := c.status
			if method == "HEAD" && status == 206 {
				status = 200
			}
			resp := ask(s, method+" /a.txt", c.fields...)
			if resp.Status != status {
				t.Errorf("%s %s %q: %d, want %d", c.why, method, c.fields, resp.Status, status)
			}
			if status == 304 && (!resp.NoBody || header(resp, "ETag") != etag || header(resp, "Content-Type") != "") {
				t.Errorf("%s: 304 with %q", c.why, resp.Header.Fields)
			}
			bodyOf(t, s, resp)
		}
	}
}

// Content as young as its archive may have changed twice within the second: its
// date is no strong validator. A date in the future is that of the archive.
func TestYoungDates(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	writeFile(t, name, "hello")
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(name, future, future); err != nil {
		t.Fatal(err)
	}
	s, err := OpenDir(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	modified := header(ask(s, "GET /a.txt"), "Last-Modified")
	if date, ok := parseDate([]byte(modified)); !ok || date > time.Now().Unix() {
		t.Errorf("Last-Modified is %q, in the future", modified)
	}
	if resp := ask(s, "GET /a.txt", "Range: bytes=0-0", "If-Range: "+modified); resp.Status != 200 {
		t.Errorf("If-Range with it: %d", resp.Status)
	}
	if resp := ask(s, "GET /a.txt", "If-Modified-Since: "+modified); resp.Status != 304 {
		t.Errorf("If-Modified-Since with it: %d", resp.Status)
	}
}

func FuzzEntityTags(f *testing.F) {
	f.Add([]byte(`"x", W/"y" ,,"z"`))
	f.Add([]byte(`*`))
	f.Add([]byte(`W/"`))
	f.Add([]byte(`"tag"`))
	f.Fuzz(func(t *testing.T, list []byte) {
		strong := matchesList(list, []byte(`"tag"`), false)
		if weak := matchesList(list, []byte(`"tag"`), true); strong && !weak {
			t.Fatalf("%q matches strongly and not weakly", list)
		}
		parseDate(list)
	})
}
