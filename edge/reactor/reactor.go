// Package reactor is the contract between a worker and the kernel: operations
// go in, completions come out, and it says who owns a buffer in between.
//
// One Reactor serves one worker on one locked thread. Its life is a turn,
// repeated: reap every completion, hand each to the Handler, let the Handler
// finish what it gathered (TurnEnd), then submit all of it and wait, in one
// system call. Three packages keep this contract: uring (io_uring), epoll
// (where io_uring is refused) and sim (seeded, for tests).
//
// The package does no protocol work and knows nothing of TLS or HTTP.
package reactor

import (
	"net/netip"
	"time"
)

// Sock names one socket of one reactor: slot index in the low 32 bits, the
// slot's generation in the high 32. Generations start at 1, so the zero Sock
// names nothing. A Sock from an earlier generation of its slot is stale: every
// operation on it does nothing.
type Sock uint64

// MakeSock joins a slot index and a generation.
func MakeSock(index int, generation uint32) Sock {
	return Sock(uint64(generation)<<32 | uint64(uint32(index)))
}

// Index is the slot index: dense from 0, so a worker may keep its connections
// in a slice of Reactor.SocketsMax entries.
func (s Sock) Index() int { return int(uint32(s)) }

// Generation tells apart the sockets that had the same slot.
func (s Sock) Generation() uint32 { return uint32(s >> 32) }

// Instant is a point on the reactor's clock, in nanoseconds; 0 is "never".
type Instant int64

// Add gives the instant d after t.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub gives the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// FileBuffersMax bounds the buffers of one ReadFile.
const FileBuffersMax = 16

// CheckFileBuffers panics if a ReadFile is given none or too many buffers.
func CheckFileBuffers(bufs [][]byte) {
	if len(bufs) == 0 || len(bufs) > FileBuffersMax {
		panic("BUG: ReadFile into no buffers or more than 16")
	}
}

// SendBuffersMax bounds the buffers of one SendVec.
const SendBuffersMax = 16

// CheckSendBuffers panics if a SendVec is given none or too many buffers.
func CheckSendBuffers(bufs [][]byte) {
	if len(bufs) == 0 || len(bufs) > SendBuffersMax {
		panic("BUG: SendVec of no buffers or more than 16")
	}
}

// BufID names a receive buffer that the Handler may keep.
type BufID uint32

