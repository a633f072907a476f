package service

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
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
// them for its own. log hears of sockets that are for another process. It fails
// when one is not a listening stream socket.
func Inherited(getenv func(string) string, log func(format string, a ...any)) ([]Socket, error) {
	pid, count, names := getenv("LISTEN_PID"), getenv("LISTEN_FDS"), getenv("LISTEN_FDNAMES")
	for _, v := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(v)
	}
	if count == "" {
		return nil, nil
	}
	// A successor's pid is not known before it is there: it is told by its own
	// variable that the sockets are for it.
	if pid != strconv.Itoa(os.Getpid()) && (pid != "" || getenv(readyVariable) == "") {
		log("LISTEN_FDS=%s is for process %q and not for this one, %d: ignored", count, pid, os.Getpid())
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
		if err := reactor.Inherited(sockets[i].FD); err != nil {
			return nil, fmt.Errorf("%w, name %q", err, sockets[i].Name)
		}
		if err := unix.SetNonblock(sockets[i].FD, true); err != nil {
			return nil, fmt.Errorf("inherited descriptor %d: %w", sockets[i].FD, err)
		}
	}
	return sockets, nil
}
