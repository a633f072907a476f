package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readyVariable tells a successor the descriptor to write to when it serves,
// stateVariable the one to read its predecessor's state from.
const (
	readyVariable = "EDGE_READY_FD"
	stateVariable = "EDGE_STATE_FD"
)

// startTime is how long a successor may take until it serves.
const startTime = 60 * time.Second

// stateBytesMax bounds what is read of a predecessor's state.
const stateBytesMax = 1 << 20

// Successor is a process to be started in place of this one.
type Successor struct {
	Path    string   // of its binary
	Args    []string // without the program's name
	Environ []string
	Sockets []Socket // it inherits copies of these
	State   []byte   // secrets and the like, which no environment may hold; see State
}

// Start starts the successor and returns its process id once it serves. If it
// does not, or if ctx ends before, it is ended and the error says why.
//
//	this process                                successor
//	  fork, exec, sockets as 3, 4, …      ───▶  Inherited, State
//	  waits for the pipe                  ◀───  TellReady: one byte
//	  drains                                    serves
func (s *Successor) Start(ctx context.Context) (pid int, err error) {
	c := exec.Command(s.Path, s.Args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	defer func() {
		for _, f := range c.ExtraFiles {
			f.Close()
		}
	}()
	if err := s.handOver(c); err != nil {
		return 0, fmt.Errorf("upgrade: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("upgrade: %w", err)
	}
	defer read.Close()
	c.ExtraFiles = append(c.ExtraFiles, write)
	c.Env = append(c.Env, readyVariable+"="+strconv.Itoa(firstInherited+len(c.ExtraFiles)-1))
	if err := c.Start(); err != nil {
		return 0, fmt.Errorf("upgrade: starting %s: %w", s.Path, err)
	}
	write.Close() // the pipe ends when the successor does
	if err := awaitReady(ctx, read); err != nil {
		c.Process.Kill()
		c.Wait()
		return 0, fmt.Errorf("upgrade: the new process (%d) does not serve: %w", c.Process.Pid, err)
	}
	go c.Wait() // it may end before this process does
	return c.Process.Pid, nil
}

// handOver gives c copies of the sockets and the state.
func (s *Successor) handOver(c *exec.Cmd) error {
	var names []string
	for _, k := range s.Sockets {
		fd, err := unix.FcntlInt(uintptr(k.FD), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("fcntl", err)
		}
		c.ExtraFiles = append(c.ExtraFiles, os.NewFile(uintptr(fd), k.Name))
		names = append(names, k.Name)
	}
	state, err := inMemory(s.State)
	if err != nil {
		return err
	}
	c.ExtraFiles = append(c.ExtraFiles, state)
	// WATCHDOG_PID names this process, and LISTEN_PID one that is not known yet.
	c.Env = append(without(s.Environ, "LISTEN_", "WATCHDOG_PID=", readyVariable+"=", stateVariable+"="),
		"LISTEN_FDS="+strconv.Itoa(len(s.Sockets)),
		"LISTEN_FDNAMES="+strings.Join(names, ":"),
		stateVariable+"="+strconv.Itoa(firstInherited+len(s.Sockets)))
	return nil
}

// inMemory makes a file of b that has no name.
func inMemory(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("edge-state", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "edge-state")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// awaitReady waits for the successor's byte; the pipe closes when it ends.
func awaitReady(ctx context.Context, read *os.File) error {
	if err := read.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { read.SetReadDeadline(time.Now()) })
	defer stop()
	var b [1]byte
	_, err := io.ReadFull(read, b[:])
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("this one was told to end before it did")
	case errors.Is(err, io.EOF):
		return errors.New("it ended; its last words are in the error log")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("not within %v", startTime)
	}
	return err
}

// TellReady tells the process that started this one as its successor, if one
// did, that this one serves now.
func TellReady(getenv func(string) string) error {
	f, err := handedFile(getenv, readyVariable)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte{1})
	return err
}

// State reads what the predecessor left for this process; nil without one.
func State(getenv func(string) string) ([]byte, error) {
	f, err := handedFile(getenv, stateVariable)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, stateBytesMax))
}

// handedFile opens the descriptor that a variable names, and forgets the
// variable; nil when it is not set.
func handedFile(getenv func(string) string, variable string) (*os.File, error) {
	text := getenv(variable)
	if text == "" {
		return nil, nil
	}
	os.Unsetenv(variable)
	fd, err := strconv.Atoi(text)
	if err != nil || fd < firstInherited {
		return nil, fmt.Errorf("%s=%q is no descriptor", variable, text)
	}
	return os.NewFile(uintptr(fd), variable), nil
}

// without leaves out the variables that begin with one of the prefixes.
func without(environ []string, prefixes ...string) []string {
	var kept []string
next:
	for _, v := range environ {
		for _, p := range prefixes {
			if strings.HasPrefix(v, p) {
				continue next
			}
		}
		kept = append(kept, v)
	}
	return kept
}
