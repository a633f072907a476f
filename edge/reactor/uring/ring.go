// Package uring is the reactor over io_uring: multishot accept and receive, a
// ring of provided buffers, one io_uring_enter per turn.
//
// It needs Linux 6.0 and is best from 6.1 on (deferred task work). It links only
// with -ldflags=-checklinkname=0, for the library that sets the ring up reaches
// for syscall.mmap.
//
// The ring is set up and mapped by giouring; submitting and reaping are done
// here on the mapped queues, because the library's own way to wait always pays
// for the scheduler's bookkeeping and cannot be told when not to sleep.
package uring

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// sqe and cqe are the kernel's submission and completion entries.
type (
	sqe = giouring.SubmissionQueueEntry
	cqe = giouring.CompletionQueueEvent
)

// ring is one io_uring with its queues. The pointers lead into the kernel's
// memory, which the collector neither moves nor sees.
type ring struct {
	lib *giouring.Ring

	sqHead  *uint32 // moved by the kernel
	sqTail  *uint32
	sqFlags *uint32
	sqes    []sqe
	tail    uint32 // our tail: entries up to it are filled
	cqHead  *uint32
	cqTail  *uint32 // moved by the kernel
	cqes    []cqe

	flags      uint32       // as set up
	canGather  bool         // the kernel can wait for several completions, for a time
	gathering  getEventsArg // for how long
	enterFD    uintptr      // the ring's descriptor, or its registered index
	enterFlags uintptr
}

// setupFlags are tried in turn until the kernel knows them all. The ring starts
// disabled, so that it may be set up on one thread and belong to another.
//   - SINGLE_ISSUER and DEFER_TASKRUN (6.0, 6.1): completions are made only while
//     the worker waits for them; no interrupting, no locking.
//   - COOP_TASKRUN (5.19): next best, they are made at the next system call.
//   - SUBMIT_ALL: one bad entry does not hold up the rest.
//
// NO_SQARRAY would save a load per entry, but the library writes the array that
// is then not there.
var setupFlags = []uint32{
	giouring.SetupSingleIssuer | giouring.SetupDeferTaskrun,
	giouring.SetupSingleIssuer | giouring.SetupCoopTaskrun,
	giouring.SetupCoopTaskrun,
}

const setupAlways = giouring.SetupRDisabled | giouring.SetupSubmitAll | giouring.SetupCQSize

// entriesLeast is the smallest submission queue worth having.
const entriesLeast = 32

// setupSmaller makes a ring, a smaller one if memory is short for the one asked
// for, and checks that it can do what it is wanted for.
func setupSmaller(o reactor.Options, try func(entries, completions int) (*ring, error)) (*ring, error) {
	entries, completions := o.Entries, o.Completions
	for {
		r, err := try(entries, completions)
		if err == nil {
			if entries != o.Entries {
				by, _ := thisHost.whoLimits()
				o.Log(fmt.Sprintf("io_uring: %s: rings of %d and %d entries in place of %d and %d",
					by, entries, completions, o.Entries, o.Completions))
			}
			return r, nil
		}
		if err != syscall.ENOMEM || entries <= entriesLeast {
			return nil, thisHost.explain("io_uring_setup", err)
		}
		entries, completions = entries/2, completions/2
	}
}

// required are the operations used, and SEND_ZC, which is not used but came with
// the multishot receive that cannot be asked for by itself (6.0).
var required = []struct {
	op   uint8
	name string
}{
	{giouring.OpAccept, "ACCEPT"}, {giouring.OpRecv, "RECV"}, {giouring.OpSend, "SEND"},
	{giouring.OpRead, "READ"}, {giouring.OpReadv, "READV"}, {giouring.OpConnect, "CONNECT"},
	{giouring.OpClose, "CLOSE"}, {giouring.OpAsyncCancel, "ASYNC_CANCEL"},
	{giouring.OpTimeout, "TIMEOUT"}, {giouring.OpTimeoutRemove, "TIMEOUT_REMOVE"},
	{giouring.OpSendZC, "RECV multishot"},
}

// probe asks the ring whether it has the operations used, and whether the other
// two system calls are allowed.
func (r *ring) probe() error {
	var p giouring.Probe
	if _, err := r.lib.RegisterProbe(&p, len(p.Ops)); err != nil {
		return thisHost.explain("io_uring_register", err)
	}
	if err := missing(&p); err != nil {
		return err
	}
	// A ring not yet enabled answers EBADFD to whoever may enter it.
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, r.enterFD, 0, 0, 0, 0, 0)
	if errno != 0 && errno != unix.EBADFD {
		return thisHost.explain("io_uring_enter", errno)
	}
	return nil
}

// missing names the first operation that a kernel does not have.
func missing(p *giouring.Probe) error {
	for _, q := range required {
		if !p.IsSupported(q.op) {
			return &RefusedError{Call: q.name, By: "the kernel (" + thisHost.release() + ") does not have it", Allow: allowKernel}
		}
	}
	return nil
}

