package certstore

// This file walks a certificate directory: which files there are, and what tells
// whether one has changed. Nothing is read but directories.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Limits of one certificate directory.
const (
	depthMax     = 4       // directories below the root: Caddy's tree has three
	filesMax     = 1 << 20 // entries in the whole tree
	fileBytesMax = 1 << 20 // a larger file is not read
)

// fileState is what tells one state of a file from another. The change time
// cannot be set from outside, so a write always shows.
type fileState struct {
	device, inode uint64
	bytes         int64
	modified      int64 // ns since 1970
	changed       int64 // ns since 1970
	mode          uint32
	owner         uint32
}

// foundKind says what a walk found at a path.
type foundKind uint8

const (
	foundFile     foundKind = iota
	foundBroken             // a file or link that cannot be looked at
	foundEmptyDir           // a directory without any entry
	foundBadDir             // a directory that cannot be read
)

// found is one result of a walk. It compares with ==.
type found struct {
	path  string
	kind  foundKind
	errno unix.Errno // of foundBroken and foundBadDir
	state fileState  // of foundFile, after all links
}

// walk is one pass over a certificate directory.
type walk struct {
	found   []found
	links   []string // paths that are symbolic links
	dirs    []string // directories entered, the root first
	entries int
	seen    map[[2]uint64]struct{} // directories entered, by device and inode
}

// errTooMany is returned by scan for a tree no one meant as a certificate
// directory.
var errTooMany = fmt.Errorf("more than %d entries: not a certificate directory", filesMax)

// scan walks dir. It fails only when dir itself cannot be read.
func scan(dir string) (*walk, error) {
	w := &walk{seen: make(map[[2]uint64]struct{})}
	state, errno := stat(dir)
	if errno != 0 {
		return nil, &fs.PathError{Op: "stat", Path: dir, Err: errno}
	}
	if state.mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: unix.ENOTDIR}
	}
	if err := w.enter(dir, state, 0); err != nil {
		return nil, err
	}
	inParallel(len(w.found), func(i int) { w.found[i].complete() })
	slices.SortFunc(w.found, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	return w, nil
}

// enter walks one directory. Only the root's failure and errTooMany are errors.
func (w *walk) enter(dir string, state fileState, depth int) error {
	id := [2]uint64{state.device, state.inode}
	if _, been := w.seen[id]; been {
		return nil // reached by a link as well
	}
	w.seen[id] = struct{}{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		if depth == 0 {
			return err
		}
		w.found = append(w.found, found{path: dir, kind: foundBadDir, errno: errnoOf(err)})
		return nil
	}
	w.dirs = append(w.dirs, dir)
	if w.entries += len(entries); w.entries > filesMax {
		return errTooMany
	}
	if len(entries) == 0 {
		w.found = append(w.found, found{path: dir, kind: foundEmptyDir})
	}
	w.found = slices.Grow(w.found, len(entries))
	prefix := filepath.Join(dir, "x") // with its separator, if it has one
	prefix = prefix[:len(prefix)-1]
	isLetsencrypt := has(entries, "live") && has(entries, "archive")
	for _, e := range entries {
		if isLetsencrypt && e.Name() != "live" {
			continue
		}
		if err := w.visit(prefix+e.Name(), e, depth); err != nil {
			return err
		}
	}
	return nil
}

// visit looks at one directory entry. The state of plain files, of which there may
// be many, is left to complete.
func (w *walk) visit(path string, e fs.DirEntry, depth int) error {
	if isLeftover(e.Name()) {
		return nil
	}
	if e.Type().IsRegular() {
		w.found = append(w.found, found{path: path})
		return nil
	}
	if e.Type()&fs.ModeSymlink != 0 {
		w.links = append(w.links, path)
	}
	state, errno := stat(path)
	if errno != 0 {
		w.found = append(w.found, found{path: path, kind: foundBroken, errno: errno})
		return nil
	}
	switch state.mode & unix.S_IFMT {
	case unix.S_IFREG:
		w.found = append(w.found, found{path: path, state: state})
	case unix.S_IFDIR:
		if depth < depthMax {
			return w.enter(path, state, depth+1)
		}
	}
	return nil // sockets, pipes and devices hold no certificates
}

// complete fills in the state of a file that has none yet.
func (f *found) complete() {
	if f.kind != foundFile || f.state != (fileState{}) {
		return
	}
	if f.state, f.errno = stat(f.path); f.errno != 0 {
		f.kind = foundBroken
	}
}

// has says whether a directory, sorted by name, has an entry.
func has(entries []fs.DirEntry, name string) bool {
	_, is := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int {
		return cmp.Compare(e.Name(), name)
	})
	return is
}

// leftovers are endings of what editors, package managers and installers leave
// beside a file or write before they rename it.
var leftovers = []string{"~", ".bak", ".old", ".orig", ".save", ".tmp", ".temp", ".part", ".swp",
	".rpmsave", ".rpmorig", ".rpmnew", ".dpkg-old", ".dpkg-dist", ".dpkg-new"}

// isLeftover says whether a name is passed over: hidden, Kubernetes' own, or left
// by a program.
func isLeftover(name string) bool {
	if strings.HasPrefix(name, ".") {
		return true
	}
	return slices.ContainsFunc(leftovers, func(end string) bool { return strings.HasSuffix(name, end) })
}

// stat returns the state of what path leads to, through all links.
func stat(path string) (fileState, unix.Errno) {
	var st unix.Stat_t
	for {
		err := unix.Stat(path, &st)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return fileState{}, errnoOf(err)
		}
	}
	return fileState{
		device: st.Dev, inode: st.Ino, bytes: st.Size,
		modified: st.Mtim.Nano(), changed: st.Ctim.Nano(),
		mode: st.Mode, owner: st.Uid,
	}, 0
}

// errnoOf returns the system's error number in err, EIO if it has none.
func errnoOf(err error) unix.Errno {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}

// read returns the contents of a regular file in buf, which it may grow; bytes is
// how many it is expected to have. It never blocks on what has become a pipe since
// it was looked at.
func read(path string, bytes int64, buf []byte) ([]byte, error) {
	fd, err := openFile(path)
	if err != nil {
		return buf[:0], err
	}
	defer unix.Close(fd)
	buf = buf[:0]
	for len(buf) <= fileBytesMax {
		buf = slices.Grow(buf, 4096)
		room := buf[len(buf):cap(buf)]
		n, err := unix.Read(fd, room)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return buf, err
		}
		buf = buf[:len(buf)+n]
		// A read that left room at the expected end needs no second one to see it.
		if n == 0 || n < len(room) && int64(len(buf)) == bytes {
			return buf, nil
		}
	}
	return buf, unix.EFBIG
}

// openFile opens a file for reading.
func openFile(path string) (int, error) {
	for {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
