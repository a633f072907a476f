package keydir

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"edge/ech"
)

// contextWithCause ends at once, with cause.
func contextWithCause(t *testing.T, cause error) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	return ctx, func() { cancel(nil) }
}

var errInterrupted = errors.New("interrupted")

// interruptAt makes a run end before its nth change to the directory.
func interruptAt(n int) func(string) error {
	return func(string) error {
		if n--; n < 0 {
			return errInterrupted
		}
		return nil
	}
}

// Wherever a run ends, the directory can be loaded, a key is given out, every
// key that was needed is there, and the next run completes the work.
func TestInterruptedRuns(t *testing.T) {
	for n := 0; ; n++ {
		dir := t.TempDir()
		first := generate(t, dir, "public.example", start)
		rotateAt(t, dir, daily, start.Add(daily.Every)) // first is decrypt-only
		second := generate(t, dir, "public.example", start.Add(daily.Every))
		now := start.Add(daily.Every + daily.Overlap) // first is past its time
		_, err := rotate(t.Context(), &writer{dir: dir, volatile: true, interrupt: interruptAt(n)}, daily, now, rand.Reader)
		if err != nil && !errors.Is(err, errInterrupted) {
			t.Fatal(err)
		}
		set, bad := ech.LoadDir(os.DirFS(dir))
		if bad != nil || len(GivenOut(set, now)) == 0 || !holds(set, second.Config.Raw) {
			t.Fatalf("interrupted before change %d: %v, %v", n, set, bad)
		}
		settle(t, dir, now)
		rotateAt(t, dir, daily, now)
		set, bad = ech.LoadDir(os.DirFS(dir))
		if bad != nil || len(GivenOut(set, now)) != 1 || holds(set, first.Config.Raw) || len(set.Keys()) != 4 && len(set.Keys()) != 3 {
			t.Fatalf("after the next run: %v, %v, %d given out", set, bad, len(GivenOut(set, now)))
		}
		if err == nil {
			if n < 4 {
				t.Errorf("only %d changes were interrupted", n)
			}
			return
		}
	}
}

func holds(set *ech.Set, config []byte) bool {
	for _, k := range set.Keys() {
		if bytes.Equal(k.Config.Raw, config) {
			return true
		}
	}
	return false
}

var seed = flag.Uint64("seed", 0, "replay the simulation of this seed alone")

// TestFleet lets copies of a directory be rotated, interrupted and synchronized
// at random, and a client hold any list that was published, for its TTL. No
// client may ever hold a config that a copy it can reach has dropped.
func TestFleet(t *testing.T) {
	if *seed != 0 {
		simulate(t, *seed)
		return
	}
	for s := range uint64(3) { // the same each time: a run can be repeated
		simulate(t, s+1)
	}
}

// cached is a list that a client may have from DNS.
type cached struct {
	configs []ech.Config
	until   time.Time
}

type fleet struct {
	t      *testing.T
	seed   uint64
	random *mathrand.Rand
	copies []string
	policy Policy
	now    time.Time
	dns    []byte // published ECHConfigList
	caches []cached
}

func simulate(t *testing.T, seed uint64) {
	f := &fleet{t: t, seed: seed, random: mathrand.New(mathrand.NewPCG(seed, 0)), now: start}
	f.policy = Policy{Overlap: 6 * time.Hour, TTL: 2 * time.Hour, Every: 4 * time.Hour}
	if f.random.IntN(2) == 0 {
		f.policy.Lead = time.Hour
	}
	for range 1 + f.random.IntN(2) {
		f.copies = append(f.copies, t.TempDir())
	}
	generate(t, f.copies[0], "public.example", start)
	f.synchronize()
	f.publish()
	for range 60 {
		f.now = f.now.Add(time.Duration(f.random.IntN(40)) * time.Minute)
		f.rotate()
		f.synchronize()
		f.publish()
		f.check()
	}
}

