package keydir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"edge/ech"
)

var (
	errNothingCurrent = errors.New("holds no current key to replace: make the first with `edge keys gen-ech`")
	errLink           = errors.New("is a link: rotate the directory that it points into")
)

// Plan returns what Rotate would do now, and changes nothing.
func Plan(dir string, p Policy, now time.Time) ([]Change, error) {
	changes, _, err := prepare(dir, p, now)
	return changes, err
}

// Rotate makes successors of the current keys, retires keys that have one and
// removes those whose time is past, as the policy says. It returns what it did,
// also when it fails on the way: then another run goes on from there. When a
// file of the directory cannot be used nothing is done.
func Rotate(ctx context.Context, dir string, p Policy, now time.Time, rand io.Reader) ([]Change, error) {
	return rotate(ctx, &writer{dir: dir}, p, now, rand)
}

func rotate(ctx context.Context, w *writer, p Policy, now time.Time, rand io.Reader) ([]Change, error) {
	now = now.UTC().Truncate(time.Second) // as files hold it
	if _, err := os.Stat(w.dir); err != nil {
		return nil, about(w.dir, err)
	}
	unlock, err := lock(ctx, w.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := w.removeStale(now); err != nil {
		return nil, err
	}
	changes, files, err := prepare(w.dir, p, now)
	if err != nil {
		return nil, err
	}
	r := rotation{writer: w, policy: p, files: files, rand: rand, done: make(map[string]bool)}
	for _, f := range files {
		r.keys = append(r.keys, f.keys...)
	}
	for i := range changes {
		if err := r.apply(changes, i); err != nil {
			return changes[:i], err
		}
	}
	return changes, nil
}

// prepare plans, and checks that the plan can be carried out.
func prepare(dir string, p Policy, now time.Time) ([]Change, []*file, error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	_, files, bad, err := load(dir)
	if err != nil {
		return nil, nil, err
	}
	if len(bad) > 0 {
		return nil, nil, unusable(dir, bad)
	}
	if len(kinds(files, p.PublicName)) == 0 {
		if p.PublicName != "" {
			return nil, nil, fmt.Errorf("%s: for %s it %w", dir, p.PublicName, errNothingCurrent)
		}
		return nil, nil, fmt.Errorf("%s %w", dir, errNothingCurrent)
	}
	changes := plan(files, p, now)
	for _, c := range changes {
		if c.Action == Stay {
			continue
		}
		f := find(files, c.Key.File)
		if !f.info.Mode().IsRegular() && c.Action != Make {
			return nil, nil, fmt.Errorf("%s %w", filepath.Join(dir, f.name), errLink)
		}
		if _, err := asFile(f.info); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return changes, files, nil
}

// find returns the file of a name that is there.
func find(files []*file, name string) *file {
	return files[slices.IndexFunc(files, func(f *file) bool { return f.name == name })]
}

// rotation is one run, under the lock.
type rotation struct {
	*writer
	policy Policy
	files  []*file
	keys   []*ech.Key // all of the files, and those made
	rand   io.Reader
	done   map[string]bool // files that have been written for all of their changes
}

// apply carries out a change. The first of a file's carries out all of them.
func (r *rotation) apply(changes []Change, i int) error {
	c := &changes[i]
	switch {
	case c.Action == Stay:
		return nil
	case c.Action == Make:
		return r.succeed(c)
	case r.done[c.File]:
		return nil
	}
	r.done[c.File] = true
	f := find(r.files, c.File)
	var own []Change
	for _, other := range changes {
		if other.File == c.File && other.Action != Stay {
			own = append(own, other)
		}
	}
	same := func(o Change) bool { return o.Action == c.Action && o.When.Equal(c.When) }
	if len(own) < len(f.keys) || !allOf(own, same) {
		return r.split(f, own)
	}
	if c.Action == Remove {
		return r.remove(f.name)
	}
	return r.retire(f, c.When)
}

func allOf(changes []Change, ok func(Change) bool) bool {
	return !slices.ContainsFunc(changes, func(c Change) bool { return !ok(c) })
}

// succeed makes a key of the same kind.
func (r *rotation) succeed(c *Change) error {
	old := &c.Key.Config
	owner, err := asFile(find(r.files, c.Key.File).info)
	if err != nil {
		return err
	}
	p := ech.KeyParameters{
		PublicName:        old.PublicName,
		KEM:               old.KEM,
		MaximumNameLength: old.MaximumNameLength,
		Suites:            supported(old.Suites),
	}
	k, err := r.make(r.keys, p, c.When, owner, r.rand)
	if err != nil {
		return err
	}
	r.keys = append(r.keys, k)
	c.Key, c.File = k, k.File
	return nil
}

// supported leaves out suites that a key of another program's making lists and
// that cannot be used here.
func supported(suites []ech.Suite) []ech.Suite {
	var known []ech.Suite
	for _, s := range suites {
		if slices.Contains(ech.Suites, s) {
			known = append(known, s)
		}
	}
	return known
}

// retire rewrites a file all of whose keys retire.
func (r *rotation) retire(f *file, removeAfter time.Time) error {
	path := filepath.Join(r.dir, f.name)
	data, err := os.ReadFile(path)
	if err != nil {
		return about(path, err)
	}
	text, err := ech.RetireKeyFile(data, removeAfter)
	if err != nil {
		return about(path, err)
	}
	owner, err := asFile(f.info)
	if err != nil {
		return err
	}
	return r.replace(f.name, text, owner)
}

// split gives the keys of a file that stay a file each, and removes it: its
// lines hold for all of its keys, which now have different fates. Until it is
// removed both are there, and the role it gives counts.
func (r *rotation) split(f *file, own []Change) error {
	owner, err := asFile(f.info)
	if err != nil {
		return err
	}
	for _, k := range f.keys {
		at := slices.IndexFunc(own, func(c Change) bool { return c.Key == k })
		alone := *k
		switch {
		case at < 0:
		case own[at].Action == Remove:
			continue
		case own[at].Action == Retire:
			alone.Role, alone.RemoveAfter = ech.DecryptOnly, own[at].When
		}
		text, err := alone.MarshalKeyFile()
		if err != nil {
			return err
		}
		if _, err := r.createFree(fileName(&alone), text, owner); err != nil {
			return err
		}
	}
	return r.remove(f.name)
}
