package gateway

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lookEvery is how often files are looked at, and lookShare bounds what that may
// cost: looking takes at most this part of the time.
const (
	lookEvery = time.Second
	lookShare = 50
)

// fileWatch notices that a file, or anything below a directory, was replaced. A
// change counts when it has stood still for one look: an archive is not written
// in an instant. The nil fileWatch notices nothing.
type fileWatch struct {
	path    string
	loaded  func() string // signature of what is in service
	last    string        // as of the last look
	handled string        // what was loaded, or failed to
	next    time.Time     // of the next look
}

// watchSite is nil without --reload-on-change.
func (s *server) watchSite() *fileWatch {
	if !s.cfg.ReloadOnChange {
		return nil
	}
	w := &fileWatch{path: s.cfg.Site, loaded: func() string { return s.current().shared.changed }}
	w.seen()
	return w
}

// watchKeys is nil without ECH keys.
func (s *server) watchKeys() *fileWatch {
	if s.cfg.ECHDir == "" {
		return nil
	}
	w := &fileWatch{path: s.cfg.ECHDir, loaded: func() string { return s.current().keysChanged }}
	w.seen()
	return w
}

// seen takes what is in service for what there is.
func (w *fileWatch) seen() {
	if w != nil {
		w.handled = w.loaded()
		w.last = w.handled
	}
}

// changed looks, if it is time to, and says whether there is something to load.
// What it once said so of it does not say again.
func (w *fileWatch) changed() bool {
	if w == nil || time.Now().Before(w.next) {
		return false
	}
	start := time.Now()
	now := signatureOf(w.path)
	w.next = start.Add(lookShare * time.Since(start))
	still := now == w.last
	w.last = now
	if !still || now == w.handled {
		return false
	}
	w.handled = now
	return true
}

// signatureOf changes when the files at a path do: identity, size and times of
// the file, or of every file below the directory.
func signatureOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "unreadable"
	}
	if !info.IsDir() {
		return fileSignature(info)
	}
	sum := fnv.New128a()
	// With a slash at its end a link to a directory is walked too.
	filepath.WalkDir(path+"/", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintf(sum, "%q unreadable\n", name)
			return nil
		}
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(sum, "%q %s\n", name, fileSignature(info))
		}
		return nil
	})
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func fileSignature(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano())
}
