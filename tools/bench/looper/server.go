package main

// server.go: starting the binary, and who runs where.

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// server is the running binary.
type server struct {
	cmd     *exec.Cmd
	address string
	scratch string
}

// startServer starts the binary on one processor.
func startServer(o *options, cpu int) (_ *server, err error) {
	s := &server{}
	if s.scratch, err = os.MkdirTemp("", "looper-*"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(s.scratch)
		}
	}()
	site := filepath.Join(s.scratch, "site")
	if err := os.Mkdir(site, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(site, "index.html"), []byte(strings.Repeat("x", 174)), 0o644); err != nil {
		return nil, err
	}
	s.cmd = exec.Command("taskset", "-c", strconv.Itoa(cpu), o.edge, "serve", "--workers", "1", "--listen", "127.0.0.1:0",
		"--dev", "--state-dir", filepath.Join(s.scratch, "state"), "--script", o.script, site)
	said := &bytes.Buffer{}
	s.cmd.Stderr = said
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "listening https://"); ok {
			s.address = at
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s does not serve: %w\n%s", o.edge, s.cmd.Wait(), said)
}

func (s *server) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	s.cmd.Wait()
	os.RemoveAll(s.scratch)
}

// pinSelf keeps all threads of this process, and those they will start, on one
// processor.
func pinSelf(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil {
			return fmt.Errorf("processor %d: %w", cpu, err)
		}
	}
	return nil
}
