package certstore

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watching is a watcher whose looks a test makes one by one, at times of its own.
type watching struct {
	*tree
	w       *Watcher
	at      time.Time
	last    *Snapshot
	reports []*Report
}

func (tr *tree) watching() *watching {
	s, _ := tr.load(nil)
	wt := &watching{tree: tr, at: now, last: s}
	wt.w = NewWatcher(s, func(s *Snapshot, r *Report) {
		wt.last = s
		wt.reports = append(wt.reports, r)
	})
	wt.w.now = func() time.Time { return wt.at }
	return wt
}

// look makes a look, wants it to ask for the next after wait, and lets that time
// pass. It returns the reports made.
func (wt *watching) look(why string, wait time.Duration) []*Report {
	wt.t.Helper()
	wt.reports = nil
	if got := wt.w.look(); got != wait {
		wt.t.Errorf("%s: next look after %v, want %v", why, got, wait)
	}
	wt.at = wt.at.Add(wait)
	return wt.reports
}

// quiet makes a look that reports nothing.
func (wt *watching) quiet(why string, wait time.Duration) {
	wt.t.Helper()
	if reports := wt.look(why, wait); len(reports) != 0 {
		wt.t.Errorf("%s: report %+v", why, reports[0])
	}
}

// one makes a look that loads a new snapshot.
func (wt *watching) one(why string) *Report {
	wt.t.Helper()
	reports := wt.look(why, pollMin)
	if len(reports) != 1 {
		wt.t.Fatalf("%s: %d reports", why, len(reports))
	}
	return reports[0]
}

func TestWatchLoadsWhatHasSettled(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	wt := newTree(t).pair("x", was).watching()
	wt.quiet("at first", pollMin)
	wt.write("x.pem", chainPEM(next)[:200])
	wt.quiet("half written", settle)
	wt.write("x.pem", chainPEM(next))
	wt.quiet("certificate written", settle)
	wt.write("x.key", next.keyPEM())
	wt.quiet("key written", settle)
	if r := wt.one("settled"); len(r.Problems) != 0 || !slices.Equal(r.Renewed, []string{wt.path("x.pem")}) {
		t.Errorf("report %+v", r)
	}
	want(t, wt.last, "a.example", next)
	wt.quiet("after", pollMin)
}

func TestWatchDoesNotWaitForEver(t *testing.T) {
	wt := newTree(t).pair("x", server(t, nil, "a.example")).watching()
	began := wt.at
	for i := range 100 {
		wt.write("README", strings.Repeat("x", i))
		if wt.w.look() == pollMin {
			break
		}
		wt.at = wt.at.Add(settle)
	}
	if waited := wt.at.Sub(began); waited > settleMax || len(wt.reports) != 1 {
		t.Errorf("%d reports after %v of changes, want one after at most %v", len(wt.reports), waited, settleMax)
	}
}

func TestWatchDelay(t *testing.T) {
	if worst := pollMin + settleMax; worst > 2*time.Second {
		t.Errorf("a change may take %v", worst)
	}
}

func TestWatchTellsMismatchOnce(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	wt := newTree(t).pair("x", was).watching()
	wt.write("x.pem", chainPEM(next))
	wt.quiet("written", settle)
	if r := wt.one("settled"); len(r.Fresh) != 1 || len(r.Kept) != 1 {
		t.Errorf("report %+v", r)
	}
	want(t, wt.last, "a.example", was)
	for range 3 {
		wt.quiet("no more news", pollMin)
	}
	wt.write("x.key", next.keyPEM())
	wt.quiet("key written", settle)
	if r := wt.one("whole again"); r.Solved != 1 || len(r.Problems) != 0 {
		t.Errorf("report %+v", r)
	}
	want(t, wt.last, "a.example", next)
}

