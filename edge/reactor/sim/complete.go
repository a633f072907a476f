// What each completion does.

package sim

import (
	"bytes"
	"slices"
	"syscall"

	"edge/edge/reactor"
)

func (s *Reactor) complete(sl *slot, kind eventKind) {
	switch kind {
	case eventAccept:
		s.accept(sl)
	case eventConnect:
		s.connected(sl)
	case eventReceive:
		s.receive(sl)
	case eventSend:
		s.send(sl)
	case eventRead:
		s.readFile(sl)
	case eventClose:
		if sl.State == reactor.SlotClosing && sl.Pending == 0 {
			sock := sl.Sock
			s.slots.Free(sl)
			s.h.Closed(sock)
		}
	}
}

func (s *Reactor) accept(l *slot) {
	c := &l.Op
	if l.State != reactor.SlotOpen || !c.want || c.resting || len(c.listener.queue) == 0 {
		return
	}
	if len(s.failAccept) > 0 {
		err := s.failAccept[0]
		s.failAccept = s.failAccept[1:]
		s.acceptFailed(l, err)
		return
	}
	sl := s.slots.Take(reactor.SlotOpen)
	if sl == nil {
		s.acceptFailed(l, reactor.ErrSocketsMax)
		return
	}
	p := c.listener.queue[0]
	c.listener.queue = c.listener.queue[1:]
	p.sock, p.connected, sl.Op.peer = sl.Sock, true, p
	s.h.Accepted(l.Sock, sl.Sock, p.Addr)
}

func (s *Reactor) acceptFailed(l *slot, err error) {
	l.Op.resting = true
	s.wheel.Own(s.clock.now.Add(reactor.AcceptRest), uint64(l.Sock))
	s.h.AcceptFailed(l.Sock, err)
}

func (s *Reactor) connected(sl *slot) {
	sl.Pending--
	if sl.State == reactor.SlotClosing {
		sl.Op.peer.connected = true
		return
	}
	sl.State = reactor.SlotOpen
	p := sl.Op.peer
	p.connected = true
	if err := p.backend.answer(p); err != nil {
		p.reset = true
		s.h.Connected(sl.Sock, err)
		return
	}
	s.h.Connected(sl.Sock, nil)
}

// receive delivers some of what arrived, or its end.
func (s *Reactor) receive(sl *slot) {
	c := &sl.Op
	p := c.peer
	if sl.State != reactor.SlotOpen || !c.want || c.ended || !p.readable() || !s.haveRecv() {
		return
	}
	if len(p.arrived) == 0 {
		c.ended = true
		if p.reset {
			s.h.ReceiveEnded(sl.Sock, syscall.ECONNRESET)
		} else {
			s.h.ReceiveEnded(sl.Sock, nil)
		}
		return
	}
	id := s.getRecv()
	n := copy(s.recv[id], p.arrived[:s.part(min(len(p.arrived), s.o.RecvBytes))])
	p.arrived = p.arrived[n:]
	b := s.recv[id][:n:n]
	if s.h.Received(sl.Sock, b, reactor.BufID(id)) {
		s.recvKept[id] = true
		return
	}
	s.putRecv(id)
}

// send moves some of what is being sent into the pipe; it completes with the last.
func (s *Reactor) send(sl *slot) {
	c := &sl.Op
	if !c.sending {
		return
	}
	s.checkSend(sl)
	n := min(len(c.outWas)-c.done, c.peer.room())
	if n > 0 && !c.peer.reset && sl.State == reactor.SlotOpen {
		n = s.part(n)
		c.peer.sent = append(c.peer.sent, c.outWas[c.done:c.done+n]...)
		c.done += n
	}
	var err error
	switch {
	case c.done == len(c.outWas):
	case sl.State == reactor.SlotClosing:
		err = syscall.ECANCELED
	case c.peer.reset:
		err = syscall.ECONNRESET
	default:
		return
	}
	sl.Pending--
	c.sending, c.out = false, nil
	s.shutdownIfDue(sl)
	s.h.Sent(sl.Sock, err)
}

// part draws how much of n is moved at once: some, at least 1.
func (s *Reactor) part(n int) int {
	switch {
	case s.o.Calm || n <= 1 || s.rng.IntN(shortOneIn) != 0:
		return n
	case s.rng.IntN(tinyOneIn) == 0:
		return 1
	}
	return 1 + s.rng.IntN(n)
}

func (s *Reactor) expire() (fired bool) {
	for {
		e, ok := s.wheel.Expire(s.clock.now)
		if !ok {
			return fired
		}
		fired = true
		switch e.Kind {
		case reactor.ExpirySocket:
			s.h.Expired(reactor.Sock(e.Tag))
		case reactor.ExpiryAfter:
			s.h.Fired(e.Tag)
		case reactor.ExpiryOwn:
			if sl := s.slots.Live(reactor.Sock(e.Tag)); sl != nil {
				sl.Op.resting = false
			}
		}
	}
}

// checkSends looks after every turn whether bytes in flight were changed.
func (s *Reactor) checkSends() {
	for i := 0; i < s.slots.Top(); i++ {
		if sl := s.slots.At(i); sl.State != reactor.SlotFree && sl.Op.sending {
			s.checkSend(sl)
		}
	}
}

func (s *Reactor) checkSend(sl *slot) {
	if !bytes.Equal(slices.Concat(sl.Op.out...), sl.Op.outWas) {
		panic("BUG: bytes were changed between Send and Sent")
	}
}

// haveRecv says that there is a receive buffer.
func (s *Reactor) haveRecv() bool { return s.recvOut < s.o.RecvBuffers }

func (s *Reactor) getRecv() int {
	s.recvOut++
	if n := len(s.recvFree); n > 0 {
		id := s.recvFree[n-1]
		s.recvFree = s.recvFree[:n-1]
		return id
	}
	s.recv = append(s.recv, make([]byte, s.o.RecvBytes))
	s.recvKept = append(s.recvKept, false)
	return len(s.recv) - 1
}

// putRecv takes a buffer back and spoils it, for whoever still looks at it.
func (s *Reactor) putRecv(id int) {
	s.recvOut--
	for i := range s.recv[id] {
		s.recv[id][i] = 0xdd
	}
	s.recvFree = append(s.recvFree, id)
}
