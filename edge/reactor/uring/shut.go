// The end: nothing is unmapped that the kernel may still write to.

package uring

import (
	"net/netip"
	"syscall"
	"time"

	"edge/edge/reactor"
)

// shutWait is how long Shut waits for the kernel to let go of what it was given.
// It needs a moment unless a disk hangs.
const shutWait = time.Second

// Shut closes all sockets, waits until no operation is left that could write to
// our memory, and releases ring and memory. It comes after Run, on its thread.
func (r *Reactor) Shut() error {
	quiet := true
	if r.enabled {
		quiet = r.settle()
	} else {
		r.closeUnstarted()
	}
	if r.Wake != nil {
		_ = r.Wake.Close()
	}
	r.ring.close()
	if r.Pool == nil || !quiet {
		return nil // what the kernel may still write to is left mapped
	}
	return r.Pool.Close()
}

// closeUnstarted closes the sockets of a ring that never ran.
func (r *Reactor) closeUnstarted() {
	for i := range r.slots.Top() {
		if sl := r.slots.At(i); sl.State != reactor.SlotFree {
			_ = syscall.Close(int(sl.Op.fd))
		}
	}
}

// settle closes every socket and turns until the last completion came; false if
// it did not come in time.
func (r *Reactor) settle() bool {
	r.Handler = mute{}
	for i := range r.slots.Top() {
		if sl := r.slots.At(i); sl.State != reactor.SlotFree && sl.State != reactor.SlotClosing {
			r.close(sl)
		}
	}
	end := r.Read().Add(shutWait)
	r.Wheel.Own(end, 0)
	for r.slots.Len() > 0 {
		r.prepare()
		if r.enter() != nil || r.Now() > end {
			return false
		}
		r.turn()
	}
	return true
}

// mute is a Handler for whom nothing is of interest any more.
type mute struct{}

func (mute) Accepted(_, _ reactor.Sock, _ netip.AddrPort)             {}
func (mute) AcceptFailed(reactor.Sock, error)                         {}
func (mute) Connected(reactor.Sock, error)                            {}
func (mute) Received(reactor.Sock, []byte, reactor.BufID) (kept bool) { return false }
func (mute) ReceiveEnded(reactor.Sock, error)                         {}
func (mute) Sent(reactor.Sock, error)                                 {}
func (mute) FileRead(reactor.Sock, int, error)                        {}
func (mute) Expired(reactor.Sock)                                     {}
func (mute) Fired(uint64)                                             {}
func (mute) Closed(reactor.Sock)                                      {}
func (mute) TurnEnd()                                                 {}