func TestWatchFollowsLinks(t *testing.T) {
	tr := newTree(t)
	var certs []*signed
	for _, generation := range []string{"..1", "..2", "..3", "..4"} {
		c := server(t, nil, "a.example")
		certs = append(certs, c)
		tr.write("a/"+generation+"/tls.crt", chainPEM(c)).write("a/"+generation+"/tls.key", c.keyPEM())
	}
	tr.link("a/tls.crt", "..data/tls.crt").link("a/tls.key", "..data/tls.key").link("a/..data", "..1")
	wt := tr.watching()
	for i, generation := range []string{"..2", "..3", "..4"} {
		wt.link("a/..data_tmp", generation)
		if err := os.Rename(wt.path("a/..data_tmp"), wt.path("a/..data")); err != nil {
			t.Fatal(err)
		}
		wt.remove("a/.." + string(rune('1'+i)))
		wt.quiet("swapped", settle)
		if r := wt.one("settled"); len(r.Renewed) != 1 || len(r.Problems) != 0 {
			t.Errorf("report %+v", r)
		}
		want(t, wt.last, "a.example", certs[i+1])
	}
}

func TestWatchSeesTheClock(t *testing.T) {
	soon := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}, NotAfter: now.Add(90 * time.Second)}, p256(t), nil)
	other := issue(t, &x509.Certificate{DNSNames: []string{"a.example"}}, rsa2048(), nil)
	wt := newTree(t).pair("soon", soon).pair("other", other).watching()
	for wt.at.Before(soon.x.NotAfter.Add(time.Second)) {
		wt.quiet("valid", pollMin)
	}
	if r := wt.one("expired"); len(r.Fresh) != 1 || !strings.Contains(r.Fresh[0].What, "expired") {
		t.Errorf("report %+v", r)
	}
	want(t, wt.last, "a.example", other, soon)
	wt.quiet("after", pollMin)
}

func TestWatchKeepsWhenTheDirectoryIsGone(t *testing.T) {
	c := server(t, nil, "a.example")
	wt := newTree(t).pair("certs/x", c).watching()
	sub := (&tree{t, wt.path("certs")}).watching()
	first := sub.last
	if err := os.Rename(wt.path("certs"), wt.path("away")); err != nil {
		t.Fatal(err)
	}
	if r := sub.one("gone"); len(r.Fresh) != 1 || r.Fresh[0].File != wt.path("certs") || sub.last != first {
		t.Errorf("report %+v", r)
	}
	sub.quiet("still gone", pollMin)
	if err := os.Rename(wt.path("away"), wt.path("certs")); err != nil {
		t.Fatal(err)
	}
	// Back again, with the same files in it.
	if r := sub.one("back"); r.Solved != 1 || len(r.Problems) != 0 || sub.last != first {
		t.Errorf("report %+v", r)
	}
	sub.quiet("after", pollMin)
}

func TestWatchReplace(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	wt := newTree(t).pair("x", was).watching()
	s, _ := wt.pair("x", next).load(wt.last)
	if !s.Follows(wt.last) || wt.last.Follows(s) {
		t.Error("the new snapshot does not follow the old one")
	}
	wt.w.Replace(s)
	wt.quiet("replaced", pollMin)
}

// TestWatchReadsAgain has a file that cannot be read for a reason that passes
// without a change to it.
func TestWatchReadsAgain(t *testing.T) {
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	wt := newTree(t).pair("x", was).watching()
	for i := range wt.last.files {
		f := &wt.last.files[i]
		f.content = &content{fault: readFault(f.found, unix.EMFILE), unread: true}
	}
	wt.last.unread = true
	if r := wt.one("readable again"); len(r.Problems) != 0 || wt.last.unread {
		t.Errorf("report %+v", r)
	}
	wt.quiet("after", pollMin)

	if os.Geteuid() == 0 {
		t.Log("not tried as the superuser: a file that stays unreadable")
		return
	}
	wt.pair("x", next)
	if err := os.Chmod(wt.path("x.pem"), 0); err != nil {
		t.Fatal(err)
	}
	wt.quiet("unreadable", settle)
	if r := wt.one("settled"); len(r.Fresh) != 1 || len(r.Kept) != 1 {
		t.Errorf("report %+v", r)
	}
	wt.compare(wt.last.Problems(), []string{"x.pem: cannot be read by user"})
	for range 3 {
		wt.quiet("no news", pollMin)
	}
}

