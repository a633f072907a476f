package keydir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/ech"
)

// daily makes a key each day and keeps the old one for two.
var daily = Policy{Overlap: 48 * time.Hour, TTL: time.Hour, Every: 24 * time.Hour}

// One directory over five days, rotated every twelve hours.
func TestRotate(t *testing.T) {
	dir := t.TempDir()
	names := make(map[string]string)
	k := generate(t, dir, "public.example", start)
	names[string(k.Config.Raw)] = "K0"
	for i, want := range []string{
		"stays K0 24h",
		"stays K0 12h",
		"made 0s, retired K0 48h",
		"stays K1 12h",
		"made 0s, retired K1 48h",
		"stays K2 12h",
		"made 0s, retired K2 48h, removed K0",
		"stays K3 12h",
		"made 0s, retired K3 48h, removed K1",
	} {
		now := start.Add(time.Duration(i) * 12 * time.Hour)
		planned, err := Plan(dir, daily, now)
		if err != nil {
			t.Fatal(err)
		}
		changes := rotateAt(t, dir, daily, now)
		for _, c := range changes {
			if c.Action == Make {
				names[string(c.Key.Config.Raw)] = fmt.Sprintf("K%d", i/2)
			}
		}
		if got := summary(changes, names, now); got != want {
			t.Errorf("after %dh: %s; want %s", i*12, got, want)
		}
		if planned := summary(planned, names, now); planned != want {
			t.Errorf("after %dh planned: %s; want %s", i*12, planned, want)
		}
		set, err := ech.LoadDir(os.DirFS(dir))
		if err != nil || len(GivenOut(set, now)) != 1 {
			t.Fatalf("after %dh: %v, %d keys are given out", i*12, err, len(GivenOut(set, now)))
		}
	}
}

// Without an age, the first run replaces a key however young, and others within a
// TTL do nothing more.
func TestRotateTwice(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	p := daily
	p.Every = 0
	for i, want := range []int{2, 2, 2, 3} {
		now := start.Add([]time.Duration{0, 0, p.TTL - time.Second, p.TTL}[i])
		rotateAt(t, dir, p, now)
		set, err := ech.LoadDir(os.DirFS(dir))
		if err != nil || len(set.Keys()) != want || len(GivenOut(set, now)) != 1 {
			t.Errorf("run %d: %d keys, %d given out, %v; want %d", i, len(set.Keys()), len(GivenOut(set, now)), err, want)
		}
	}
}

// A key that DNS still gives out stays, however long its time is past.
func TestPublishedKeysStay(t *testing.T) {
	dir := t.TempDir()
	k := generate(t, dir, "public.example", start)
	rotateAt(t, dir, daily, start.Add(daily.Every))
	p := daily
	p.Published = [][]byte{{1}, k.Config.Raw}
	now := start.Add(30 * daily.Every)
	var why string
	for _, c := range rotateAt(t, dir, p, now) {
		if c.Action == Stay {
			why = c.Why
		}
	}
	set, err := ech.LoadDir(os.DirFS(dir))
	if err != nil || !holds(set, k.Config.Raw) || !strings.Contains(why, "still published") {
		t.Errorf("%v, %v, %q", err, set, why)
	}
	p.Force = true
	rotateAt(t, dir, p, now)
	if set, err = ech.LoadDir(os.DirFS(dir)); err != nil || holds(set, k.Config.Raw) {
		t.Errorf("forced: %v, %v", err, set)
	}
}

// The successor is of the same kind in everything but id, key and time.
func TestSuccessorIsOfTheSameKind(t *testing.T) {
	dir := t.TempDir()
	p := parameters("public.example")
	p.KEM, p.Suites, p.MaximumNameLength = ech.KEMP256, ech.Suites[1:], 99
	old, err := Generate(t.Context(), dir, p, start, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := start.Add(daily.Every)
	made := rotateAt(t, dir, daily, now)[0].Key
	a, b := old.Config, made.Config
	if a.PublicName != b.PublicName || a.KEM != b.KEM || a.MaximumNameLength != b.MaximumNameLength || len(b.Suites) != 2 {
		t.Errorf("%+v became %+v", a, b)
	}
	if a.ID == b.ID || string(a.PublicKey) == string(b.PublicKey) || !made.NotBefore.Equal(now) {
		t.Errorf("%+v became %+v", a, b)
	}
}

// Until a successor is given out, the old key is, and not both of them.
func TestLead(t *testing.T) {
	dir := t.TempDir()
	old := generate(t, dir, "public.example", start)
	p := daily
	p.Lead = time.Hour
	now := start.Add(p.Every)
	made := rotateAt(t, dir, p, now)[0].Key
	if !made.NotBefore.Equal(now.Add(p.Lead)) {
		t.Fatalf("given out from %v", made.NotBefore)
	}
	for _, c := range []struct {
		after time.Duration
		want  *ech.Key
	}{{0, old}, {30 * time.Minute, old}, {time.Hour, made}, {2 * time.Hour, made}} {
		at := now.Add(c.after)
		rotateAt(t, dir, p, at)
		set, err := ech.LoadDir(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		given := GivenOut(set, at)
		if len(given) != 1 || given[0].Config.ID != c.want.Config.ID {
			t.Errorf("after %v: %v, want %v", c.after, given, c.want)
		}
		if len(set.Keys()) != 2 {
			t.Errorf("after %v: %d keys decrypt", c.after, len(set.Keys()))
		}
	}
}

// Many runs at once make one successor, and each but the first finds nothing
// to do.
func TestRotateAtOnce(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	now := start.Add(daily.Every)
	var mu sync.Mutex
	var made int
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			changes, err := Rotate(t.Context(), dir, daily, now, rand.Reader)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range changes {
				if c.Action == Make {
					made++
				}
			}
		})
	}
	wg.Wait()
	if names := fileNames(t, dir); made != 1 || len(names) != 2 {
		t.Errorf("made %d keys, there are %q", made, names)
	}
}

