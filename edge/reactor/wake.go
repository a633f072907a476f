// The way in from other goroutines.

package reactor

import (
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Wake is how other goroutines reach a worker: a list of functions, and an
// eventfd that ends the worker's wait when the list stops being empty. Post
// takes a lock for as long as an append takes.
type Wake struct {
	mu     sync.Mutex
	fd     int
	posted []func()
	spare  []func() // the list of the turn before, its room used again
	closed bool
}

// NewWake makes the list and its eventfd.
func NewWake() (*Wake, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	return &Wake{fd: fd}, nil
}

// FD is the eventfd: readable when something was posted.
func (w *Wake) FD() int { return w.fd }

// Post adds fn and wakes the worker. After Close it does nothing.
func (w *Wake) Post(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.posted = append(w.posted, fn)
	if len(w.posted) == 1 {
		w.signal()
	}
}

// signal adds 1 to the eventfd. It cannot block: the counter would have to be
// near 2^64.
func (w *Wake) signal() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(w.fd, one[:])
}

// Run calls what was posted until now, on the caller's goroutine.
func (w *Wake) Run() {
	w.mu.Lock()
	fns := w.posted
	w.posted = w.spare[:0]
	w.mu.Unlock()
	for i, fn := range fns {
		fns[i] = nil
		fn()
	}
	w.spare = fns
}

// Close closes the eventfd and drops what was posted.
func (w *Wake) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed, w.posted = true, nil
	return unix.Close(w.fd)
}
