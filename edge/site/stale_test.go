// The archive replaced under our feet, in every way it is done.

package site

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/proxy/httpmsg"
)

// packFile packs files into the archive at path.
func packFile(t testing.TB, path string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, name), content)
	}
	var b bytes.Buffer
	if err := Pack(&b, dir, PackOptions{}); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.String())
}

var (
	oldFiles = map[string]string{"a.txt": "old", "big.bin": strings.Repeat("old.", 1000), "kept.txt": "kept"}
	newFiles = map[string]string{"a.txt": "new", "big.bin": strings.Repeat("new.", 1000), "kept.txt": "tepk"}
	fewFiles = map[string]string{"a.txt": "new"}
)

// replaced opens an archive of oldFiles, of which kept.txt is held in memory,
// and lets replace loose on it.
func replaced(t *testing.T, replace func(old, new, few string)) *Site {
	t.Helper()
	dir := t.TempDir()
	old, new, few := filepath.Join(dir, "site.tar"), filepath.Join(dir, "new.tar"), filepath.Join(dir, "few.tar")
	packFile(t, old, oldFiles)
	packFile(t, new, newFiles)
	packFile(t, few, fewFiles)
	s, err := Open(old, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if stale, reason := s.Stale(); stale {
		t.Fatalf("stale before anything happened: %s", reason)
	}
	i, _ := s.index.findFile([]byte("/kept.txt"))
	s.Keep(i, []byte("kept"))
	replace(old, new, few)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// overwrite is what cp does to a file that exists.
func overwrite(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o644))
}

func TestReplacedByName(t *testing.T) {
	for name, replace := range map[string]func(old, new, few string){
		"renamed over":    func(old, new, few string) { must(t, os.Rename(new, old)) },
		"removed":         func(old, new, few string) { must(t, os.Remove(old)) },
		"renamed itself":  func(old, new, few string) { must(t, os.Rename(old, old+".old")) },
		"mode changed":    func(old, new, few string) { must(t, os.Chmod(old, 0o600)) },
		"linked and left": func(old, new, few string) { must(t, os.Link(old, old+".2")) },
	} {
		s := replaced(t, replace)
		if stale, reason := s.Stale(); stale {
			t.Errorf("%s: stale, %s", name, reason)
		}
		if got := bodyOf(t, s, ask(s, "GET /a.txt")); got != "old" {
			t.Errorf("%s: %q is served", name, got)
		}
	}
}

