// Package uring is the reactor over io_uring: multishot poll and receive, a
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
	"syscall"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
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
