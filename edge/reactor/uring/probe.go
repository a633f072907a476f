// Whether a ring can be had here that does what is needed.

package uring

import (
	"fmt"
	"syscall"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

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
	{giouring.OpPollAdd, "POLL_ADD"}, {giouring.OpRecv, "RECV"}, {giouring.OpSend, "SEND"},
	{giouring.OpSendmsg, "SENDMSG"},
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
