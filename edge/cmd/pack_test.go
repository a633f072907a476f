package cmd

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree writes files, by name, into a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(t *testing.T, archive []byte) []string {
	t.Helper()
	var out []string
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Name)
	}
}

func TestPackToStdout(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x", "a/b.css": "y", ".git/config": "z"})
	status, out, errs := run(t, "pack", dir)
	if want := "edge: .git is left out: its name begins with a dot\n"; status != ExitOK || errs != want {
		t.Fatalf("status %d, stderr %q, want %q", status, errs, want)
	}
	if got, want := names(t, []byte(out)), []string{"a/b.css", "index.html"}; !slices.Equal(got, want) {
		t.Errorf("packed %q, want %q", got, want)
	}
}

func TestPackToFile(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x"})
	output := filepath.Join(t.TempDir(), "site.tar")
	for range 2 { // the second replaces the first
		if status, out, errs := run(t, "pack", dir, "-o", output); status != ExitOK || out != "" || errs != "" {
			t.Fatalf("status %d, stdout %q, stderr %q", status, out, errs)
		}
	}
	written, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if _, out, _ := run(t, "pack", dir); out != string(written) {
		t.Error("-o and standard output differ")
	}
	expectAlone(t, output)
	if info, err := os.Stat(output); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v; want 0644", info.Mode(), err)
	}
}

// expectAlone wants nothing beside path: no temporary file was left.
func expectAlone(t *testing.T, path string) {
	t.Helper()
	found, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(found) != 1 || found[0].Name() != filepath.Base(path) {
		t.Errorf("found %v, %v; want %s alone", found, err, filepath.Base(path))
	}
}

func TestPackHonoursSourceDateEpoch(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x"})
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	status, out, errs := run(t, "pack", dir)
	if status != ExitOK {
		t.Fatalf("status %d, stderr %q", status, errs)
	}
	h, err := tar.NewReader(strings.NewReader(out)).Next()
	if err != nil || h.ModTime.Unix() != 1000000000 {
		t.Errorf("time %v, %v; want that of SOURCE_DATE_EPOCH", h.ModTime, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	status, _, errs = run(t, "pack", dir)
	if want := "edge: SOURCE_DATE_EPOCH is \"yesterday\": give seconds since 1970, or unset it: see `edge pack --help`\n"; status != ExitUsage || errs != want {
		t.Errorf("status %d, stderr %q, want %q", status, errs, want)
	}
}

// What was at the output stays when packing fails, and nothing else is left.
func TestPackFailureLeavesTheOldFile(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x"})
	if err := os.Symlink("/nowhere", filepath.Join(dir, "broken")); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(t.TempDir(), "site.tar")
	if err := os.WriteFile(output, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	status, _, errs := run(t, "pack", dir, "-o", output)
	if status != ExitFailure || !strings.Contains(errs, "broken") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, stderr %q", status, errs)
	}
	if b, err := os.ReadFile(output); err != nil || string(b) != "old" {
		t.Errorf("the output is now %q, %v", b, err)
	}
	expectAlone(t, output)
}

func TestPackStops(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x"})
	output := filepath.Join(t.TempDir(), "site.tar")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	env := Env{In: strings.NewReader(""), Out: io.Discard, Err: &errs, Getenv: os.Getenv}
	if status := Main(ctx, env, []string{"pack", dir, "-o", output}); status != ExitFailure {
		t.Errorf("status %d", status)
	}
	if want := "edge: stopped before the archive was whole\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
	if found, err := os.ReadDir(filepath.Dir(output)); err != nil || len(found) != 0 {
		t.Errorf("left behind: %v, %v", found, err)
	}
}

func TestPackRefusals(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x", "sub/page.html": "y"})
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"pack", filepath.Join(dir, "nowhere")}, "nowhere: no such file or directory"},
		{[]string{"pack", filepath.Join(dir, "index.html")}, "not a directory"},
		{[]string{"pack", dir, "-o", filepath.Join(dir, "site.tar")}, "lies inside " + dir + ", which is being packed: choose a place outside"},
		{[]string{"pack", dir, "-o", filepath.Join(dir, "sub/site.tar")}, "choose a place outside"},
		{[]string{"pack", dir, "-o", "/nowhere/at/all/site.tar"}, "writing /nowhere/at/all/site.tar: "},
	} {
		status, out, errs := run(t, tc.args...)
		if status != ExitFailure || out != "" || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("edge %q: status %d, stderr %q, want %q", tc.args, status, errs, tc.want)
		}
	}
}

// `edge pack . > site.tar` would pack the archive into itself.
func TestPackRefusesARedirectionIntoTheDirectory(t *testing.T) {
	dir := tree(t, map[string]string{"index.html": "x"})
	f, err := os.Create(filepath.Join(dir, "site.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var errs bytes.Buffer
	env := Env{In: strings.NewReader(""), Out: f, Err: &errs, Getenv: os.Getenv}
	status := Main(t.Context(), env, []string{"pack", dir})
	if status != ExitFailure || !strings.Contains(errs.String(), "inside what is being packed: choose a place outside") {
		t.Errorf("status %d, stderr %q", status, errs.String())
	}
}

func TestPackRefusesATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer terminal.Close()
	var errs bytes.Buffer
	env := Env{In: strings.NewReader(""), Out: terminal, Err: &errs, Getenv: os.Getenv}
	status := Main(t.Context(), env, []string{"pack", t.TempDir()})
	want := "edge: a tar is not for the terminal: give -o FILE, or redirect the output: see `edge pack --help`\n"
	if status != ExitUsage || errs.String() != want {
		t.Errorf("status %d, stderr %q, want %q", status, errs.String(), want)
	}
}