// rotate runs on a copy, or on all of them before any sees the others' work;
// runs may be interrupted.
func (f *fleet) rotate() {
	at := f.copies
	if f.random.IntN(3) > 0 {
		at = []string{f.copies[f.random.IntN(len(f.copies))]}
	}
	for _, dir := range at {
		w := &writer{dir: dir, volatile: true}
		if f.random.IntN(3) == 0 {
			w.interrupt = interruptAt(f.random.IntN(4))
		}
		if _, err := rotate(f.t.Context(), w, f.policy, f.now, rand.Reader); err != nil && !errors.Is(err, errInterrupted) {
			f.t.Fatalf("seed %d: %v", f.seed, err)
		}
		settle(f.t, dir, f.now)
	}
}

// synchronize copies what another copy lacks or has newer. Files that only one
// of them has removed come back.
func (f *fleet) synchronize() {
	for _, from := range f.copies {
		for _, to := range f.copies {
			for _, name := range fileNames(f.t, from) {
				info, err := os.Stat(filepath.Join(from, name))
				if err != nil {
					f.t.Fatal(err)
				}
				if there, err := os.Stat(filepath.Join(to, name)); err == nil && !there.ModTime().Before(info.ModTime()) {
					continue
				}
				data, err := os.ReadFile(filepath.Join(from, name))
				if err != nil {
					f.t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
					f.t.Fatal(err)
				}
				chtimes(f.t, to, name, info.ModTime())
			}
		}
	}
}

// publish puts into DNS what a copy gives out. Until then clients took what was
// there before.
func (f *fleet) publish() {
	set, err := ech.LoadDir(os.DirFS(f.copies[f.random.IntN(len(f.copies))]))
	if err != nil {
		f.t.Fatalf("seed %d: %v", f.seed, err)
	}
	if f.dns != nil {
		f.cache(f.dns)
	}
	f.dns = set.RetryConfigs(f.now)
	f.cache(f.dns)
}

func (f *fleet) cache(list []byte) {
	configs, err := ech.ParseConfigList(list)
	if err != nil {
		f.t.Fatalf("seed %d: %v", f.seed, err)
	}
	f.caches = append(f.caches, cached{configs, f.now.Add(f.policy.TTL)})
}

func (f *fleet) check() {
	var valid []cached
	for _, c := range f.caches {
		if !f.now.After(c.until) {
			valid = append(valid, c)
		}
	}
	f.caches = valid
	for _, dir := range f.copies {
		set, err := ech.LoadDir(os.DirFS(dir))
		if err != nil {
			f.t.Fatalf("seed %d: %v", f.seed, err)
		}
		if len(set.Keys()) > 32 {
			f.t.Fatalf("seed %d: %d keys: they pile up", f.seed, len(set.Keys()))
		}
		for _, c := range valid {
			for i := range c.configs {
				if !holds(set, c.configs[i].Raw) {
					f.t.Fatalf("seed %d: after %v key %d is gone, but cached until %v", f.seed, f.now.Sub(start), c.configs[i].ID, c.until.Sub(start))
				}
			}
		}
	}
}

// Nothing that is said about keys shows one.
func TestNothingShowsKeys(t *testing.T) {
	dir := t.TempDir()
	generate(t, dir, "public.example", start)
	now := start.Add(daily.Every)
	changes := rotateAt(t, dir, daily, now)
	said := fmt.Sprintf("%v %+v %#v", changes, changes, changes)
	l, err := List(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	said += fmt.Sprintf("%v %+v %#v %s", l, *l, l.Entries, summary(changes, nil, now))
	for n := range 5 {
		_, err := rotate(t.Context(), &writer{dir: dir, volatile: true, interrupt: interruptAt(n)}, daily, now.Add(daily.Every), rand.Reader)
		said += fmt.Sprintf("%v %+v", err, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut.pem"), cutKey(t, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Rotate(t.Context(), dir, daily, now, rand.Reader)
	said += fmt.Sprintf("%v %+v", err, err)
	checkNoSecrets(t, said, secretsOf(t, dir))
}

// cutKey is a key file that ends within its config.
func cutKey(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, fileNames(t, dir)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return data[:len(data)-40]
}
