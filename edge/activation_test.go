package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// forUs makes the process that becomes edge the one that the sockets are for, as
// a service manager knows it (sd_listen_fds(3)).
const forUs = "export LISTEN_PID=$$"

// listening is a TCP listener as a descriptor to hand over.
func listening(t *testing.T) (f *os.File, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if f, err = l.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, l.Addr().String()
}

// Sockets of a service manager are used by name and address; those that are for
// nothing are reported. Upgrades hand them on.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	secure, secureAt := listening(t)
	plain, plainAt := listening(t)
	foreign, foreignAt := listening(t)
	path := filepath.Join(t.TempDir(), "edge.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	d := startDaemon(t, daemonOptions{
		args:  []string{"--listen", secureAt, "--http", plainAt, "--http", "unix:" + path, site(t)},
		files: []*os.File{secure, plain, foreign, socket},
		env:   []string{"LISTEN_FDS=4", "LISTEN_FDNAMES=https:edge.socket:admin:http"},
		shell: forUs,
	})
	check := func() {
		t.Helper()
		if d.tls != secureAt || d.plain != plainAt {
			t.Fatalf("served at %s and %s", d.tls, d.plain)
		}
		c, err := d.handshake(d.config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		expectPage(t, c)
		expectPage(t, d.dialTo(plainAt))
		u, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		expectPage(t, u)
	}
	check()
	d.awaitLog(fmt.Sprintf("inherited socket \"admin\" at %s is for no address of --listen or --http: closed", foreignAt), 1)
	d.upgrade()
	d.awaitExit()
	check()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("a socket's file that is not ours was removed: %v", err)
	}
	d.signal(syscall.SIGTERM)
	d.await("the end", func() bool { return syscall.Kill(d.pid, 0) != nil })
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("a socket's file that is not ours was removed at the end: %v", err)
	}
}

// Without --listen the sockets say where to serve.
func TestSocketActivationWithoutListen(t *testing.T) {
	t.Parallel()
	one, oneAt := listening(t)
	two, twoAt := listening(t)
	d := startDaemon(t, daemonOptions{
		args:  []string{"--workers", "2", "--http", twoAt, site(t)},
		files: []*os.File{one, two},
		env:   []string{"LISTEN_FDS=2", "LISTEN_FDNAMES=edge.socket:edge.socket"},
		shell: forUs + "\nfor a; do shift; [ \"$a\" = --listen ] && skip=1 || { [ -n \"$skip\" ] && skip= || set -- \"$@\" \"$a\"; }; done",
		lines: 2,
	})
	if d.tls != oneAt || d.plain != twoAt {
		t.Errorf("TLS at %s and HTTP at %s, want %s and %s", d.tls, d.plain, oneAt, twoAt)
	}
}

func TestSocketsForAnother(t *testing.T) {
	t.Parallel()
	f, at := listening(t)
	d := startDaemon(t, daemonOptions{
		args: []string{site(t)}, files: []*os.File{f},
		env: []string{"LISTEN_FDS=1", "LISTEN_PID=" + strconv.Itoa(os.Getpid())},
	})
	if d.tls == at {
		t.Error("a socket that is for another process was taken")
	}
	d.awaitLog(fmt.Sprintf("LISTEN_FDS=1 is for process \"%d\" and not for this one", os.Getpid()), 1)
}

func TestSocketsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	udpFile, err := udp.(*net.UDPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer udpFile.Close()
	for name, c := range map[string]struct {
		file *os.File
		fds  string
		want string
	}{
		"UDP":         {udpFile, "1", "not a listening stream socket"},
		"a file":      {createFile(t, t.TempDir()+"/file"), "1", "not a socket"},
		"not a count": {udpFile, "many", "LISTEN_FDS=\"many\""},
	} {
		t.Run(name, func(t *testing.T) {
			d := launchDaemon(t, daemonOptions{args: []string{site(t)}, files: []*os.File{c.file}, env: []string{"LISTEN_FDS=" + c.fds}, shell: forUs})
			if status := d.awaitExit(); status != 1 || !strings.Contains(d.errors(), c.want) {
				t.Errorf("status %d, want the error to say %q:\n%s", status, c.want, d.errors())
			}
		})
	}
}

// manager is a service manager's end of the notification socket.
type manager struct {
	t     *testing.T
	path  string
	heard chan string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &manager{t, path, make(chan string, 10000)}
	go func() { // all the time, as a manager does: the kernel holds ten messages
		for {
			b := make([]byte, 4096)
			n, err := conn.Read(b)
			if err != nil {
				return
			}
			m.heard <- string(b[:n])
		}
	}()
	return m
}

