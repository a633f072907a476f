package certstore

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestScanIsBounded(t *testing.T) {
	tr := newTree(t).write("x", "")
	w := &walk{entries: filesMax, seen: make(map[[2]uint64]struct{})}
	if err := w.enter(tr.dir, fileState{}, 0); !errors.Is(err, errTooMany) {
		t.Errorf("error %v", err)
	}
}

// TestPipesDoNotBlock has a pipe no one writes to, under a certificate's name, and
// one that took the place of a file after the walk.
func TestPipesDoNotBlock(t *testing.T) {
	c := server(t, nil, "a.example")
	tr := newTree(t).pair("a", c)
	if err := unix.Mkfifo(tr.path("pipe.pem"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	want(t, tr.clean(), "a.example", c)
	if data, err := read(tr.path("pipe.pem"), 10, nil); len(data) != 0 || err != nil {
		t.Errorf("read %q, %v", data, err)
	}
}

func TestReadGrows(t *testing.T) {
	text := strings.Repeat("0123456789", 10_000)
	tr := newTree(t).write("x", text).write("huge", strings.Repeat("x", fileBytesMax+2))
	for _, expected := range []int64{0, 1, 50_000, 100_000, 200_000} {
		if data, err := read(tr.path("x"), expected, nil); string(data) != text || err != nil {
			t.Errorf("%d bytes expected: %d read, %v", expected, len(data), err)
		}
	}
	if data, err := read(tr.path("huge"), 0, nil); !errors.Is(err, unix.EFBIG) {
		t.Errorf("%d bytes of a file that is too large, %v", len(data), err)
	}
	if _, err := read(tr.path("none"), 0, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestRelativeDirectories loads a tree by the names it has from within.
func TestRelativeDirectories(t *testing.T) {
	c := server(t, nil, "a.example")
	tr := newTree(t).pair("certs/default", c).write("certs/none", "")
	tr.link("certs/link.pem", "default.pem")
	for from, dir := range map[string]string{tr.dir: "certs", tr.path("certs"): "."} {
		t.Chdir(from)
		first, _, err := Load(dir, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		wantDefault(t, first, c)
		if err := os.Truncate(tr.path("certs/default.pem"), 10); err != nil {
			t.Fatal(err)
		}
		second, r, err := Load(dir, first, now)
		if err != nil || len(r.Kept) != 1 {
			t.Errorf("%s: kept %v, %v", dir, r, err)
		}
		wantDefault(t, second, c)
		w, err := scan(dir)
		if err != nil || len(w.watchDirs()) < 2 {
			t.Errorf("%s: watched %v, %v", dir, w.watchDirs(), err)
		}
		tr.pair("certs/default", c)
	}
}
