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

// The example of `make run`: the application answers below /api, and Ctrl-C leaves
// nothing behind. So does a kill that edge cannot hear.
func TestExampleApplication(t *testing.T) {
	t.Parallel()
	app := filepath.Join(t.TempDir(), "app")
	build := exec.Command("go", "build", "-o", app, "../examples/app")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(how.String(), func(t *testing.T) { runExample(t, app, how) })
	}
}

func runExample(t *testing.T, app string, end syscall.Signal) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	args := []string{self, app, "--dev", "--state-dir", state, "--listen", "127.0.0.1:0", "--workers", "1", site(t)}
	in := &instance{t: t, ended: make(chan error, 1)}
	in.cmd = exec.Command("../examples/run.sh", args...)
	in.cmd.Env = append(os.Environ(), asEdge+"=1")
	in.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in.cmd.Stderr = &in.stderr
	in.launch(args)
	in.trustDev(state)
	socket := "@edge-example-" + strconv.Itoa(in.cmd.Process.Pid)
	in.await("the application's socket", func() bool { return listens(socket) })

	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, body, err := get(c, "/api/")
	if err != nil || resp.StatusCode != 200 || !strings.Contains(body, `"X-Forwarded-For": "127.0.0.1"`) {
		t.Fatalf("%v, %v: %s", err, resp, body)
	}
	c.Close()
	if end == syscall.SIGINT {
		syscall.Kill(-in.cmd.Process.Pid, end) // as a terminal does
	} else {
		in.cmd.Process.Signal(end)
	}
	select {
	case <-in.ended:
	case <-time.After(patience):
		t.Fatalf("it did not end; stderr:\n%s", in.stderr.String())
	}
	if status := in.cmd.ProcessState.ExitCode(); end == syscall.SIGINT && status != 0 {
		t.Errorf("status %d; stderr:\n%s", status, in.stderr.String())
	}
	in.await("the end of the application", func() bool { return !listens(socket) })
}

func listens(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// await waits until what is true.
func (in *instance) await(name string, what func() bool) {
	in.t.Helper()
	for end := time.Now().Add(patience); !what(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			in.t.Fatalf("no %s within %v; stderr:\n%s", name, patience, in.stderr.String())
		}
	}
}