func TestWatchSlowTree(t *testing.T) {
	wt := newTree(t).pair("x", server(t, nil, "a.example")).watching()
	for took, wait := range map[time.Duration]time.Duration{
		time.Millisecond: pollMin, 50 * time.Millisecond: 5 * time.Second, 10 * time.Second: pollMax,
	} {
		looks := 0
		wt.w.now = func() time.Time {
			looks++
			return now.Add(time.Duration(looks) * took)
		}
		if got := wt.w.look(); got != wait {
			t.Errorf("a look of %v: next after %v, want %v", took, got, wait)
		}
	}
}

// deafNotifier is one that cannot watch.
type deafNotifier struct{}

func (deafNotifier) watch([]string) error    { return errors.New("no watches left") }
func (deafNotifier) events() <-chan struct{} { return nil }
func (deafNotifier) close()                  {}

func TestWatchTellsWhenItIsLate(t *testing.T) {
	wt := newTree(t).pair("x", server(t, nil, "a.example")).watching()
	wt.w.notice = deafNotifier{}
	wt.w.rewatch(nil)
	wt.quiet("a quick tree", pollMin)
	wt.w.looking = time.Second
	wt.w.rewatch(nil)
	if r := wt.one("a slow tree"); len(r.Fresh) != 1 || !strings.Contains(r.Fresh[0].What, "no watches left") {
		t.Errorf("report %+v", r)
	}
	wt.quiet("told", pollMin)
}

// TestRunHearsOfChanges runs the whole watcher on real inotify; the test fires its
// timers.
func TestRunHearsOfChanges(t *testing.T) {
	if n, err := newInotify(); err != nil {
		t.Skipf("no inotify here: %v", err)
	} else {
		n.close()
	}
	type timer struct {
		d    time.Duration
		fire chan time.Time
	}
	was, next := server(t, nil, "a.example"), server(t, nil, "a.example")
	tr := newTree(t).write("away/x.pem", chainPEM(was)).write("away/x.key", was.keyPEM()).
		link("in/x.pem", "../away/x.pem").link("in/x.key", "../away/x.key")
	first, _, err := Load(tr.path("in"), nil, now)
	if err != nil {
		t.Fatal(err)
	}
	timers, snapshots := make(chan timer), make(chan *Snapshot, 1)
	w := NewWatcher(first, func(s *Snapshot, _ *Report) { snapshots <- s })
	var passed atomic.Int64
	w.now = func() time.Time { return now.Add(time.Duration(passed.Load())) }
	ctx, cancel := context.WithCancel(t.Context())
	w.after = func(d time.Duration) <-chan time.Time {
		tm := timer{d, make(chan time.Time, 1)}
		select {
		case timers <- tm:
		case <-ctx.Done():
		}
		return tm.fire
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	if tm := <-timers; tm.d != pollMin {
		t.Errorf("first timer of %v", tm.d)
	}
	// The poll timer is never fired: only inotify can have it look.
	tr.write("away/x.pem", chainPEM(next)).write("away/x.key", next.keyPEM())
	for loaded := false; !loaded; {
		select {
		case tm := <-timers:
			if tm.d != pollMin {
				passed.Add(int64(tm.d))
				tm.fire <- now
			}
		case s := <-snapshots:
			want(t, s, "a.example", next)
			loaded = true
		}
	}
	cancel()
	<-ended
}

func TestWatchDirs(t *testing.T) {
	tr := newTree(t).write("real/a/..1/tls.crt", "").link("real/a/..data", "..1").link("real/a/tls.crt", "..data/tls.crt").
		write("other/store/x.pem", "").link("real/x.pem", "../other/store/x.pem").
		link("real/gone.pem", "../other/none/gone.pem").link("real/loop", "loop").link("certs", "real")
	for _, dir := range []string{"certs", "real"} {
		w, err := scan(tr.path(dir))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range w.watchDirs() {
			physical, err := filepath.EvalSymlinks(d)
			if err != nil {
				t.Fatal(err)
			}
			if rel, is := strings.CutPrefix(physical, tr.dir); is {
				got = append(got, rel)
			}
		}
		slices.Sort(got)
		want := []string{"", "/other", "/other/store", "/real", "/real/a", "/real/a/..1"}
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: watched %q, want %q", dir, got, want)
		}
	}
}
