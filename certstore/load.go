package certstore

// This file is the way from a directory to a snapshot.

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Load reads a certificate directory. previous is the snapshot in service, nil
// for none: what did not change is taken over from it, and its pairs stay where
// the files no longer make one. now decides what has expired.
//
// The only error is that the directory itself cannot be read; then the previous
// snapshot should stay in service. Whatever is wrong inside it is in the report.
func Load(dir string, previous *Snapshot, now time.Time) (*Snapshot, *Report, error) {
	dir = filepath.Clean(dir)
	w, err := scan(dir)
	if err != nil {
		bad := directoryFault(err)
		return nil, nil, fmt.Errorf("certificate directory %s %s: %s", dir, bad.what, bad.fix)
	}
	s := build(dir, w, previous, now)
	return s, newReport(previous, s), nil
}

// directoryFault says why a directory cannot be read, to be put behind its name.
func directoryFault(err error) *fault {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fault{"does not exist", "create it, or name another"}
	case errors.Is(err, fs.ErrPermission):
		return &fault{"cannot be read by this user", "see to its mode and those of its parents"}
	case errors.Is(err, unix.ENOTDIR):
		return &fault{"is not a directory", "name the directory the certificate and key files are in"}
	}
	return &fault{fmt.Sprintf("cannot be read (%v)", err), "see to the disk or the mount"}
}

// build makes a snapshot of what a walk found.
func build(dir string, w *walk, previous *Snapshot, now time.Time) *Snapshot {
	if previous == nil {
		previous = &Snapshot{}
	}
	files := newReader().readAll(w.found, previous.files)
	a := newAssembly(dir, files, previous, now)
	a.assemble()
	s := &Snapshot{dir: dir, files: files, pairs: a.finish(), number: numbers.Add(1), follows: previous.number}
	s.unread = slices.ContainsFunc(files, func(f fileRecord) bool { return f.isUnread() })
	s.index(now)
	s.dateProblems(a)
	s.problems = a.sortedProblems()
	s.next = s.nextChange(now)
	return s
}

// nextChange finds what NextChange returns.
func (s *Snapshot) nextChange(now time.Time) time.Time {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range s.pairs {
		p := &s.pairs[i]
		consider(p.NotBefore)
		consider(p.NotAfter.Add(time.Second)) // the last second is still valid
		if p.staple != nil {
			consider(p.staple.begins)
			consider(p.staple.ends)
		}
	}
	return next
}
