package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// told gathers what a log has to say about itself.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (r *told) report(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, a...))
}

func (r *told) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}

// gate is a writer that a test holds up, and that fails when it is told to.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // closed: writes go through
	entered chan struct{} // gets a value when a write begins
	written bytes.Buffer
	fail    func(n int) (int, error) // of a write of n bytes
}

func (g *gate) Write(b []byte) (int, error) {
	if g.open != nil {
		g.entered <- struct{}{}
		<-g.open
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		n, err := g.fail(len(b))
		g.written.Write(b[:n])
		return n, err
	}
	return g.written.Write(b)
}

func lineOf(i int) []byte { return fmt.Appendf(nil, "line %d\n", i) }

// Nobody waits for a log that does not move: lines are dropped, and counted.
func TestLogDropsRatherThanWaits(t *testing.T) {
	var r told
	g := &gate{open: make(chan struct{}), entered: make(chan struct{}, 100)}
	f := startLogFile("access log", "", g, 4, r.report)
	f.put(lineOf(0), 1)
	<-g.entered // the writer is held up with the first
	for i := 1; i < 100; i++ {
		f.put(lineOf(i), 1) // returns though nothing moves
	}
	close(g.open)
	f.close()
	if got, want := g.written.String(), "line 0\nline 1\nline 2\nline 3\nline 4\n"; got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	if want := "access log: 95 lines were lost"; !strings.Contains(r.all(), want) {
		t.Errorf("told %q, want %q", r.all(), want)
	}
}

// A log that cannot be written at all does not hold up the end of the process.
func TestLogThatNeverMoves(t *testing.T) {
	t.Parallel() // it waits
	g := &gate{open: make(chan struct{}), entered: make(chan struct{}, 100)}
	defer close(g.open)
	f := startLogFile("access log", "", g, 4, new(told).report)
	f.put(lineOf(0), 1)
	start := time.Now()
	f.close()
	if took := time.Since(start); took > logEndTime+5*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// A full disk is told of once, and so is how much is missing. A line that was
// torn does not spoil the next.
func TestLogOnAFullDisk(t *testing.T) {
	var r told
	left := 10
	full := func(n int) (int, error) {
		if n <= left {
			left -= n
			return n, nil
		}
		n, left = left, 0
		return n, syscall.ENOSPC
	}
	g := &gate{fail: full}
	f := startLogFile("access log", "", g, 100, r.report)
	for i := range 5 {
		f.put(lineOf(i), 1)
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(r.all(), "no space"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("told %q", r.all())
		}
	}
	for len(f.batches) > 0 {
		time.Sleep(time.Millisecond)
	}
	g.mu.Lock()
	left = 1000
	g.mu.Unlock()
	f.put(lineOf(5), 1)
	f.close()
	got := g.written.String()
	if !strings.HasPrefix(got, "line 0\nlin\n") || !strings.HasSuffix(got, "\nline 5\n") {
		t.Errorf("written %q", got)
	}
	if strings.Count(r.all(), "no space left on device: lines are lost until this is mended") != 1 {
		t.Errorf("told %q", r.all())
	}
	lost := 6 - strings.Count(got, "line ")
	if want := fmt.Sprintf("access log: %d lines were lost", lost); !strings.Contains(r.all(), want) {
		t.Errorf("told %q, want %q", r.all(), want)
	}
}

// A log file that was moved away is written to its end, and the next one begun.
func TestLogIsReopened(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "access.log")
	var r told
	f, err := openLogFile(path, nil, r.report)
	if err != nil {
		t.Fatal(err)
	}
	f.put(lineOf(0), 1)
	waitFor(t, func() bool { return content(t, path) == "line 0\n" })
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	f.put(lineOf(1), 1)
	waitFor(t, func() bool { return content(t, path+".1") == "line 0\nline 1\n" })
	f.reopen()
	waitFor(t, func() bool { _, err := os.Stat(path); return err == nil })
	f.put(lineOf(2), 1)
	f.close()
	if got := content(t, path); got != "line 2\n" {
		t.Errorf("the new file holds %q", got)
	}
	// A place where no file can be made keeps the old one.
	f, err = openLogFile(path, nil, r.report)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir + ".away")
	f.reopen()
	waitFor(t, func() bool { return strings.Contains(r.all(), "writing on to the old file") })
	f.put(lineOf(3), 1)
	f.close()
	if got := content(t, dir+".away/access.log"); got != "line 2\nline 3\n" {
		t.Errorf("the old file holds %q", got)
	}
}

func waitFor(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

// What peers can cause does not fill the error log.
func TestLimitedLines(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out)
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	for i := range 100 {
		l.limited("a", "a %d", i)
	}
	l.limited("b", "b")
	now = now.Add(time.Second)
	l.limited("a", "a again")
	if n := strings.Count(out.String(), " a "); n != limitedPerSecond+1 {
		t.Errorf("%d lines of a kind:\n%s", n, out.String())
	}
	if !strings.Contains(out.String(), " b\n") || !strings.HasSuffix(out.String(), "a again (90 more lines of this kind were left out)\n") {
		t.Errorf("log:\n%s", out.String())
	}
}

// Between start and stop lines are written by the log's own writer, in order and
// all of them.
func TestLogStartAndStop(t *testing.T) {
	var out bytes.Buffer
	l := NewLog(&out)
	l.Printf("0")
	l.start()
	for i := range 500 {
		l.Printf("%d", i+1)
	}
	l.stop()
	l.Printf("501")
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !strings.HasSuffix(line, fmt.Sprintf("Z %d", i)) {
			t.Fatalf("line %d is %q", i, line)
		}
	}
}

func TestErrorLogIsReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "error.log")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l.start()
	l.Printf("old")
	waitFor(t, func() bool { return strings.HasSuffix(content(t, path), "old\n") })
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.reopen()
	waitFor(t, func() bool { _, err := os.Stat(path); return err == nil })
	l.Printf("new")
	l.stop()
	if got := content(t, path); !strings.HasSuffix(got, " new\n") || strings.Contains(got, "old") {
		t.Errorf("the new file holds %q", got)
	}
}
