package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"edge/edge/config"
)

// What an operator can get wrong is one line, and nothing is served. check says the
// same beforehand.
func TestServeFailures(t *testing.T) {
	state := t.TempDir()
	good := tree(t, map[string]string{"index.html": "x"})
	short := filepath.Join(t.TempDir(), "short.tar")
	if status, _, errs := run(t, "pack", good, "-o", short); status != ExitOK {
		t.Fatal(errs)
	}
	if err := os.Truncate(short, 700); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	dev := []string{"serve", "--dev", "--state-dir", state, "--listen", "127.0.0.1:0", "--workers", "1"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{append(dev, good), errNoReactor.Error()}, // all else is well
		{dev, errNoReactor.Error()},
		{append(dev, filepath.Join(good, "nowhere.tar")), "nowhere.tar: no such file or directory: give a tar file"},
		{append(dev, short), "short.tar: "},
		{append(dev, "/dev/null"), "/dev/null: not a regular file"},
		{append(dev, "--ech", "/nowhere"), "--ech /nowhere: no such directory: make it and a key with `edge keys gen-ech"},
		{[]string{"serve", "--cert-dir", "/nowhere", good}, "does not exist"},
		{[]string{"serve", "--cert-dir", empty, good}, empty + " holds no usable certificate"},
	} {
		status, out, errs := run(t, tc.args...)
		lines := strings.Split(strings.TrimSuffix(errs, "\n"), "\n")
		last := lines[len(lines)-1] // notes may come before
		if status != ExitFailure || out != "" || !strings.HasPrefix(last, "edge: ") || !strings.Contains(last, tc.want) {
			t.Errorf("edge %q: status %d, stdout %q, stderr %q; want %q", tc.args, status, out, errs, tc.want)
		}
		status, out, errs = run(t, append([]string{"check"}, tc.args[1:]...)...)
		if tc.want == errNoReactor.Error() {
			if status != ExitOK || out != "all of it can be served\n" {
				t.Errorf("edge check %q: status %d, stdout %q, stderr %q", tc.args[1:], status, out, errs)
			}
		} else if status != ExitFailure || out != "" || !strings.HasSuffix(errs, last+"\n") {
			t.Errorf("edge check %q: status %d, stdout %q, stderr %q; want %q", tc.args[1:], status, out, errs, last)
		}
	}
}

func TestDevHints(t *testing.T) {
	var out, hints bytes.Buffer
	h := &devHints{Writer: &out, to: &hints, trust: "curl https://localhost:PORT/\n"}
	lines := []string{"listening https://[::]:8443\n", "listening https://0.0.0.0:9443\n", "listening http://0.0.0.0:80\n"}
	for _, line := range lines {
		if n, err := h.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if out.String() != strings.Join(lines, "") {
		t.Errorf("passed on %q", out.String())
	}
	if want := "\n  https://localhost:8443/\n\ncurl https://localhost:8443/\n\n"; hints.String() != want {
		t.Errorf("hints %q, want %q: the first address alone", hints.String(), want)
	}
}

func TestPrepareRuntime(t *testing.T) {
	procs, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100)
	defer runtime.GOMAXPROCS(procs)
	defer debug.SetGCPercent(percent)

	prepareRuntime(procs+2, func(string) string { return "1" })
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("GOMAXPROCS became %d, the operator had set it", got)
	}
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("GOGC became %d, the operator had set it", got)
	}
	prepareRuntime(procs+2, func(string) string { return "" })
	if got := runtime.GOMAXPROCS(0); got != procs+3 {
		t.Errorf("GOMAXPROCS is %d for %d workers", got, procs+2)
	}
	if got := debug.SetGCPercent(100); got != heapGrowthPercent {
		t.Errorf("GOGC is %d, want %d", got, heapGrowthPercent)
	}
}

func TestFitConnections(t *testing.T) {
	for _, tc := range []struct {
		workers, connections int
		files                uint64
		want                 int // 0: an error
		note                 string
	}{
		{1, 16384, 1 << 20, 16384, ""},
		{2, 16384, 20000, 9980, "20000 files may be open: a worker takes 9980 connections at most"},
		{64, 16384, 1 << 20, 16375, "16375 connections"},
		{1, 16384, 64, 32, "32 connections"},
		{1, 16, 64, 16, ""},
		{1, 16384, 40, 0, "only 40 files may be open, too few for 1 workers: raise the limit"},
		{4, 16384, 64, 0, "too few for 4 workers"},
	} {
		conf := config.New()
		conf.Workers, conf.Limits.Connections = tc.workers, tc.connections
		note, err := fitConnections(conf, tc.files)
		if err != nil {
			note = err.Error()
		}
		if (err != nil) != (tc.want == 0) || tc.want != 0 && conf.Limits.Connections != tc.want ||
			!strings.Contains(note, tc.note) || (note == "") != (tc.note == "") {
			t.Errorf("%+v: %d connections, %q", tc, conf.Limits.Connections, note)
		}
	}
}
