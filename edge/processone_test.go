package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// As process 1 of a container: signals work though their default would not, an
// upgrade is refused in words, and orphans do not stay as zombies.
func TestProcessOne(t *testing.T) {
	t.Parallel()
	namespaces := []string{"--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if err := exec.Command("unshare", append(namespaces, "true")...).Run(); err != nil {
		t.Skipf("no process namespaces here: %v", err)
	}
	orphan := "(sleep 0.05 & sleep 0.05 &) ; " // left to the process that the shell becomes
	d := startDaemon(t, daemonOptions{
		args:  []string{"--http", "127.0.0.1:0", "--drain", "1h", site(t)},
		shell: `exec unshare ` + strings.Join(namespaces, " ") + ` /bin/sh -c '` + orphan + `exec "$0" "$@"' "$0" "$@"`,
	})
	child := childOf(t, d.pid)
	d.pid, d.pids = child, append(d.pids, child)
	d.await("the end of the orphans", func() bool { return len(childrenOf(child)) == 0 })
	d.signal(syscall.SIGUSR2)
	d.awaitLog("as process 1 edge cannot leave to a successor", 1)
	d.signal(syscall.SIGHUP)
	d.awaitLog("generation 2 is in service", 1)
	c := d.dialTo(d.plain)
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n")); err != nil { // keeps the drain going
		t.Fatal(err)
	}
	expectPage(t, d.dialTo(d.plain))
	d.signal(syscall.SIGTERM)
	d.await("no listener", func() bool {
		c, err := net.Dial("tcp", d.plain)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	d.signal(syscall.SIGTERM)
	if status := d.awaitExit(); status != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d after a second signal", status)
	}
}

// childrenOf lists the children of a process, zombies too.
func childrenOf(pid int) []string {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	var children []string
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			children = append(children, filepath.Base(filepath.Dir(path)))
		}
	}
	return children
}

// childOf waits for the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if all := childrenOf(pid); len(all) == 1 {
			n, err := strconv.Atoi(all[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}