func TestWrittenInPlace(t *testing.T) {
	for name, replace := range map[string]func(old, new, few string){
		"overwritten, shorter":   func(old, new, few string) { overwrite(t, old, few) },
		"overwritten, same size": func(old, new, few string) { overwrite(t, old, new) },
		"emptied":                func(old, new, few string) { must(t, os.Truncate(old, 0)) },
		"cut":                    func(old, new, few string) { must(t, os.Truncate(old, 3000)) },
		"touched":                func(old, new, few string) { must(t, os.Chtimes(old, time.Now(), time.Now())) },
		"appended to": func(old, new, few string) {
			f, err := os.OpenFile(old, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString("more")
			must(t, err)
			must(t, f.Close())
		},
	} {
		s := replaced(t, replace)
		stale, reason := s.Stale()
		if !stale || reason == "" {
			t.Errorf("%s: not noticed", name)
			continue
		}
		for _, request := range [][]string{{"GET /a.txt"}, {"GET /big.bin", "Range: bytes=0-0"}, {"GET /big.bin", "Range: bytes=0-0,2-2"}, {"HEAD /a.txt"}} {
			if resp := ask(s, request[0], request[1:]...); resp.Status != 503 || resp.File != -1 {
				t.Errorf("%s: %q: %d", name, request, resp.Status)
			}
		}
		if resp := ask(s, "GET /kept.txt"); resp.Status != 200 || bodyOf(t, s, resp) != "kept" {
			t.Errorf("%s: what is in memory is not served: %d", name, resp.Status)
		}
		if _, again := s.Stale(); again != reason {
			t.Errorf("%s: the reason was %q and is %q", name, reason, again)
		}
	}
}

// The tags of two archives must differ where their content may, even when name,
// size and times are the same; with digests they differ only there.
func TestTagsAcrossArchives(t *testing.T) {
	dir := t.TempDir()
	open := func(name string, make func(testing.TB, string, map[string]string), files map[string]string) *Site {
		path := filepath.Join(dir, name)
		make(t, path, files)
		s, err := Open(path, Options{})
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	tag := func(s *Site, path string) string { return header(ask(s, "GET "+path), "ETag") }

	a, b := open("a.tar", packFile, map[string]string{"x": "one", "y": "same"}), open("b.tar", packFile, map[string]string{"x": "two", "y": "same"})
	if tag(a, "/x") == tag(b, "/x") || tag(a, "/y") != tag(b, "/y") {
		t.Error("with digests: the tags do not follow the content")
	}
	c, d := open("c.tar", plainTar, map[string]string{"x": "one", "y": "same"}), open("d.tar", plainTar, map[string]string{"x": "two", "y": "same"})
	if tag(c, "/x") == tag(d, "/x") || tag(c, "/x") == tag(c, "/y") {
		t.Error("without digests: two contents have one tag")
	}
	again, err := Open(filepath.Join(dir, "c.tar"), Options{})
	must(t, err)
	defer again.Close()
	if tag(c, "/x") != tag(again, "/x") {
		t.Error("without digests: the tag does not outlive a restart")
	}
}

// An archive cut anywhere is refused, up to the middle of its end marker.
func TestCutAnywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "site.tar")
	packFile(t, path, map[string]string{"a.txt": "hello", "b/" + strings.Repeat("long", 40) + ".txt": thousand, "c": ""})
	whole, err := os.ReadFile(path)
	must(t, err)
	opts := Options{}
	opts.setDefaults()
	for n := range len(whole) {
		_, err := buildIndex(bytes.NewReader(whole[:n]), int64(n), nil, 0, &opts)
		if cut := n < len(whole)-blockBytes; cut && err == nil {
			t.Fatalf("cut to %d of %d bytes, and opened", n, len(whole))
		} else if n == len(whole)-blockBytes && err != nil {
			t.Fatalf("one block of the end marker: %v", err)
		}
	}
}

// A file that ends sooner than its size says is an error, not an endless loop.
func TestShorterThanItSays(t *testing.T) {
	opts := Options{}
	opts.setDefaults()
	if _, err := buildIndex(strings.NewReader("short"), 1<<40, nil, 0, &opts); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		writeFile(t, path, content)
		return path
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.tar"), "no such file"},
		{dir, "not a regular file"},
		{write("empty.tar", ""), "empty"},
		{write("text.tar", "hello"), "not a tar"},
		{write("long.tar", strings.Repeat("hello", 1000)), "not a tar"},
		{write("gz.tar", "\x1f\x8b\x08"+strings.Repeat("x", 1000)), "gzip"},
		{write("zst.tar", "\x28\xb5\x2f\xfd"), "zstd"},
		{write("zip.tar", "PK\x03\x04"), "zip"},
	} {
		_, err := Open(c.path, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	if _, err := OpenDir(filepath.Join(dir, "none"), Options{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

func TestListAndReadFile(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{".edge/scripts/b.o": "bb", ".edge/scripts/a.o": "a", "x": "x"})
	if got := strings.Join(s.List("/.edge/"), " "); got != "/.edge/scripts/a.o /.edge/scripts/b.o" {
		t.Errorf("List: %s", got)
	}
	if b, err := s.ReadFile("/.edge/scripts/b.o", 2); string(b) != "bb" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := s.ReadFile("/.edge/scripts/b.o", 1); err == nil || !strings.Contains(err.Error(), "at most 1") {
		t.Error(err)
	}
	if _, err := s.ReadFile("/none", 1); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.Chtimes("/proc/self/fd/"+itoa(s.fd), time.Now(), time.Now()))
	if _, err := s.ReadFile("/x", 1); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Error(err)
	}
}

func TestKeep(t *testing.T) {
	s := newSite(t, Options{}, map[string]string{"a.txt": "hello"})
	resp := ask(s, "GET /a.txt")
	if resp.File < 0 || resp.Bytes != nil || resp.Entry < 0 {
		t.Fatalf("%+v", resp)
	}
	s.Keep(resp.Entry, []byte("hello"))
	var again httpmsg.Response
	s.Serve(request("GET /a.txt"), &again)
	if string(again.Bytes) != "hello" || again.File != -1 || again.Entry != -1 {
		t.Errorf("%+v", again)
	}
}
