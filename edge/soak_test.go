package main

import (
	"os"
	"testing"
	"time"

	"edge/tools/soak/traffic"
)

// soakRequests is enough for some hundred clients that leave and a restart or
// more of each address of the application; tools/soak makes millions.
const soakRequests = 4000

// A short run of every kind of request, with clients that go away and an
// application that is started anew: nothing is lost, nothing mixed up, nothing
// hangs, and every descriptor is given back.
func TestSoak(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "") // short: it is the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	app, err := traffic.StartApp(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Stop)
	in := serveDev(t, append([]string{"--http", "127.0.0.1:0", "--max-body-bytes", "16m"}, app.Flags()...)...)
	o := traffic.Options{TLS: in.tls, Plain: in.plain, Roots: in.roots, Seed: 1, Requests: 1, Clients: 1}
	if _, err := traffic.Run(t.Context(), app, o); err != nil {
		t.Fatal(err)
	}
	before := in.awaitFiles(t, app, 0)
	o.Requests, o.Clients, o.Restarts = soakRequests, 16, 300*time.Millisecond
	report, err := traffic.Run(t.Context(), app, o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Wrong > 0 || report.Total.Right < soakRequests/2 {
		t.Errorf("seed %d:\n%s", o.Seed, report)
	}
	in.awaitFiles(t, app, before)
}

// awaitFiles has the application close idle connections until it has neither requests nor connections
// left, and edge at most that many descriptors; with 0, until their number stands.
func (in *instance) awaitFiles(t *testing.T, app *traffic.App, most int) int {
	t.Helper()
	was := -1
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		app.HangUp()
		u, err := traffic.Process(in.cmd.Process.Pid).Usage()
		if err != nil {
			t.Fatal(err)
		}
		if app.Active() == 0 && app.Open() == 0 && (u.Files <= most || most == 0 && u.Files == was) {
			return u.Files
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: %d requests and %d connections at the application; edge has %v, and should have %d files",
				patience, app.Active(), app.Open(), u, most)
		}
		was = u.Files
	}
}
