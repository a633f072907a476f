package certstore

// This file asks the kernel to say when a directory changes. What it says is not
// looked at: it is only the time to look.

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// watchesMax bounds the directories watched.
const watchesMax = 8192

// watchMask is what a change to a directory, or to a file in it, looks like. It
// has no event that reading a file makes.
const watchMask = unix.IN_CLOSE_WRITE | unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// inotify is a notifier by inotify(7).
type inotify struct {
	file    *os.File
	signal  chan struct{}
	watched map[int]struct{} // watch descriptors
}

// newInotify returns an inotify instance, with a goroutine that ends when it is
// closed.
func newInotify() (*inotify, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	n := &inotify{file: os.NewFile(uintptr(fd), "inotify"), signal: make(chan struct{}, 1), watched: make(map[int]struct{})}
	go n.read()
	return n, nil
}

// read turns what the kernel writes into signals, however much of it there is.
func (n *inotify) read() {
	buf := make([]byte, 64<<10)
	for {
		if _, err := n.file.Read(buf); err != nil {
			return
		}
		select {
		case n.signal <- struct{}{}:
		default:
		}
	}
}

// events has something in it after a change.
func (n *inotify) events() <-chan struct{} { return n.signal }

// close ends the goroutine.
func (n *inotify) close() { n.file.Close() }

// watch replaces the set of directories watched.
func (n *inotify) watch(dirs []string) error {
	fd, err := n.file.SyscallConn()
	if err != nil {
		return err
	}
	var first error
	if len(dirs) > watchesMax {
		dirs, first = dirs[:watchesMax], fmt.Errorf("more than %d directories", watchesMax)
	}
	err = fd.Control(func(fd uintptr) {
		before := n.watched
		n.watched = make(map[int]struct{}, len(dirs))
		for _, dir := range dirs {
			wd, err := unix.InotifyAddWatch(int(fd), dir, watchMask)
			if err != nil {
				// One that is gone again is seen by the next look.
				if !errors.Is(err, unix.ENOENT) && first == nil {
					first = err
				}
				continue
			}
			n.watched[wd] = struct{}{}
			delete(before, wd)
		}
		for wd := range before {
			unix.InotifyRmWatch(int(fd), uint32(wd)) // fails for a directory that is gone
		}
	})
	return errors.Join(first, err)
}
