package service

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReapOrphans takes note of the end of processes whose parent is gone, until ctx
// ends. They are process 1's to wait for, and stay as zombies without it; in any
// other process it does nothing. Process 1 starts no children of its own: their
// parent would find that they are gone already.
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

func reapAll() {
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
