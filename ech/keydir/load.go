package keydir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edge/ech"
)

// file is one key file that can be used.
type file struct {
	name    string
	keys    []*ech.Key
	info    fs.FileInfo // of the file itself, not of what a link points to
	written time.Time   // no earlier than the keys got their role
}

// load reads the directory as a server does, file by file in the order of their
// names. set is nil when it cannot be read at all; bad are the files that cannot
// be used.
func load(dir string) (set *ech.Set, files []*file, bad []*ech.FileError, err error) {
	set, err = ech.LoadDir(os.DirFS(dir))
	if set == nil {
		return nil, nil, nil, about(dir, err)
	}
	bad = fileErrors(err)
	byName := make(map[string]*file)
	for _, k := range set.Keys() {
		f := byName[k.File]
		if f == nil {
			f = &file{name: k.File}
			byName[k.File] = f
			files = append(files, f)
		}
		f.keys = append(f.keys, k)
	}
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		if f.info, err = os.Lstat(filepath.Join(dir, f.name)); err != nil {
			return nil, nil, nil, err
		}
		f.written = f.info.ModTime().Truncate(time.Second) // as all times here
	}
	return set, files, bad, nil
}

// fileErrors takes apart what ech.LoadDir joined.
func fileErrors(err error) []*ech.FileError {
	var bad []*ech.FileError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			var f *ech.FileError
			if errors.As(e, &f) {
				bad = append(bad, f)
			}
		}
	}
	return bad
}

// about makes an error that names path and the reason alone, whatever file and
// system call err names.
func about(path string, err error) error {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		err = pathErr.Err
	case errors.As(err, &linkErr):
		err = linkErr.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
