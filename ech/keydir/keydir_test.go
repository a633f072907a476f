package keydir

import (
	"bytes"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edge/ech"
)

// start is when the tests' directories begin.
var start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func parameters(name string) ech.KeyParameters {
	return ech.KeyParameters{PublicName: name, KEM: ech.KEMX25519, Suites: ech.Suites, MaximumNameLength: 32}
}

// generate makes a key in dir, written when it is given out.
func generate(t *testing.T, dir, name string, from time.Time) *ech.Key {
	t.Helper()
	k, err := Generate(t.Context(), dir, parameters(name), from, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	chtimes(t, dir, k.File, from)
	return k
}

func chtimes(t *testing.T, dir, name string, to time.Time) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(dir, name), to, to); err != nil {
		t.Fatal(err)
	}
}

// rotateAt runs a rotation and gives what it wrote the time of the run.
func rotateAt(t *testing.T, dir string, p Policy, now time.Time) []Change {
	t.Helper()
	changes, err := rotate(t.Context(), &writer{dir: dir, volatile: true}, p, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	settle(t, dir, now)
	return changes
}

// settle gives every file that was written in this test's real time the time
// of the tests' clock.
func settle(t *testing.T, dir string, now time.Time) {
	t.Helper()
	for _, name := range fileNames(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(info.ModTime()).Abs() < time.Hour {
			chtimes(t, dir, name, now)
		}
	}
}

// fileNames are the key files of dir, and whatever else is not hidden.
func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockFile {
			names = append(names, e.Name())
		}
	}
	return names
}

