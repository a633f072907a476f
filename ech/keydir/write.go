package keydir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Writing to the directory. After each step here the directory is one that a
// server can load.

// keyFileMode lets nobody but the owner read a key.
const keyFileMode = 0o600

// Names of files that are being written. They begin with a dot, so that no
// server takes one for a key. One that a run left behind is removed once it is
// older than any run lasts.
const (
	tempPrefix = ".edge-key-"
	tempSuffix = ".tmp"
	tempAge    = time.Hour
)

// ownership is who may read a file.
type ownership struct {
	uid, gid int // -1: as it comes
	mode     fs.FileMode
}

// asDirectory is the ownership of a key that replaces no other: the owner's
// alone. When root makes it, it belongs to whom the directory belongs: a key
// that the server may not read is none.
func asDirectory(dir string) (ownership, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return ownership{}, err
	}
	o := ownership{uid: -1, gid: -1, mode: keyFileMode}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		o.uid, o.gid = int(st.Uid), int(st.Gid)
	}
	return o, nil
}

// asFile is the ownership of what takes a key file's place. The group may read
// it if it could before, others never. Fails when we cannot write a file that
// its owner could read.
func asFile(info fs.FileInfo) (ownership, error) {
	o := ownership{uid: -1, gid: -1, mode: keyFileMode | info.Mode().Perm()&0o040}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
	case os.Geteuid() == 0:
		o.uid, o.gid = int(st.Uid), int(st.Gid)
	case int(st.Uid) != os.Geteuid():
		return o, fmt.Errorf("%s belongs to the user with id %d, who could not read what we write: run as that user or as root", info.Name(), st.Uid)
	case o.mode != keyFileMode:
		o.gid = int(st.Gid)
	}
	return o, nil
}

// writer changes one directory.
type writer struct {
	dir string

	volatile bool // tests of many runs do not wait for the disk

	// interrupt is called before each change; tests end runs there.
	interrupt func(what string) error
}

func (w *writer) before(what string) error {
	if w.interrupt == nil {
		return nil
	}
	return w.interrupt(what)
}

// create writes a file that is not there yet. Fails with fs.ErrExist when it is.
func (w *writer) create(name string, data []byte, o ownership) error {
	return w.write(name, data, o, renameNew)
}

// replace writes a file that is there.
func (w *writer) replace(name string, data []byte, o ownership) error {
	return w.write(name, data, o, os.Rename)
}

// write puts the file on disk under a temporary name and lets rename move it.
func (w *writer) write(name string, data []byte, o ownership, rename func(from, to string) error) error {
	path := filepath.Join(w.dir, name)
	err := w.writeTemp(name, data, o, func(from string) error { return rename(from, path) })
	if err != nil {
		return about(path, err)
	}
	return w.sync()
}

func (w *writer) writeTemp(name string, data []byte, o ownership, rename func(from string) error) (err error) {
	f, err := os.CreateTemp(w.dir, tempPrefix+"*"+tempSuffix) // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if o.uid >= 0 || o.gid >= 0 {
		if err := f.Chown(o.uid, o.gid); err != nil {
			return err
		}
	}
	if err := errors.Join(f.Chmod(o.mode), w.flush(f), f.Close()); err != nil {
		return err
	}
	if err := w.before("rename " + name); err != nil {
		return err
	}
	return rename(f.Name())
}

// renameNew renames from to to, which must not exist. File systems that cannot
// do it in one step can link.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	}
	return err
}

// remove removes a file for good.
func (w *writer) remove(name string) error {
	if err := w.before("remove " + name); err != nil {
		return err
	}
	path := filepath.Join(w.dir, name)
	if err := os.Remove(path); err != nil {
		return about(path, err)
	}
	return w.sync()
}

// sync makes the directory's entries last.
func (w *writer) sync() error {
	d, err := os.Open(w.dir)
	if err != nil {
		return about(w.dir, err)
	}
	defer d.Close()
	if err := w.flush(d); err != nil && !errors.Is(err, unix.EINVAL) { // not every file system can
		return about(w.dir, err)
	}
	return nil
}

func (w *writer) flush(f *os.File) error {
	if w.volatile {
		return nil
	}
	return f.Sync()
}

// removeStale removes what runs that ended early left behind.
func (w *writer) removeStale(now time.Time) error {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !strings.HasSuffix(e.Name(), tempSuffix) {
			continue
		}
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < tempAge {
			continue
		}
		if err := w.remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
