// The two queues of a ring, and the system call between them.

package uring

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"
)

// next gives the next submission entry to fill, nil when the queue is full.
// The entry holds what it held before: it is to be assigned as a whole.
func (r *ring) next() *sqe {
	if r.tail-atomic.LoadUint32(r.sqHead) == uint32(len(r.sqes)) {
		return nil
	}
	e := &r.sqes[r.tail&uint32(len(r.sqes)-1)]
	r.tail++
	return e
}

// ready gives the completions that may be looked at: entries from head up to
// tail.
func (r *ring) ready() (head, tail uint32) {
	return *r.cqHead, atomic.LoadUint32(r.cqTail)
}

// at is the completion of a position that ready gave.
func (r *ring) at(pos uint32) *cqe { return &r.cqes[pos&uint32(len(r.cqes)-1)] }

// seen gives completions before pos back to the kernel.
func (r *ring) seen(pos uint32) { atomic.StoreUint32(r.cqHead, pos) }

// overflown says that completions wait in the kernel for room in the queue.
func (r *ring) overflown() bool {
	return atomic.LoadUint32(r.sqFlags)&giouring.SQCQOverflow != 0
}

// submit hands over what was filled without waiting. It may be called with
// completions not yet reaped.
func (r *ring) submit() syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, r.enterFD, r.flush(), 0, r.enterFlags, 0, 0)
	return errno
}

// poll submits and has the kernel make completions, but does not wait. It is a
// raw system call: it does not sleep.
func (r *ring) poll() syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, r.enterFD, r.flush(), 0,
		r.enterFlags|uintptr(giouring.EnterGetEvents), 0, 0)
	return errno
}

// wait submits and sleeps until there are n completions, or one once atMost is
// over. The scheduler is told, so that the collector and other goroutines do not
// wait for us.
func (r *ring) wait(n int, atMost time.Duration) syscall.Errno {
	if n == 1 || !r.canGather {
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, r.enterFD, r.flush(), 1,
			r.enterFlags|uintptr(giouring.EnterGetEvents), 0, 0)
		return errno
	}
	r.gathering.minWaitUsec = uint32(atMost / time.Microsecond)
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, r.enterFD, r.flush(), uintptr(n),
		r.enterFlags|uintptr(giouring.EnterGetEvents|giouring.EnterExtArg),
		uintptr(unsafe.Pointer(&r.gathering)), unsafe.Sizeof(r.gathering))
	return errno
}

const featMinTimeout = 1 << 15 // IORING_FEAT_MIN_TIMEOUT (6.12)

// getEventsArg is the kernel's struct io_uring_getevents_arg; the library's has
// a pad where newer kernels (6.12) have the least time to wait.
type getEventsArg struct {
	sigMask     uint64
	sigMaskSize uint32
	minWaitUsec uint32
	timeout     uint64
}

// flush shows the kernel what was filled and gives the number of entries that
// it has not taken.
func (r *ring) flush() uintptr {
	atomic.StoreUint32(r.sqTail, r.tail)
	return uintptr(r.tail - atomic.LoadUint32(r.sqHead))
}
