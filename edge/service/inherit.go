package service

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor that a parent hands over
// (sd_listen_fds(3)).
const firstInherited = 3

// inheritedMax bounds LISTEN_FDS: no parent opens more.
const inheritedMax = 4096

// Socket is a listening socket that was open when the process started.
type Socket struct {
	FD   int
	Name string // as the parent calls it; "" for none
}

// Inherited takes the sockets that LISTEN_FDS promises, if LISTEN_PID is this
// process, and names them by LISTEN_FDNAMES. They are closed when another
// program is started. The variables are removed, so that a child does not take
// them for its own.
func Inherited(getenv func(string) string) ([]Socket, error) {
	pid, count, names := getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES")
	for _, v := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(v)
	}
	// A successor's pid is not known before it is there: it is told by its own
	// variable that the sockets are for it.
	mine := pid == strconv.Itoa(os.Getpid()) || pid == "" && getenv(readyVariable) != ""
	if count == "" || !mine {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > inheritedMax {
		return nil, fmt.Errorf("LISTEN_FDS=%q: not a number of sockets from 0 to %d", count, inheritedMax)
	}
	var byPosition []string
	if names != "" {
		byPosition = strings.Split(names, ":")
	}
	sockets := make([]Socket, n)
	for i := range sockets {
		sockets[i].FD = firstInherited + i
		if i < len(byPosition) {
			sockets[i].Name = byPosition[i]
		}
		if err := checkListening(sockets[i].FD); err != nil {
			return nil, fmt.Errorf("inherited socket %d (%q): %w", sockets[i].FD, sockets[i].Name, err)
		}
		unix.CloseOnExec(sockets[i].FD)
	}
	return sockets, nil
}

// checkListening refuses what is not a listening stream socket.
func checkListening(fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return fmt.Errorf("not a socket: %w", err)
	}
	if kind != unix.SOCK_STREAM {
		return fmt.Errorf("not a stream socket: edge takes TCP and unix stream sockets")
	}
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || listening != 1 {
		return fmt.Errorf("not listening: set Accept=no in the socket unit")
	}
	return nil
}