// next is the next message that does not begin with a prefix in skip.
func (m *manager) next(skip ...string) string {
	m.t.Helper()
	late := time.After(patience)
next:
	for {
		select {
		case <-late:
			m.t.Fatal("the service manager hears nothing")
		case text := <-m.heard:
			for _, s := range skip {
				if strings.HasPrefix(text, s) {
					continue next
				}
			}
			return text
		}
	}
}

// What a service of Type=notify or notify-reload has to say (sd_notify(3)).
func TestNotification(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	v := newVersions(t)
	d := launchDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}, env: []string{"NOTIFY_SOCKET=" + m.path}})
	got := m.next()
	d.awaitReady(0) // skips where it cannot serve
	if want := fmt.Sprintf("READY=1\nMAINPID=%d", d.pid); got != want {
		t.Errorf("at the start %q, want %q", got, want)
	}
	if d.version() != "0" {
		t.Error("ready, but not serving")
	}
	reload := func(status string) {
		t.Helper()
		d.signal(syscall.SIGHUP)
		usec, ok := strings.CutPrefix(m.next(), "RELOADING=1\nMONOTONIC_USEC=")
		if n, err := strconv.ParseInt(usec, 10, 64); !ok || err != nil || n <= 0 {
			t.Errorf("a reload begins with %q", usec)
		}
		if got := m.next(); !strings.HasPrefix(got, "STATUS="+status) {
			t.Errorf("status %q", got)
		}
		if got := m.next(); !strings.HasPrefix(got, "READY=1") {
			t.Errorf("a reload ends with %q", got)
		}
	}
	reload("serving generation 2")
	rename(t, "/dev/null", v.path)
	reload("the last reload failed: ")
	v.release("1")
	d.upgrade()
	if got, want := m.next("STATUS="), fmt.Sprintf("READY=1\nMAINPID=%d", d.pid); got != want {
		t.Errorf("the successor says %q, want %q", got, want)
	}
	if got, want := m.next("STATUS="), fmt.Sprintf("MAINPID=%d", d.pid); got != want {
		t.Errorf("its predecessor says %q, want %q", got, want)
	}
	d.awaitExit() // without another word: the service is not about to stop
	d.signal(syscall.SIGTERM)
	if got := m.next(); got != "STOPPING=1" {
		t.Errorf("at the end %q", got)
	}
}

// The watchdog is fed as long as all workers turn, by the successor too.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	d := startDaemon(t, daemonOptions{
		args: []string{site(t)}, shell: "export WATCHDOG_PID=$$",
		env: []string{"NOTIFY_SOCKET=" + m.path, "WATCHDOG_USEC=100000"},
	})
	for range 3 {
		if got := m.next("READY=1"); got != "WATCHDOG=1" {
			t.Fatalf("%q", got)
		}
	}
	d.upgrade()
	d.awaitExit()
	for len(m.heard) > 0 { // what the predecessor said
		<-m.heard
	}
	if got := m.next("READY", "MAINPID"); got != "WATCHDOG=1" {
		t.Errorf("the successor: %q", got)
	}
}

// An unprivileged user is told what port 443 takes.
func TestPrivilegedPort(t *testing.T) {
	t.Parallel()
	least, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
	if n, _ := strconv.Atoi(strings.TrimSpace(string(least))); err != nil || n <= 443 {
		t.Skip("every port is open to everybody here")
	}
	dir, err := os.MkdirTemp("", "edge-port-*") // not below a folder that is only ours
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	o := daemonOptions{args: []string{"--dev", "--state-dir", dir + "/state", "--listen", "127.0.0.1:443"}}
	if os.Geteuid() == 0 {
		o.user = &syscall.Credential{Uid: 65534, Gid: 65534}
		o.binary = dir + "/edge"
		if err := os.Link(command(t.Context()).Path, o.binary); err != nil {
			writeFile(t, o.binary, readFile(t, command(t.Context()).Path))
		}
		if err := errors.Join(os.Chmod(o.binary, 0o755), os.Chmod(dir, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	d := launchDaemon(t, o)
	if status := d.awaitExit(); status != 1 || !strings.Contains(d.errors(), "CAP_NET_BIND_SERVICE") {
		t.Errorf("status %d:\n%s", status, d.errors())
	}
}