// setup makes a disabled ring. The error is the bare errno of io_uring_setup or
// of the mapping.
func setup(entries, completions int) (*ring, error) {
	var err error
	for _, flags := range setupFlags {
		lib := giouring.NewRing()
		var p giouring.Params
		*paramField(&p, "flags") = flags | setupAlways
		*paramField(&p, "cqEntries") = uint32(completions)
		if err = lib.QueueInitParams(uint32(entries), &p); err == nil {
			return mapped(lib, flags), nil
		}
		if err != syscall.EINVAL {
			break
		}
	}
	return nil, err
}

// paramField gives a 32-bit field of the library's parameters, which it keeps
// private.
func paramField(p *giouring.Params, name string) *uint32 {
	f, ok := reflect.TypeOf(*p).FieldByName(name)
	if !ok || f.Type.Kind() != reflect.Uint32 {
		panic("BUG: giouring.Params has no " + name)
	}
	return (*uint32)(unsafe.Add(unsafe.Pointer(p), f.Offset))
}

// mapped reads from the library where it mapped the queues.
func mapped(lib *giouring.Ring, flags uint32) *ring {
	l := reflect.ValueOf(lib).Elem()
	pointer := func(queue, name string) unsafe.Pointer {
		return l.FieldByName(queue).Elem().FieldByName(name).UnsafePointer()
	}
	word := func(queue, name string) *uint32 { return (*uint32)(pointer(queue, name)) }
	sqEntries := *word("sqRing", "ringEntries")
	cqEntries := *word("cqRing", "ringEntries")
	return &ring{
		lib:     lib,
		sqHead:  word("sqRing", "head"),
		sqTail:  word("sqRing", "tail"),
		sqFlags: word("sqRing", "flags"),
		sqes:    unsafe.Slice((*sqe)(pointer("sqRing", "sqes")), sqEntries),
		cqHead:  word("cqRing", "head"),
		cqTail:  word("cqRing", "tail"),
		cqes:    unsafe.Slice((*cqe)(pointer("cqRing", "cqes")), cqEntries),
		flags:   flags,
		enterFD: uintptr(lib.RingFd()),

		canGather: l.FieldByName("features").Uint()&featMinTimeout != 0,
		gathering: getEventsArg{minWaitUsec: gatherTime},
	}
}

// enable starts the ring; from here on it belongs to the calling thread. The
// ring's descriptor is registered, which spares a look-up per system call.
func (r *ring) enable() error {
	if _, err := r.lib.EnableRings(); err != nil {
		return fmt.Errorf("enabling the ring: %w", err)
	}
	update := giouring.RsrcUpdate{Offset: ^uint32(0), Data: uint64(r.lib.RingFd())}
	n, errno := r.lib.Register(r.lib.RingFd(), giouring.RegisterRingFDs, unsafe.Pointer(&update), 1)
	if errno == 0 && n == 1 {
		r.enterFD, r.enterFlags = uintptr(update.Offset), uintptr(giouring.EnterRegisteredRing)
	}
	return nil
}

// close gives everything back. Called on the ring's thread it also frees the
// registered descriptor, which would keep the ring alive as long as the thread.
func (r *ring) close() {
	if r.enterFlags != 0 {
		update := giouring.RsrcUpdate{Offset: uint32(r.enterFD)}
		r.lib.Register(r.lib.RingFd(), giouring.UnregisterRingFDs, unsafe.Pointer(&update), 1)
	}
	r.lib.QueueExit()
}

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

// wait submits and sleeps until there is a completion, or as many as gather says.
// The scheduler is told, so that the collector and other goroutines do not wait
// for us.
func (r *ring) wait(last int) syscall.Errno {
	n := gather(last)
	if n == 1 || !r.canGather {
		_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, r.enterFD, r.flush(), 1,
			r.enterFlags|uintptr(giouring.EnterGetEvents), 0, 0)
		return errno
	}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, r.enterFD, r.flush(), n,
		r.enterFlags|uintptr(giouring.EnterGetEvents|giouring.EnterExtArg),
		uintptr(unsafe.Pointer(&r.gathering)), unsafe.Sizeof(r.gathering))
	return errno
}

// gather is for how many completions a wait goes on, for gatherTime at most: a
// worker that is woken for every packet spends as much on waking as on answering
// a small request. It asks for twice what the last turn had, so that batches grow
// for as long as that much comes in the time; one that had next to nothing to do
// wakes for the first.
//
// Measured with echobench, plain requests on one core: 9.2 to 8.1 µs of CPU each
// at 100 connections, 16.6 to 12.4 at 10.
func gather(last int) uintptr {
	if last <= 2 {
		return 1
	}
	return uintptr(min(2*last, gatherMax))
}

const (
	gatherMax  = 64
	gatherTime = 50 // µs; the wait after that is for one completion

	featMinTimeout = 1 << 15 // IORING_FEAT_MIN_TIMEOUT (6.12)
)

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
