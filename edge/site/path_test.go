package site

import (
	"bytes"
	"strings"
	"testing"
)

// Field case H11: what a path means.
func TestCleanPath(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"/", "/"},
		{"/a", "/a"},
		{"/a/", "/a/"},
		{"/a/b", "/a/b"},
		{"/../x", "/x"},
		{"/%2e%2e/x", "/x"},
		{"/.%2e/", "/"},
		{"/..", "/"},
		{"/a/..", "/"},
		{"/a/.", "/a/"},
		{"/a/b/../c", "/a/c"},
		{"/a/b/../../../c", "/c"},
		{"/a/%2e%2e%2fb", "/b"},
		{"/..%5cx", `/..\x`},
		{"/%5c..%5c", `/\..\`},
		{"/%252e%252e/", "/%2e%2e/"},
		{"/%c0%ae/", "/\xc0\xae/"},
		{"/a//b", "/a/b"},
		{"//", "/"},
		{"//evil.example/x", "/evil.example/x"},
		{"/a/./b", "/a/b"},
		{"/a%2fb", "/a/b"},
		{"/a%2Fb%2F", "/a/b/"},
		{"/a%252fb", "/a%2fb"},
		{"/...", "/..."},
		{"/a..", "/a.."},
		{"/+", "/+"},
		{"/a%20b", "/a b"},
		{"/%0d%0aX:1", "/\r\nX:1"},
	} {
		got, err := CleanPath(nil, []byte(c.raw))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.raw, got, err, c.want)
		}
	}
}

func TestCleanPathRefuses(t *testing.T) {
	for _, raw := range []string{"", "a", "*", "%2f", "/a%00.html", "/\x00", "/%", "/%2", "/%zz", "/%2g", "/a%", "/%-1", "/% 1"} {
		if got, err := CleanPath([]byte("kept"), []byte(raw)); err == nil || string(got) != "kept" {
			t.Errorf("%q: %q, %v", raw, got, err)
		}
	}
}

// Whatever comes out is clean, and says the same when it is asked for again.
func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b", "/%2e%2e/%2fetc", "//x", "/a%00", "/%", "/..%5c", "/a/./..//b/", "/.well-known/x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := CleanPath(nil, raw)
		if err != nil {
			if isClean(raw) {
				t.Fatalf("%q passed for clean and is malformed", raw)
			}
			return
		}
		if isClean(raw) && !bytes.Equal(got, raw) {
			t.Fatalf("%q passed for clean and is %q", raw, got)
		}
		if got[0] != '/' || bytes.IndexByte(got, 0) >= 0 {
			t.Fatalf("%q", got)
		}
		for segment := range strings.SplitSeq(strings.TrimSuffix(string(got[1:]), "/"), "/") {
			if segment == "." || segment == ".." || segment == "" && len(got) > 1 {
				t.Fatalf("%q became %q", raw, got)
			}
		}
		escaped := appendEscaped(nil, got)
		for _, c := range escaped {
			if c <= ' ' || c > '~' || c == '\\' || c == '"' || c == '<' {
				t.Fatalf("%q in the location %q", c, escaped)
			}
		}
		if again, err := CleanPath(nil, escaped); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%q escaped is %q, which is %q, %v", got, escaped, again, err)
		}
	})
}

func TestArchivePath(t *testing.T) {
	for _, c := range []struct{ name, path, why string }{
		{"a", "/a", ""},
		{"./a//b/./c", "/a/b/c", ""},
		{"a b", "/a b", ""},
		{`a\b`, `/a\b`, ""},
		{".../a", "/.../a", ""},
		{"", "", "empty"},
		{"./", "", "directory"},
		{".", "", "directory"},
		{"a/", "", "directory"},
		{"/a", "", "absolute"},
		{"//", "", "absolute"},
		{"..", "", ".."},
		{"a/../b", "", ".."},
		{"a\x00b", "", "NUL"},
		{strings.Repeat("a", pathBytesMax-1), "/" + strings.Repeat("a", pathBytesMax-1), ""},
		{strings.Repeat("a", pathBytesMax), "", "longer"},
	} {
		path, why := archivePath(nil, []byte(c.name))
		if string(path) != c.path && c.why == "" || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%.40q: %.40q, %q", c.name, path, why)
		}
	}
}

func TestHidden(t *testing.T) {
	for path, want := range map[string]bool{
		"/a":                       false,
		"/a.b/c":                   false,
		"/.git/config":             true,
		"/a/.htaccess":             true,
		"/.edge/scripts/a.o":       true,
		"/.well-known/a":           false,
		"/.well-known/.a":          true,
		"/.well-known/a/.b":        true,
		"/.well-known":             true,
		"/.well-knownx/a":          true,
		"/a/.well-known/x":         true,
		"/.well-known/acme/a.b..c": false,
	} {
		if isHidden([]byte(path)) != want {
			t.Errorf("%s: hidden should be %v", path, want)
		}
	}
}
