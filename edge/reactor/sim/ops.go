// The operations of the contract.

package sim

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"edge/edge/reactor"
)

// Listen starts accepting on a Listener's FD.
func (s *Reactor) Listen(fd int) (reactor.Sock, error) {
	l := s.listeners[fd]
	if l == nil {
		return 0, fmt.Errorf("sim: descriptor %d is no Listener's", fd)
	}
	sl := s.slots.Take(reactor.SlotOpen)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op.listener = l
	return sl.Sock, nil
}

// Connect starts a connection to a Backend; without one it is refused.
func (s *Reactor) Connect(to reactor.Address) (reactor.Sock, error) {
	if len(s.failConnect) > 0 {
		err := s.failConnect[0]
		s.failConnect = s.failConnect[1:]
		return 0, err
	}
	sl := s.slots.Take(reactor.SlotConnecting)
	if sl == nil {
		return 0, reactor.ErrSocketsMax
	}
	sl.Op.peer = s.newPeer(sl.Sock, netip.AddrPort{})
	sl.Op.peer.backend = s.Backend(to.String())
	sl.Pending++
	return sl.Sock, nil
}

// Receive arms or resumes reading, or accepting.
func (s *Reactor) Receive(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		sl.Op.want = true
	}
}

// PauseReceive stops reading.
func (s *Reactor) PauseReceive(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		sl.Op.want = false
	}
}

// Send starts writing b.
func (s *Reactor) Send(k reactor.Sock, b []byte) { s.SendVec(k, [][]byte{b}) }

// SendVec starts writing bufs.
func (s *Reactor) SendVec(k reactor.Sock, bufs [][]byte) {
	reactor.CheckSendBuffers(bufs)
	sl := s.slots.Live(k)
	if sl == nil {
		return
	}
	if sl.Op.sending {
		panic("BUG: second Send in flight on a socket")
	}
	c := &sl.Op
	c.sending, c.done = true, 0
	c.out = append(c.out[:0], bufs...)
	c.outWas = slices.Concat(bufs...)
	sl.Pending++
}

// TrySend writes at once what there is room for, often less.
func (s *Reactor) TrySend(k reactor.Sock, b []byte) int {
	sl := s.slots.Live(k)
	if sl == nil {
		return 0
	}
	c := &sl.Op
	if c.sending {
		panic("BUG: TrySend with a Send in flight on a socket")
	}
	n := min(len(b), c.peer.room())
	if n == 0 || c.peer.reset || sl.State != reactor.SlotOpen {
		return 0
	}
	n = s.part(n)
	c.peer.sent = append(c.peer.sent, b[:n]...)
	return n
}

// Flush has nothing to do: bytes move when turns begin.
func (s *Reactor) Flush() {}

// ReadFile reads from a File, or from a descriptor of the test's own.
func (s *Reactor) ReadFile(k reactor.Sock, file int, bufs [][]byte, offset int64) {
	sl := s.slots.Live(k)
	if sl == nil {
		return
	}
	if sl.Op.reading {
		panic("BUG: second ReadFile in flight on a socket")
	}
	reactor.CheckFileBuffers(bufs)
	for _, b := range bufs {
		if !s.pool.Holds(b) {
			panic("BUG: ReadFile into memory that is not from Buffers")
		}
	}
	sl.Op.reading = true
	sl.Op.read = fileRead{file: file, bufs: append([][]byte(nil), bufs...), offset: offset}
	sl.Pending++
}

// ShutdownWrite sends FIN once no Send is in flight.
func (s *Reactor) ShutdownWrite(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		sl.Op.shutdown = true
		s.shutdownIfDue(sl)
	}
}

func (s *Reactor) shutdownIfDue(sl *slot) {
	if sl.Op.shutdown && !sl.Op.sending && sl.Op.peer != nil {
		sl.Op.peer.fin = true
	}
}

// Close gives the socket up.
func (s *Reactor) Close(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		s.close(sl, false)
	}
}

// Abort closes with a reset.
func (s *Reactor) Abort(k reactor.Sock) {
	if sl := s.slots.Live(k); sl != nil {
		s.close(sl, true)
	}
}

func (s *Reactor) close(sl *slot, reset bool) {
	sl.State = reactor.SlotClosing
	s.wheel.Forget(sl.Sock)
	if p := sl.Op.peer; p != nil {
		p.closedByUs(reset)
	}
	if l := sl.Op.listener; l != nil {
		l.closed = true
	}
}

// SetDeadline sets or clears the deadline of a socket.
func (s *Reactor) SetDeadline(k reactor.Sock, at reactor.Instant) {
	if s.slots.Live(k) != nil {
		s.wheel.SetDeadline(k, at)
	}
}

// After has Fired(tag) called once d has passed on the simulation's clock.
func (s *Reactor) After(d time.Duration, tag uint64) {
	if d <= 0 {
		s.wheel.Soon(tag)
		return
	}
	s.wheel.After(s.clock.now.Add(d), tag)
}

// Recycle gives back a kept receive buffer.
func (s *Reactor) Recycle(id reactor.BufID) {
	if int(id) >= len(s.recvKept) || !s.recvKept[id] {
		panic(fmt.Sprintf("BUG: receive buffer %d recycled that was not kept", id))
	}
	s.recvKept[id] = false
	s.putRecv(int(id))
}

// Buffers is the pool of memory for Send and ReadFile.
func (s *Reactor) Buffers() *reactor.Buffers { return s.pool }

// Now is the simulation's clock.
func (s *Reactor) Now() reactor.Instant { return s.clock.now }

// Wall is Now as a date.
func (s *Reactor) Wall() time.Time { return s.clock.wall() }

// SocketsMax bounds Sock.Index.
func (s *Reactor) SocketsMax() int { return s.slots.Max() }

// FD is -1: there are no descriptors.
func (s *Reactor) FD(reactor.Sock) int { return -1 }

// Post has fn called in a coming turn; from any goroutine.
func (s *Reactor) Post(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posted = append(s.posted, fn)
	s.wakeup.Signal()
}

// Stop ends Run after the current turn.
func (s *Reactor) Stop() { s.stopped = true }

// Shut closes nothing: the test's end does.
func (s *Reactor) Shut() error { return nil }
