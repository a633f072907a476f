package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// environment is a getenv over a map.
func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

// listenNotify is a service manager's socket at an address.
func listenNotify(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func heard(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 1024)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestNotifier(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "notify"), fmt.Sprintf("@edge-notify-test-%d", os.Getpid())} {
		manager := listenNotify(t, name)
		n := NewNotifier(environment(map[string]string{"NOTIFY_SOCKET": name}))
		for _, c := range []struct {
			say  func() error
			want string
		}{
			{n.Ready, fmt.Sprintf("READY=1\nMAINPID=%d", os.Getpid())},
			{n.Alive, "WATCHDOG=1"},
			{func() error { return n.Status("well") }, "STATUS=well"},
			{n.Stopping, "STOPPING=1"},
			{func() error { return n.Succeeded(4711) }, "MAINPID=4711"},
		} {
			if err := c.say(); err != nil {
				t.Fatal(err)
			}
			if got := heard(t, manager); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
		if err := n.Stopping(); err != nil {
			t.Error(err)
		}
		manager.SetReadDeadline(time.Now())
		if k, _ := manager.Read(make([]byte, 100)); k > 0 {
			t.Error("a process that has a successor still speaks")
		}
	}
}

// A manager that does not read holds nobody up for long.
func TestNotifierOfADeafManager(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	listenNotify(t, name)
	n := NewNotifier(environment(map[string]string{"NOTIFY_SOCKET": name}))
	for range 100000 { // far more than any kernel holds
		if err := n.Alive(); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
			return
		}
	}
	t.Error("nothing was ever too much")
}

func TestNotifierWithoutManager(t *testing.T) {
	for _, vars := range []map[string]string{nil, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "relative/path"}, {"NOTIFY_SOCKET": "vsock:2:1"}} {
		n := NewNotifier(environment(vars))
		if n != nil || n.Ready() != nil || n.Succeeded(1) != nil || n.Watchdog() != 0 {
			t.Errorf("%v: a notifier %v", vars, n)
		}
	}
	n := NewNotifier(environment(map[string]string{"NOTIFY_SOCKET": filepath.Join(t.TempDir(), "gone")}))
	if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "telling the service manager") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestWatchdogTime(t *testing.T) {
	self := fmt.Sprint(os.Getpid())
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
	}{
		{"30000000", self, 30 * time.Second}, {"30000000", "", 30 * time.Second}, {"30000000", "1", 0},
		{"0", self, 0}, {"-1", self, 0}, {"soon", self, 0}, {"", "", 0},
	} {
		n := NewNotifier(environment(map[string]string{"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": c.usec, "WATCHDOG_PID": c.pid}))
		if got := n.Watchdog(); got != c.want {
			t.Errorf("WATCHDOG_USEC=%s WATCHDOG_PID=%s: %v, want %v", c.usec, c.pid, got, c.want)
		}
	}
}

func TestNothingInherited(t *testing.T) {
	var told []string
	log := func(format string, a ...any) { told = append(told, fmt.Sprintf(format, a...)) }
	self := fmt.Sprint(os.Getpid())
	for name, vars := range map[string]map[string]string{
		"nothing":         nil,
		"none":            {"LISTEN_FDS": "0", "LISTEN_PID": self},
		"names alone":     {"LISTEN_FDNAMES": "https"},
		"for another":     {"LISTEN_FDS": "1", "LISTEN_PID": "1"},
		"for nobody":      {"LISTEN_FDS": "1"},
		"for another one": {"LISTEN_FDS": "1", "LISTEN_PID": "x"},
	} {
		told = nil
		sockets, err := Inherited(environment(vars), log)
		if len(sockets) != 0 || err != nil {
			t.Errorf("%s: %v, %v", name, sockets, err)
		}
		if strings.HasPrefix(name, "for ") != (len(told) == 1) {
			t.Errorf("%s: told %q", name, told)
		}
	}
	for _, count := range []string{"-1", "many", "4097", "99999999999999999999"} {
		if _, err := Inherited(environment(map[string]string{"LISTEN_FDS": count, "LISTEN_PID": self}), log); err == nil || !strings.Contains(err.Error(), count) {
			t.Errorf("LISTEN_FDS=%s: %v", count, err)
		}
	}
}

// successor is a shell that stands for a new binary.
func successor(t *testing.T, script string) *Successor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &Successor{
		Path: "/bin/sh", Args: []string{"-c", script},
		Environ: []string{"PATH=" + os.Getenv("PATH"), "KEPT=kept", "LISTEN_PID=1", "WATCHDOG_PID=1", "WATCHDOG_USEC=5", readyVariable + "=99"},
		Sockets: []Socket{{int(f.Fd()), "https"}, {int(f.Fd()), "http.own"}},
		State:   bytes.Repeat([]byte("secret\n"), 1000),
	}
}

// A successor has the sockets, the state and the environment, without what is
// about this process; once it says so, it serves.
func TestSuccessor(t *testing.T) {
	dir := t.TempDir()
	s := successor(t, fmt.Sprintf(`env > %[1]s/env; eval "cat <&$EDGE_STATE_FD" > %[1]s/state; ls -l /proc/self/fd > %[1]s/fds
		eval "printf x >&$EDGE_READY_FD"; exec sleep 60`, dir))
	pid, err := s.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}()
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	env := strings.Split(text("env"), "\n")
	for _, want := range []string{"KEPT=kept", "LISTEN_FDS=2", "LISTEN_FDNAMES=https:http.own", "WATCHDOG_USEC=5", "EDGE_STATE_FD=5", "EDGE_READY_FD=6"} {
		if !slices.Contains(env, want) {
			t.Errorf("environment lacks %s: %q", want, env)
		}
	}
	for _, v := range env {
		if strings.HasPrefix(v, "LISTEN_PID") || strings.HasPrefix(v, "WATCHDOG_PID") {
			t.Errorf("environment has %s", v)
		}
	}
	if text("state") != string(s.State) {
		t.Errorf("state of %d bytes, want %d", len(text("state")), len(s.State))
	}
	if fds := text("fds"); strings.Count(fds, "socket:") < 2 {
		t.Errorf("descriptors:\n%s", fds)
	}
}

// One that ends, cannot be started, or takes longer than it may is an error, and
// is not left behind.
func TestSuccessorThatDoesNotServe(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	soon, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		ctx          context.Context
		path, script string
		want         string
	}{
		{t.Context(), "/bin/sh", "exit 0", "it ended"},
		{t.Context(), "/nowhere/edge", "", "starting /nowhere/edge"},
		{soon, "/bin/sh", "echo $$ > " + pids + "; exec sleep 60", "told to end"},
	} {
		s := successor(t, c.script)
		s.Path = c.path
		if _, err := s.Start(c.ctx); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.path, c.script, err, c.want)
		}
	}
	if b, err := os.ReadFile(pids); err == nil { // it may have been ended before it wrote
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(b))); err == nil {
			t.Error("a successor that was given up still runs")
		}
	}
}

func TestHandedFilesAreChecked(t *testing.T) {
	for _, text := range []string{"x", "-1", "2", ""} {
		get := environment(map[string]string{readyVariable: text, stateVariable: text})
		err := TellReady(get)
		state, err2 := State(get)
		if (err != nil) != (text != "") || (err2 != nil) != (text != "") || state != nil {
			t.Errorf("%q: %v, %q, %v", text, err, state, err2)
		}
	}
}
