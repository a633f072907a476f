package service

import (
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

// readyVariable tells a successor the descriptor to close when it serves.
const readyVariable = "EDGE_READY_FD"

// startTime is how long a successor may take until it serves.
const startTime = 60 * time.Second

// Upgrade starts the binary at path with this process's arguments and
// environment, hands it the listening sockets, and returns once it serves. It
// returns an error, and the successor is ended, if it does not.
//
//	this process                          successor
//	  fork, exec, sockets as 3, 4, … ───▶  Inherited
//	  waits for the pipe             ◀───  TellReady: one byte
//	  drains                               serves
func Upgrade(path string, args, environ []string, sockets []Socket) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	defer read.Close()
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	var names []string
	for _, s := range sockets {
		fd, err := unix.FcntlInt(uintptr(s.FD), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			write.Close()
			return fmt.Errorf("upgrade: %w", err)
		}
		f := os.NewFile(uintptr(fd), s.Name)
		defer f.Close()
		c.ExtraFiles = append(c.ExtraFiles, f)
		names = append(names, s.Name)
	}
	c.ExtraFiles = append(c.ExtraFiles, write)
	c.Env = append(without(environ, "LISTEN_", readyVariable+"="),
		"LISTEN_FDS="+strconv.Itoa(len(sockets)),
		"LISTEN_FDNAMES="+strings.Join(names, ":"),
		readyVariable+"="+strconv.Itoa(firstInherited+len(sockets)))
	err = c.Start()
	write.Close()
	if err != nil {
		return fmt.Errorf("upgrade: starting %s: %w", path, err)
	}
	if err := awaitReady(read); err != nil {
		c.Process.Kill()
		c.Wait()
		return fmt.Errorf("upgrade: the new process (pid %d) does not serve: %w", c.Process.Pid, err)
	}
	return nil
}

// awaitReady waits for the successor's byte; the pipe closes when it ends.
func awaitReady(read *os.File) error {
	if err := read.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	var b [1]byte
	_, err := io.ReadFull(read, b[:])
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it ended; its message is in the error log")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("not within %v", startTime)
	}
	return err
}

// TellReady tells the process that started this one as its successor, if one
// did, that this one serves now.
func TellReady(getenv func(string) string) error {
	text := getenv(readyVariable)
	if text == "" {
		return nil
	}
	os.Unsetenv(readyVariable)
	fd, err := strconv.Atoi(text)
	if err != nil || fd < firstInherited {
		return fmt.Errorf("%s=%q is no descriptor", readyVariable, text)
	}
	f := os.NewFile(uintptr(fd), "ready")
	defer f.Close()
	_, err = f.Write([]byte{1})
	return err
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
