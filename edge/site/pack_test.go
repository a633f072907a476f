package site

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree makes a directory of files with one time of modification.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, name), content)
	}
	return dir
}

func pack(t *testing.T, dir string, opts PackOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, Pack(&b, dir, opts))
	return b.Bytes()
}

func TestPackIsDeterministic(t *testing.T) {
	files := map[string]string{"b/c.txt": "c", "a.txt": "a", "b.txt": "", "ü/" + strings.Repeat("long", 60): "x", "big": strings.Repeat("x", 3*copyBytes+1)}
	one, two := tree(t, files), tree(t, files)
	must(t, os.Mkdir(filepath.Join(two, "empty"), 0o700))
	must(t, os.Chmod(filepath.Join(two, "a.txt"), 0o600))
	must(t, os.Chtimes(filepath.Join(two, "a.txt"), time.Now(), testTime.Add(time.Second/2)))
	must(t, os.Chtimes(filepath.Join(two, "b"), time.Now(), time.Now()))
	first := pack(t, one, PackOptions{})
	if !bytes.Equal(first, pack(t, two, PackOptions{})) {
		t.Error("two trees with the same files give two archives")
	}
	must(t, os.Chtimes(filepath.Join(two, "a.txt"), time.Now(), time.Now()))
	if bytes.Equal(first, pack(t, two, PackOptions{})) {
		t.Error("the time of modification is lost")
	}
	if !bytes.Equal(first, pack(t, two, PackOptions{ModTimeMax: testTime})) {
		t.Error("later times are not cut to ModTimeMax")
	}
}

// Another reader finds plain files of root's, in the order of the walk.
func TestPackedTar(t *testing.T) {
	dir := tree(t, map[string]string{"b/c.txt": "c", "a.txt": "a", "b.txt": "", ".git/config": "x", "b/.DS_Store": "x", ".edge/a.c": "c", ".well-known/x": "x", ".well-known/.y": "y"})
	must(t, os.Symlink("b/c.txt", filepath.Join(dir, "link.txt")))
	must(t, os.Symlink("../a.txt", filepath.Join(dir, "b/up.txt")))
	var skipped []string
	data := pack(t, dir, PackOptions{Skipped: func(name, why string) { skipped = append(skipped, name) }})
	var names []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must(t, err)
		names = append(names, h.Name)
		if h.Typeflag != tar.TypeReg || h.Mode != 0o644 || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(testTime) && h.Name != "link.txt" && h.Name != "b/up.txt" {
			t.Errorf("%+v", h)
		}
		content, err := io.ReadAll(r)
		if must(t, err); h.Name == "link.txt" && string(content) != "c" || h.Name == "b/up.txt" && string(content) != "a" {
			t.Errorf("%s is %q", h.Name, content)
		}
	}
	if got := strings.Join(names, " "); got != ".edge/a.c .well-known/x a.txt b/c.txt b/up.txt b.txt link.txt" {
		t.Errorf("packed: %s", got)
	}
	if got := strings.Join(skipped, " "); got != ".git .well-known/.y b/.DS_Store" {
		t.Errorf("left out: %s", got)
	}
}

func TestPackRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	writeFile(t, outside, "secret")
	for why, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"a link outside":      {func(p string) error { return os.Symlink(outside, p) }, "outside"},
		"a link up":           {func(p string) error { return os.Symlink("../../etc/passwd", p) }, "outside"},
		"a link to nothing":   {func(p string) error { return os.Symlink("none", p) }, "nowhere"},
		"a link in a circle":  {func(p string) error { return os.Symlink(filepath.Base(p), p) }, "nowhere"},
		"a link to directory": {func(p string) error { return os.Symlink("d", p) }, "directory"},
		"a FIFO":              {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "not a file"},
	} {
		dir := tree(t, map[string]string{"d/x": "x"})
		must(t, c.make(filepath.Join(dir, "odd")))
		err := Pack(io.Discard, dir, PackOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "odd") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", why, err, c.want)
		}
	}
	for _, dir := range []string{filepath.Join(t.TempDir(), "none"), outside} {
		if err := Pack(io.Discard, dir, PackOptions{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// changer appends to a file once the archive has so many bytes.
type changer struct {
	after int
	path  string
}

func (c *changer) Write(p []byte) (int, error) {
	if c.after -= len(p); c.after < 0 && c.path != "" {
		f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		c.path = ""
		if _, err := f.WriteAt([]byte("changed"), 3*copyBytes-7); err != nil {
			return 0, err
		}
		return len(p), f.Close()
	}
	return len(p), nil
}

func TestPackedWhileItChanges(t *testing.T) {
	for why, size := range map[string]int{"other bytes": 3 * copyBytes, "more bytes": 2 * copyBytes} {
		dir := tree(t, map[string]string{"a": strings.Repeat("x", size)})
		err := Pack(&changer{path: filepath.Join(dir, "a")}, dir, PackOptions{})
		if err == nil || !strings.Contains(err.Error(), "changed") {
			t.Errorf("%s: %v", why, err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestPackWriteError(t *testing.T) {
	for _, files := range []map[string]string{{}, {"a": "x"}} {
		if err := Pack(fullDisk{}, tree(t, files), PackOptions{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%d files: %v", len(files), err)
		}
	}
}

func TestConvert(t *testing.T) {
	dir := tree(t, map[string]string{".edge/scripts/a.c": "source", ".edge/scripts/edge.h": "header", "b.c": "source"})
	data := pack(t, dir, PackOptions{Convert: func(name string, content []byte) (string, []byte, error) {
		if strings.HasSuffix(name, ".h") {
			return "", nil, nil
		}
		return strings.TrimSuffix(name, ".c") + ".o", append([]byte("compiled "), content...), nil
	}})
	path := filepath.Join(t.TempDir(), "site.tar")
	writeFile(t, path, string(data))
	s, err := Open(path, Options{})
	must(t, err)
	defer s.Close()
	if got := strings.Join(s.List("/"), " "); got != "/.edge/scripts/a.o /b.c" {
		t.Errorf("packed: %s", got)
	}
	if b, err := s.ReadFile("/.edge/scripts/a.o", 100); string(b) != "compiled source" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	err = Pack(io.Discard, dir, PackOptions{Convert: func(string, []byte) (string, []byte, error) { return "", nil, fs.ErrInvalid }})
	if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), ".edge/scripts/a.c") {
		t.Error(err)
	}
}
