package certstore

// This file follows a certificate directory: it notices that something changed,
// waits until it has stopped changing, and loads what is there.
//
// A change is noticed by looking at the state of all files, through all links:
// that cannot miss a swapped link the way a watch on a file does. Inotify, where
// it works, only says when to look. So a change is in service within two seconds,
// most often within half of one; without inotify (network file systems), and when
// looking takes longer than 10 ms, within a hundred times as long as looking
// takes, a minute at most.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The watcher's times.
const (
	pollMin   = time.Second            // between looks when all is quiet
	pollMax   = time.Minute            // the same for a tree that is slow to look at
	pollShare = 100                    // looking may take this part of the time
	settle    = 250 * time.Millisecond // without change before it is loaded
	settleMax = 750 * time.Millisecond // after which it is loaded in any case
	lookGap   = 50 * time.Millisecond  // between looks, at the least
)

// Watcher keeps a snapshot up to date.
type Watcher struct {
	dir     string
	changed func(*Snapshot, *Report)

	now    func() time.Time
	after  func(time.Duration) <-chan time.Time
	notice notifier

	mu      sync.Mutex
	current *Snapshot

	// Of the goroutine in Run alone:
	pending []found       // what was seen last that differed from current
	since   time.Time     // when there first was a difference; zero while there is none
	stable  time.Time     // since when pending has been as it is
	looking time.Duration // what one look takes
	late    *Problem      // why changes may be noticed late
	told    []Problem     // problems of the watcher itself that were told
}

// notifier says when to look. Its methods are called from one goroutine.
type notifier interface {
	// watch replaces the set of directories watched. An error means that changes
	// may be missed.
	watch(dirs []string) error
	// events has something in it after a change.
	events() <-chan struct{}
	close()
}

// NewWatcher returns a watcher of the directory current was loaded from. It calls
// changed, from the goroutine in Run, with each new snapshot; with the old one
// again when the directory itself cannot be read any more. Whether there is
// anything to log is in the report.
func NewWatcher(current *Snapshot, changed func(*Snapshot, *Report)) *Watcher {
	return &Watcher{dir: current.dir, changed: changed, current: current, now: time.Now, after: time.After}
}

// Replace tells the watcher that s, loaded from the same directory by other means,
// is now in service.
func (w *Watcher) Replace(s *Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = s
}

// Run watches until ctx ends. Call it once.
func (w *Watcher) Run(ctx context.Context) {
	var events <-chan struct{}
	if n, err := newInotify(); err == nil { // else looking often has to do
		w.notice = n
		events = n.events()
		defer n.close()
	}
	w.rewatch(nil)
	for {
		wait := w.look()
		select {
		case <-ctx.Done():
			return
		case <-w.after(wait):
			continue
		case <-events:
		}
		select { // an event comes seldom alone
		case <-ctx.Done():
			return
		case <-w.after(max(lookGap, 10*w.looking)):
		}
	}
}

// look looks at the directory once, loads it if that is due, and returns how long
// to wait until the next look.
func (w *Watcher) look() time.Duration {
	w.mu.Lock()
	current := w.current
	w.mu.Unlock()
	now := w.now()
	seen, err := scan(w.dir)
	w.looking = max(0, w.now().Sub(now))
	poll := min(max(pollMin, pollShare*w.looking), pollMax)
	if err != nil {
		w.since, w.pending = time.Time{}, nil
		bad := directoryFault(err)
		w.tell(current, current, &Problem{File: w.dir, What: "the certificate directory " + bad.what + keptNote, Fix: bad.fix})
		return poll
	}
	isChanged := !current.isOf(seen.found)
	if isChanged {
		if wait := w.unsettled(seen.found, now); wait > 0 {
			return wait
		}
	}
	w.since, w.pending = time.Time{}, nil
	isDue := !current.next.IsZero() && !now.Before(current.next)
	if isChanged || isDue || current.unread {
		w.load(current, seen, now)
	} else {
		w.tell(current, current, nil)
	}
	return poll
}

// unsettled returns how long to wait before a change is loaded: until it has not
// gone on for some time, or has gone on for too long.
func (w *Watcher) unsettled(seen []found, now time.Time) time.Duration {
	if w.since.IsZero() {
		w.since = now
	}
	if !slices.Equal(seen, w.pending) {
		w.pending, w.stable = seen, now
	}
	return min(settle-now.Sub(w.stable), settleMax-now.Sub(w.since))
}

// isOf says whether a snapshot is of the files found.
func (s *Snapshot) isOf(files []found) bool {
	return slices.EqualFunc(s.files, files, func(r fileRecord, f found) bool { return r.found == f })
}

// load makes a new snapshot of what was seen and hands it over. One made because
// files could not be read, and still cannot, is forgotten.
func (w *Watcher) load(current *Snapshot, seen *walk, now time.Time) {
	s := build(w.dir, seen, current, now)
	if s.unread && current.isOf(seen.found) && !newReport(current, s).Changed() {
		s = current
	}
	w.mu.Lock()
	isReplaced := w.current != current
	if !isReplaced {
		w.current = s
	}
	w.mu.Unlock()
	if isReplaced {
		return // Replace came in between: the next look is against that
	}
	w.rewatch(seen)
	w.tell(current, s, nil)
}

// tell hands over a snapshot if it is a new one, or if there is something new to
// say. directory is what is wrong with the directory itself, nil for nothing.
func (w *Watcher) tell(old, s *Snapshot, directory *Problem) {
	r := &Report{Problems: s.problems}
	if s != old {
		r = newReport(old, s)
	}
	var own []Problem
	for _, p := range []*Problem{directory, w.late} {
		if p != nil {
			own = append(own, *p)
		}
	}
	for _, p := range own {
		if !slices.Contains(w.told, p) {
			r.Fresh = append(r.Fresh, p)
		}
	}
	for _, p := range w.told {
		if !slices.Contains(own, p) {
			r.Solved++
		}
	}
	r.Problems = slices.Concat(own, r.Problems)
	w.told = own
	if s != old || r.Changed() {
		w.changed(s, r)
	}
}

// rewatch watches the directories of a walk, its own if nil.
func (w *Watcher) rewatch(seen *walk) {
	if w.notice == nil {
		return
	}
	if seen == nil {
		var err error
		if seen, err = scan(w.dir); err != nil {
			return // the first look tells
		}
	}
	w.late = nil
	err := w.notice.watch(seen.watchDirs())
	if err == nil || pollShare*w.looking <= pollMin {
		return // looking often is as good
	}
	w.late = &Problem{
		File: w.dir, Warning: true,
		What: fmt.Sprintf("changes are noticed late, after up to %v (inotify: %v)", pollMax, err),
		Fix:  "raise the sysctl fs.inotify.max_user_watches",
	}
}