// A Reactor is used on its own thread only, Post apart.
type Reactor interface {
	// Listen starts accepting on fd, a bound, listening, non-blocking stream
	// socket. The reactor owns fd from here on. Accepted sockets inherit
	// TCP_NODELAY from it.
	Listen(fd int) (Sock, error)

	// Connect starts a connection; Handler.Connected comes exactly once unless
	// the socket is closed first. What fails at once (EMFILE, ErrSocketsMax, an
	// address that cannot be) is the error, and the Sock is zero.
	Connect(to Address) (Sock, error)

	// Receive arms or resumes reading (on a listener: accepting). It is
	// idempotent. Accepted and connected sockets start paused.
	Receive(s Sock)

	// PauseReceive stops reading without losing what is in flight: bytes that
	// completions already carry are held back and delivered after Receive.
	PauseReceive(s Sock)

	// Send starts writing all of b. At most one Send is in flight on a socket
	// (a second is a BUG panic); short writes are continued by the reactor. b
	// belongs to the reactor until Handler.Sent.
	Send(s Sock, b []byte)

	// SendVec is Send of several buffers, one after the other, at most
	// SendBuffersMax of them. The buffers belong to the reactor until Handler.Sent,
	// but the caller keeps them reachable: the reactor may have nothing of them but
	// addresses. The slice of them is free on return.
	SendVec(s Sock, bufs [][]byte)

	// TrySend writes at once as much of b as the kernel takes, and returns how
	// many bytes that was; 0 also when writing fails, which a Send of the rest
	// will report. b stays the Handler's. No Send may be in flight. It is for
	// large output: the bytes are copied while the processor's cache still holds
	// them, and their buffer is free again at once. It costs a system call.
	TrySend(s Sock, b []byte) int

	// Flush starts all that was asked for so far, without a wait: for a Handler that
	// goes on computing for a while. Without it operations start when the turn ends.
	Flush()

	// ReadFile reads from file at offset into bufs, one after the other, as
	// preadv does; at most FileBuffersMax of them. At most one is in flight on a
	// socket. The buffers belong to the reactor until Handler.FileRead; they must
	// come from Buffers. The slice of them does not: it is free on return.
	ReadFile(s Sock, file int, bufs [][]byte, offset int64)

	// ShutdownWrite sends FIN once no Send is in flight.
	ShutdownWrite(s Sock)

	// Close gives the socket up: reading ends, a Send or ReadFile in flight is
	// cancelled, and the file descriptor is closed. The Handler hears no more of
	// it but Sent and FileRead of operations in flight (with ECANCELED or their
	// true result), and then Closed, after which the slot is used again.
	// Close is not a flush: call it after Sent.
	Close(s Sock)

	// Abort is Close with a reset to the peer in place of FIN.
	Abort(s Sock)

	// SetDeadline asks for Handler.Expired at the instant at, and forgets the
	// earlier deadline of s; 0 clears it. Moving a deadline later costs a store.
	SetDeadline(s Sock, at Instant)

	// After asks for Handler.Fired(tag) once d has passed; if d is not positive,
	// in the next turn, which then does not wait. It is for worker-wide work, at
	// most 4096 at a time; a connection uses SetDeadline. Timers come up to a tick
	// (4.2 ms) late, never early.
	After(d time.Duration, tag uint64)

	// Recycle gives back a receive buffer the Handler kept.
	Recycle(id BufID)

	// Buffers is the worker's pool of memory the kernel may read and write.
	Buffers() *Buffers

	// Now is the clock as of the start of this turn.
	Now() Instant

	// Wall is Now as a date.
	Wall() time.Time

	// SocketsMax bounds Sock.Index.
	SocketsMax() int

	// FD is the file descriptor of a live socket, for options and addresses; -1
	// if s is stale or the reactor has none. It must not be read, written or
	// closed.
	FD(s Sock) int

	// Post has fn called on the reactor's thread, soon. It may be called from
	// any goroutine and never blocks.
	Post(fn func())

	// Stop ends Run after the current turn.
	Stop()

	// Run turns until Stop or until the ring itself fails. It locks its goroutine
	// to a thread; a second Run, and Shut, must come from the same thread, so a
	// worker that may call them locks its goroutine itself.
	Run(h Handler) error

	// Shut closes all sockets, waits until the kernel uses no memory of ours, and
	// releases everything; after Run has returned.
	Shut() error
}

// Address is where to connect: a TCP address, or the path of a unix socket
// (a leading @ is the abstract namespace).
type Address struct {
	TCP  netip.AddrPort
	Unix string
}

// Handler is told what happened, on the reactor's thread. None of its methods
// may block.
type Handler interface {
	// Accepted: a connection came in on listener l. The peer is invalid for
	// unix sockets.
	Accepted(l, s Sock, peer netip.AddrPort)

	// AcceptFailed: accept failed with err (EMFILE, ENFILE, ENOMEM...). The
	// reactor tries again by itself after a pause.
	AcceptFailed(l Sock, err error)

	// Connected: the outcome of Connect.
	Connected(s Sock, err error)

	// Received: bytes arrived. b may be written over and is valid during the
	// call, unless the Handler returns true: then it keeps b until Recycle(id).
	// Receive buffers are few and shared by all sockets: what may wait for long is
	// better copied.
	Received(s Sock, b []byte, id BufID) (kept bool)

	// ReceiveEnded: no more will be received: the peer sent FIN (err nil), or
	// reading failed.
	ReceiveEnded(s Sock, err error)

	// Sent: the Send in flight is over: all of it written (err nil), or not.
	Sent(s Sock, err error)

	// FileRead: the ReadFile in flight is over; n bytes were read. n may be
	// short without err: end of file.
	FileRead(s Sock, n int, err error)

	// Expired: the deadline of s has come; it is cleared.
	Expired(s Sock)

	// Fired: an After has come.
	Fired(tag uint64)

	// Closed: the last completion of s came. s is stale from now on.
	Closed(s Sock)

	// TurnEnd: all completions of this turn were handed over. What became ready
	// in the turn is coalesced and sent here.
	TurnEnd()
}
