package gateway

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"edge/edge/service"
)

// reload makes a new generation and puts it in service, or keeps the old one
// and says why. It runs on the control goroutine alone.
func (s *server) reload(why string, keepSite bool) error {
	old := s.current()
	next, err := s.load(old, keepSite)
	if err != nil {
		s.reloadsFailed.Add(1)
		s.log.Printf("reload (%s) failed, generation %d stays in service: %v", why, old.number, err)
		return err
	}
	s.reloads.Add(1)
	s.swap(next)
	s.log.Printf("reload (%s): generation %d is in service", why, next.number)
	return nil
}

// swap puts next in service. Each worker's share is counted before it can be
// overtaken by another swap.
func (s *server) swap(next *generation) {
	old := s.gen.Swap(next)
	for _, w := range s.workers {
		next.take()
		w.r.Post(func() { w.adopt(next) })
	}
	old.drop()
}

// siteLook is how often --reload-on-change looks at the site.
const siteLook = time.Second

// control does what it is asked to by signals, and reloads when files change,
// until ctx ends.
func (s *server) control(ctx context.Context, o Options) {
	look := time.NewTicker(siteLook)
	defer look.Stop()
	watch := newSiteWatch(s)
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Reload:
			s.reopenLogs()
			s.notify.Reloading()
			s.reload("SIGHUP", false)
			s.notify.Ready()
			watch.seen()
		case <-o.Upgrade:
			s.upgrade()
		case <-s.certsChanged:
			s.reload("certificates changed", true)
		case <-look.C:
			if s.cfg.ReloadOnChange && watch.changed() {
				s.reload("site changed", false)
			}
		}
	}
}

// reopenLogs goes on in new files where the old ones were moved away.
func (s *server) reopenLogs() {
	s.logs.reopen()
	if err := s.log.Reopen(); err != nil {
		s.log.Printf("error log: %v: writing on to the old file", err)
	}
}

// upgrade starts the binary that is at our path now, hands it the listening
// sockets, and drains once it serves.
func (s *server) upgrade() {
	if os.Getpid() == 1 {
		s.log.Printf("upgrade: as process 1 edge cannot leave to a successor: start a new container instead")
		return
	}
	path, err := os.Executable()
	if err != nil {
		s.log.Printf("upgrade: %v", err)
		return
	}
	// The kernel marks the path of a binary that was replaced.
	path = strings.TrimSuffix(path, " (deleted)")
	if err := service.Upgrade(path, os.Args[1:], os.Environ(), s.sockets); err != nil {
		s.log.Printf("%v; this process goes on", err)
		return
	}
	s.log.Printf("upgrade: the new process serves, this one drains")
	s.leave()
}

// watchdog tells the service manager that every worker still turns, as often as
// it wants to hear it.
func (s *server) watchdog(ctx context.Context) {
	every := s.notify.Watchdog() / 2
	if every == 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			turned := make(chan struct{}, len(s.workers))
			for _, w := range s.workers {
				w.r.Post(func() { turned <- struct{}{} })
			}
			for range s.workers {
				<-turned
			}
			s.notify.Alive()
		}
	}
}

// siteWatch notices a site that was replaced. A change counts when it has stood
// still for one look: an archive is not written in an instant.
type siteWatch struct {
	s       *server
	last    string // as of the last look
	handled string // what was loaded, or failed to
}

func newSiteWatch(s *server) *siteWatch {
	w := &siteWatch{s: s}
	w.seen()
	return w
}

// seen takes the site as it was loaded for what there is.
func (w *siteWatch) seen() {
	if open := w.s.current().shared; open != nil {
		w.handled = open.changed
	}
	w.last = w.handled
}

func (w *siteWatch) changed() bool {
	now := siteSignature(w.s.cfg.Site)
	still := now == w.last
	w.last = now
	if !still || now == w.handled {
		return false
	}
	w.handled = now
	return true
}

// siteSignature changes when the site's files do: identity, size and times of
// the tar, or of every file below the directory.
func siteSignature(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "unreadable"
	}
	if !info.IsDir() {
		return fileSignature(info)
	}
	sum := fnv.New128a()
	filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
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
