package certstore

// This file finds out which directories decide what the files of a tree are: those
// of the tree, and those through which its links lead.

import (
	"os"
	"path/filepath"
	"strings"
)

const (
	linksMax = 1 << 16 // links followed for their directories
	hopsMax  = 40      // links on one path, as the kernel counts (ELOOP)
)

// watchDirs returns the directories in which a change can change the tree: a
// certificate's link may lead through several others (Kubernetes: tls.crt, then
// ..data, then ..2026_01_02), and each can be swapped.
func (w *walk) watchDirs() []string {
	f := &linkFollower{physical: make(map[string]string), seen: make(map[string]struct{})}
	root, err := filepath.Abs(w.dirs[0])
	if err == nil {
		f.follow("/", root) // the root may be a link itself
	}
	for _, dir := range w.dirs {
		f.add(dir)
	}
	for _, link := range w.links[:min(len(w.links), linksMax)] {
		f.follow(f.physicalDir(dirOf(link)), filepath.Base(link))
	}
	return f.dirs
}

// linkFollower gathers directories.
type linkFollower struct {
	dirs     []string
	seen     map[string]struct{}
	physical map[string]string // directory to its path without links
}

// add adds a directory once.
func (f *linkFollower) add(dir string) {
	if _, is := f.seen[dir]; !is {
		f.seen[dir] = struct{}{}
		f.dirs = append(f.dirs, dir)
	}
}

// physicalDir returns the path without links of a directory.
func (f *linkFollower) physicalDir(dir string) string {
	if p, is := f.physical[dir]; is {
		return p
	}
	p, err := filepath.EvalSymlinks(dir)
	if err != nil {
		p = dir
	}
	f.physical[dir] = p
	return p
}

// follow walks path from the directory at, which has no links in it, and adds the
// directory of each link it comes through and that of what is at the end.
func (f *linkFollower) follow(at, path string) {
	hops := 0
	rest := strings.Split(path, "/")
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, part)
		info, err := os.Lstat(next)
		if err != nil {
			f.add(at) // where it would have to appear
			return
		}
		if info.Mode()&os.ModeSymlink == 0 {
			if len(rest) == 0 {
				f.add(at)
			}
			at = next
			continue
		}
		f.add(at)
		target, err := os.Readlink(next)
		if hops++; err != nil || hops > hopsMax {
			return
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
}
