package service

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReapOrphans takes note of the end of processes whose parent is gone, until ctx
// ends. They are process 1's to wait for, and stay as zombies without it; in any
// other process it does nothing. Whoever starts a child of process 1's own and waits
// for it holds HoldReaping meanwhile: it would find that the child is gone already.
func ReapOrphans(ctx context.Context) {
	if os.Getpid() != 1 {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		reapAll()
		select {
		case <-ctx.Done():
			return
		case <-ended: // one signal may stand for several
		}
	}
}

// reaping is held by those who wait for children of their own.
var reaping sync.RWMutex

// HoldReaping keeps ReapOrphans from the children that the caller starts before it
// calls release.
func HoldReaping() (release func()) {
	reaping.RLock()
	return reaping.RUnlock
}

func reapAll() {
	reaping.Lock()
	defer reaping.Unlock()
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
	}
}