// A run that is held up says by what.
func TestLockIsBounded(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := contextWithCause(t, errors.New("enough waiting"))
	defer cancel()
	_, err = Rotate(ctx, dir, daily, start, rand.Reader)
	if err == nil || !strings.Contains(err.Error(), "held by another run: enough waiting") {
		t.Error(err)
	}
}

// A file with several keys is taken apart when their fates differ.
func TestSplit(t *testing.T) {
	dir, source := t.TempDir(), t.TempDir()
	var text []byte
	var keys []*ech.Key
	for _, name := range []string{"a.example", "b.example"} {
		k := generate(t, source, name, start)
		data, err := os.ReadFile(filepath.Join(source, k.File))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, data[strings.Index(string(data), "-----"):]...)
		keys = append(keys, k)
	}
	both := append([]byte("ECH-Not-Before: 2026-12-01T00:00:00Z\n"), text...)
	if err := os.WriteFile(filepath.Join(dir, "both.pem"), both, 0o600); err != nil {
		t.Fatal(err)
	}
	p := daily
	p.PublicName = "a.example"
	now := start.Add(daily.Every)
	rotateAt(t, dir, p, now)
	set, err := ech.LoadDir(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	roles := make(map[uint8]*ech.Key)
	for _, k := range set.Keys() {
		roles[k.Config.ID] = k
		if k.File == "both.pem" {
			t.Error("both.pem is still there")
		}
	}
	a, b := roles[keys[0].Config.ID], roles[keys[1].Config.ID]
	if len(set.Keys()) != 3 || a.Role != ech.DecryptOnly || !a.RemoveAfter.Equal(now.Add(daily.Overlap)) || b.Role != ech.Current || !b.NotBefore.Equal(start) {
		t.Errorf("%v until %v, %v from %v, of %d", a, a.RemoveAfter, b, b.NotBefore, len(set.Keys()))
	}
}

// Whole files keep what else is in them, and their mode.
func TestRetireKeepsTheFile(t *testing.T) {
	dir := t.TempDir()
	k := generate(t, dir, "public.example", start)
	path := filepath.Join(dir, k.File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("a remark\n"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	changes := rotateAt(t, dir, daily, start.Add(daily.Every))
	after, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(after), "ECH-Role: decrypt-only\n") || !strings.Contains(string(after), "a remark\n") {
		t.Errorf("%v, %d bytes", err, len(after))
	}
	for _, name := range []string{k.File, changes[0].File} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o640 {
			t.Errorf("%s: mode %v, %v; want 0640: others must not read it", name, info.Mode(), err)
		}
	}
}

// What root writes stays with the user whose key it replaces.
func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may give files away")
	}
	dir := t.TempDir()
	if err := os.Chown(dir, 12345, 12346); err != nil {
		t.Fatal(err)
	}
	k := generate(t, dir, "public.example", start)
	changes := rotateAt(t, dir, daily, start.Add(daily.Every))
	for _, name := range []string{k.File, changes[0].File, lockFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if o, err := asFile(info); err != nil || o.uid != 12345 || o.gid != 12346 {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

// A link into another directory is not replaced by a file.
func TestLinksAreRefused(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	k := generate(t, elsewhere, "public.example", start)
	if err := os.Symlink(filepath.Join(elsewhere, k.File), filepath.Join(dir, "link.pem")); err != nil {
		t.Fatal(err)
	}
	_, err := Rotate(t.Context(), dir, daily, start.Add(daily.Every), rand.Reader)
	if err == nil || !strings.Contains(err.Error(), "link.pem is a link") {
		t.Error(err)
	}
	if names := fileNames(t, dir); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

// What a killed run left behind goes once it is old, and only that.
func TestStaleFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	for name, written := range map[string]time.Time{
		tempPrefix + "old" + tempSuffix: start.Add(-tempAge),
		tempPrefix + "new" + tempSuffix: start,
		".other.tmp":                    start.Add(-tempAge),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		chtimes(t, dir, name, written)
	}
	rotateAt(t, dir, daily, start)
	for name, want := range map[string]error{
		tempPrefix + "old" + tempSuffix: fs.ErrNotExist,
		tempPrefix + "new" + tempSuffix: nil,
		".other.tmp":                    nil,
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}
