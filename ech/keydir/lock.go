package keydir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile begins with a dot, so that no server takes it for a key.
const lockFile = ".lock"

// lockPoll is how often a lock that another run holds is tried again: flock with
// waiting could not be interrupted.
const lockPoll = 20 * time.Millisecond

// lock waits until no other run on this machine works on the directory. The lock
// ends with the process whatever happens to it. Runs on other machines do not
// see it; what they do at the same time is harmless (see plan).
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockFile)
	f, err := openLock(dir, path)
	if err != nil {
		return nil, about(path, err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			f.Close()
			return nil, about(path, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("%s is held by another run: %w", path, context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}

// openLock opens the lock file. Root gives it to whom the directory belongs, who
// may run next.
func openLock(dir, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	owner, err := asDirectory(dir)
	if err == nil && owner.uid >= 0 {
		err = f.Chown(owner.uid, owner.gid)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
