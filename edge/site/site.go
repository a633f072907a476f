// Opening a site, and what it holds.

package site

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Options of a site. A zero field takes its default.
type Options struct {
	// CacheBytes bounds the content kept in memory, all files together; 64 MiB.
	// Negative: nothing is kept.
	CacheBytes int64
	// CacheFileBytesMax is the size of the largest file that is kept; 1 MiB.
	CacheFileBytesMax int64
	// FilesMax is how many files an archive may hold; 4,194,304. One takes some
	// 150 bytes of memory and its name.
	FilesMax int
	// RangesMax is how many ranges one request may ask for; more are answered
	// with the whole file. 16, at most 64; 1 never gives several.
	RangesMax int
	// HTMLFallback: where there is no file /a and no directory, /a.html is served.
	HTMLFallback bool
	// Skipped hears of each entry that is left out of the index, and why; not of
	// directories. nil: nobody wants to know.
	Skipped func(name, why string)
}

const (
	filesMaxDefault          = 4 << 20
	filesMaxLimit            = 1 << 28 // what a slot can name
	rangesMaxDefault         = 16
	cacheBytesDefault        = 64 << 20
	cacheFileBytesMaxDefault = 1 << 20
)

func (o *Options) setDefaults() {
	if o.CacheBytes == 0 {
		o.CacheBytes = cacheBytesDefault
	}
	if o.CacheFileBytesMax == 0 {
		o.CacheFileBytesMax = cacheFileBytesMaxDefault
	}
	if o.FilesMax == 0 {
		o.FilesMax = filesMaxDefault
	}
	o.FilesMax = min(o.FilesMax, filesMaxLimit)
	if o.RangesMax == 0 {
		o.RangesMax = rangesMaxDefault
	}
	o.RangesMax = min(o.RangesMax, rangesMax)
}

// Site is one opened archive. All methods but Close may be called from any
// goroutine; none of the others after it.
type Site struct {
	file  *os.File
	fd    int
	name  string
	stamp stamp
	stale atomic.Pointer[string] // why, once it is

	index     *index
	modMax    int64 // no content is newer
	notFound  int   // entry of /404.html, -1
	rangesMax int
	cache     cache
}

// stamp is what tells an archive that was written to from one that was not. The
// time of change (ctime) is no part of it: renaming or removing the file sets it
// and leaves the bytes alone.
type stamp struct {
	size  int64
	mtime unix.Timespec
}

// Open indexes the tar file at path: its headers are read, not its content. The
// error is one line that names the file, the entry and the offset.
func Open(path string, opts Options) (*Site, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", path, bare(err))
	}
	if !info.Mode().IsRegular() { // opening a FIFO would wait for its writer
		return nil, fmt.Errorf("site %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", path, bare(err))
	}
	return open(f, path, opts)
}

// OpenDir serves the directory dir as it is now: it is packed, as Pack does,
// into a temporary file that has no name, and that is opened.
func OpenDir(dir string, opts Options) (*Site, error) {
	f, err := os.CreateTemp("", "edge-site-*.tar")
	if err != nil {
		return nil, fmt.Errorf("site %s: a temporary file to pack it into: %w", dir, err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("site %s: %w", dir, err)
	}
	if err := Pack(f, dir, PackOptions{Skipped: opts.Skipped}); err != nil {
		f.Close()
		return nil, err
	}
	return open(f, dir, opts)
}

// open indexes f, which it owns.
func open(f *os.File, name string, opts Options) (*Site, error) {
	opts.setDefaults()
	s := &Site{file: f, fd: int(f.Fd()), name: name, rangesMax: opts.RangesMax, notFound: -1}
	if err := s.load(&opts); err != nil {
		f.Close()
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	return s, nil
}

func (s *Site) load(opts *Options) error {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return err
	}
	s.stamp = stamp{st.Size, st.Mtim}
	s.modMax = min(st.Mtim.Sec, time.Now().Unix())
	identity := fmt.Appendf(nil, "%d %d %d %d.%d %d.%d",
		st.Dev, st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
	var err error
	if s.index, err = buildIndex(s.file, st.Size, identity, s.modMax, opts); err != nil {
		return err
	}
	if stale, _ := s.Stale(); stale {
		return errors.New("it changed while it was being read: is it still being written?")
	}
	if i, ok := s.index.findFile([]byte("/404.html")); ok {
		s.notFound = i
	}
	s.cache.init(len(s.index.entries), opts)
	return nil
}

// bare is the cause without the operation and the path.
func bare(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// Close lets go of the file. Whoever reads from it by its descriptor must be
// done.
func (s *Site) Close() error { return s.file.Close() }

// Name is what the site was opened by, for messages.
func (s *Site) Name() string { return s.name }

// Files is the number of files that are served.
func (s *Site) Files() int { return s.index.files }

// Stale says whether the file was written to or cut since it was opened, and
// how. What was read from it before a call that gives false is what was
// indexed; after one that gives true the index is worth nothing, the call gives
// true for good, and Serve answers 503 for all it does not hold in memory. A
// file that was replaced (renamed over) or removed is not stale: we hold the
// old one.
//
// A sender asks between reading and sending. The kernel's clock for file times
// moves every few milliseconds; a write within one such step of Open, that
// leaves the size as it was, is not seen.
func (s *Site) Stale() (stale bool, reason string) {
	if reason := s.stale.Load(); reason != nil {
		return true, *reason
	}
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return s.spoil(err.Error())
	}
	switch {
	case st.Size != s.stamp.size:
		return s.spoil(fmt.Sprintf("its size was %d bytes and is now %d", s.stamp.size, st.Size))
	case st.Mtim != s.stamp.mtime:
		return s.spoil("it was written to")
	}
	return false, ""
}

// spoil ends the use of the index. The first reason stays.
func (s *Site) spoil(reason string) (bool, string) {
	s.stale.CompareAndSwap(nil, &reason)
	return true, *s.stale.Load()
}

// List gives the paths that begin with prefix, in byte order, those that are
// served to nobody included.
func (s *Site) List(prefix string) []string {
	var paths []string
	for i := range s.index.entries {
		if s.index.entries[i].flags&flagGone == 0 && strings.HasPrefix(string(s.index.path(i)), prefix) {
			paths = append(paths, string(s.index.path(i)))
		}
	}
	slices.Sort(paths)
	return paths
}

// ReadFile reads the file at path, which List gave, if it has at most bytesMax
// bytes.
func (s *Site) ReadFile(path string, bytesMax int64) ([]byte, error) {
	i, ok := s.index.findFile([]byte(path))
	if !ok {
		return nil, fmt.Errorf("site %s: %s: %w", s.name, path, os.ErrNotExist)
	}
	e := &s.index.entries[i]
	if e.size > bytesMax {
		return nil, fmt.Errorf("site %s: %s: %d bytes, at most %d are read", s.name, path, e.size, bytesMax)
	}
	b := make([]byte, e.size)
	if _, err := io.ReadFull(io.NewSectionReader(s.file, e.off, e.size), b); err != nil {
		return nil, fmt.Errorf("site %s: %s: %w", s.name, path, err)
	}
	if stale, reason := s.Stale(); stale {
		return nil, fmt.Errorf("site %s: %s: the archive changed: %s", s.name, path, reason)
	}
	return b, nil
}