// summary shows changes in short: "made 1h", "retired K1 48h", with times from
// now on.
func summary(changes []Change, names map[string]string, now time.Time) string {
	var parts []string
	for _, c := range changes {
		s := c.Action.String()
		if c.Action != Make {
			s += " " + names[string(c.Key.Config.Raw)]
		}
		if !c.When.IsZero() {
			s += " " + short(c.When.Sub(now))
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func short(d time.Duration) string {
	return strings.TrimSuffix(d.String(), "0m0s")
}

// secretsOf returns private keys in the forms in which they could leak: the
// base64 of PEM, the raw bytes and hex of their last bytes, which are the key
// itself in PKCS #8 of X25519.
func secretsOf(t *testing.T, dir string) []string {
	t.Helper()
	var secrets []string
	for _, name := range fileNames(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for {
			var block *pem.Block
			if block, data = pem.Decode(data); block == nil {
				break
			}
			if block.Type != "PRIVATE KEY" {
				continue
			}
			text := string(pem.EncodeToMemory(block))
			key := block.Bytes[len(block.Bytes)-16:]
			secrets = append(secrets, strings.Split(text, "\n")[1], string(key), fmt.Sprintf("%x", key), fmt.Sprint(key))
		}
	}
	return secrets
}

func checkNoSecrets(t *testing.T, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Fatal("a private key is shown")
		}
	}
}

func TestGenerate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "ech")
	var keys []*ech.Key
	for range 3 {
		k := generate(t, dir, "Public.Example", start)
		info, err := os.Stat(filepath.Join(dir, k.File))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		want := fmt.Sprintf("public.example-20261201T000000Z-%d.pem", k.Config.ID)
		if k.File != want || !k.NotBefore.Equal(start) {
			t.Errorf("file %s, given out from %v", k.File, k.NotBefore)
		}
		for _, other := range keys {
			if other.Config.ID == k.Config.ID {
				t.Errorf("config_id %d again", k.Config.ID)
			}
		}
		keys = append(keys, k)
	}
	set, err := ech.LoadDir(os.DirFS(dir))
	if err != nil || len(set.Keys()) != 3 {
		t.Fatal(set, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	if given := GivenOut(set, start); len(given) != 3 {
		t.Errorf("%d keys are given out", len(given))
	}
}

// A file that is there is never overwritten, whatever its name.
func TestCreateKeepsWhatIsThere(t *testing.T) {
	w := &writer{dir: t.TempDir(), volatile: true}
	for n := range namesTried {
		name, err := w.createFree("key", fmt.Append(nil, n), ownership{uid: -1, gid: -1, mode: keyFileMode})
		if want := fmt.Sprintf("key-%d.pem", n+1); err != nil || n > 0 && name != want {
			t.Fatal(name, err)
		}
	}
	if _, err := w.createFree("key", nil, ownership{uid: -1, gid: -1, mode: keyFileMode}); err == nil {
		t.Error("a name beyond the bound")
	}
	if first, err := os.ReadFile(filepath.Join(w.dir, "key.pem")); err != nil || string(first) != "0" {
		t.Errorf("%q, %v", first, err)
	}
	if names := fileNames(t, w.dir); len(names) != namesTried {
		t.Errorf("left: %q", names)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	write := func(name, lines string, k *ech.Key, mode fs.FileMode) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, k.File))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, append([]byte(lines), data[bytes.Index(data, []byte("-----")):]...), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	source := t.TempDir()
	write("a-open.pem", "", generateIn(t, dir, source, "a.example"), 0o644)
	write("b-due.pem", "ECH-Role: decrypt-only\nECH-Remove-After: 2026-11-30T00:00:00Z\n", generateIn(t, dir, source, "b.example"), 0o600)
	write("c-endless.decrypt-only.pem", "", generateIn(t, dir, source, "c.example"), 0o640)
	d := generateIn(t, dir, source, "d.example")
	write("d-past.pem", "ECH-Remove-After: 2026-11-30T00:00:00Z\n", d, 0o600)
	write("d-twin.pem", "", d, 0o600)
	if err := os.WriteFile(filepath.Join(dir, "e-empty.pem"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := List(dir, start)
	if err != nil || l.Bad != 1 {
		t.Fatalf("%d files cannot be used, %v", l.Bad, err)
	}
	got := make(map[string]string)
	for _, e := range l.Entries {
		if e.Key == nil || e.File == e.Key.File {
			got[e.File] = strings.Join(e.Problems, "|")
		}
	}
	for file, want := range map[string]string{
		"a-open.pem":                 "mode 0644 lets every user at the key: chmod 600, and rotate",
		"b-due.pem":                  "no longer needed: rotate removes it",
		"c-endless.decrypt-only.pem": "decrypt-only without an end: rotate gives it one",
		"d-past.pem":                 "current although its time to be removed is past: rotate",
		"d-twin.pem":                 "the same key as in d-past.pem",
		"e-empty.pem":                "holds no PRIVATE KEY and ECHCONFIG",
	} {
		if !strings.Contains(got[file], want) {
			t.Errorf("%s: %q, want %q", file, got[file], want)
		}
	}
	checkNoSecrets(t, fmt.Sprintf("%v %+v %#v", l, l.Entries, l.Set), secretsOf(t, dir))
}

// generateIn makes a key outside of dir, moves it in for write to copy, and
// forgets the file there once the test ends.
func generateIn(t *testing.T, dir, source, name string) *ech.Key {
	t.Helper()
	k := generate(t, source, name, start)
	data, err := os.ReadFile(filepath.Join(source, k.File))
	if err != nil {
		t.Fatal(err)
	}
	k.File = "." + k.File // hidden from servers
	if err := os.WriteFile(filepath.Join(dir, k.File), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// A directory that servers do not load is not touched, and the error names the
// file.
func TestBadFileStopsWriting(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	if err := os.WriteFile(filepath.Join(dir, "bad.pem"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := fileNames(t, dir)
	_, err := Generate(t.Context(), dir, parameters("public.example"), start, rand.Reader)
	if err == nil || !strings.Contains(err.Error(), "bad.pem") || !strings.Contains(err.Error(), "mend it") {
		t.Error(err)
	}
	_, err = Rotate(t.Context(), dir, Policy{}, start.Add(time.Hour), rand.Reader)
	if err == nil || !strings.Contains(err.Error(), "bad.pem") {
		t.Error(err)
	}
	if after := fileNames(t, dir); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if _, err := List(dir, start); err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	if _, err := Rotate(t.Context(), dir, Policy{}, start, rand.Reader); err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("rotate made the directory")
	}
	empty := t.TempDir()
	if _, err := Rotate(t.Context(), empty, Policy{}, start, rand.Reader); err == nil || !strings.Contains(err.Error(), "edge keys gen-ech") {
		t.Error(err)
	}
}
