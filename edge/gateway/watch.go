package gateway

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lookEvery is how often files are looked at, and lookShare bounds what that may
// cost: looking takes at most this part of the time.
const (
	lookEvery = time.Second
	lookShare = 50
)

// fileWatch notices that files, or anything below directories, were replaced. A
// change counts when it has stood still for one look: an archive is not written in
// an instant.
type fileWatch struct {
	what    string // changed, for the log
	part    parts
	paths   []string
	loaded  func() string // signature of what is in service
	last    string        // as of the last look
	handled string        // what was loaded, or failed to
	next    time.Time     // of the next look
}

// watches are the files whose changes are loaded without a signal: the ECH keys,
// and with --reload-on-change all that a reload loads. Certificates have a watcher
// of their own.
func (s *server) watches() (all []*fileWatch) {
	add := func(what string, part parts, loaded func() string, paths ...string) {
		if strings.Join(paths, "") != "" {
			all = append(all, &fileWatch{what: what, part: part, paths: paths, loaded: loaded})
		}
	}
	add("ECH keys", partKeys, func() string { return s.current().keysChanged }, s.cfg.ECHDir)
	if s.cfg.ReloadOnChange {
		add("site", partSite, func() string { return s.current().siteChanged }, s.siteFiles()...)
		add("client authorities", partClients, func() string { return s.current().clientsChanged }, s.cfg.ClientCA)
		add("ticket keys", partTickets, func() string { return s.ticketsChanged }, s.cfg.TicketKeys)
	}
	for _, w := range all {
		w.seen()
	}
	return all
}

// siteFiles are the site, and the programs beside it: they change together, so that
// what is bad in one is tried again with a change of the other.
func (s *server) siteFiles() []string {
	return append([]string{s.cfg.Site, s.cfg.ScriptDir}, s.cfg.Scripts...)
}

// seen takes what is in service for what there is.
func (w *fileWatch) seen() {
	w.handled = w.loaded()
	w.last = w.handled
}

// changed looks, if it is time to, and says whether there is something to load.
// What it once said so of it does not say again.
func (w *fileWatch) changed() bool {
	if time.Now().Before(w.next) {
		return false
	}
	start := time.Now()
	now := signatureOf(w.paths...)
	w.next = start.Add(lookShare * time.Since(start))
	still := now == w.last
	w.last = now
	if !still || now == w.handled {
		return false
	}
	w.handled = now
	return true
}

// signatureOf changes when the files at the paths do: identity, size and times of
// a file, or of every file below a directory.
func signatureOf(paths ...string) string {
	var all []string
	for _, path := range paths {
		if path != "" {
			all = append(all, signatureOfOne(path))
		}
	}
	return strings.Join(all, " ")
}

func signatureOfOne(path string) string {
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
