// The turn: which completions come, drawn from the seed.

package sim

import (
	"slices"

	"edge/edge/reactor"
)

// Rates of faults, one in so many.
const (
	delayOneIn = 4 // a completion waits for another turn
	shortOneIn = 2 // a transfer moves a part of what it could
	tinyOneIn  = 8 // and a short one a single byte
)

// settleTurnsMax is when Idle gives up: something starts itself over and over.
const settleTurnsMax = 1 << 20

// event is a completion that could come now.
type event struct {
	sock reactor.Sock
	kind eventKind
}

type eventKind uint8

const (
	eventAccept eventKind = iota
	eventConnect
	eventReceive
	eventSend
	eventRead
	eventClose
)

// Run turns until Stop. When nothing is left to do it moves the clock to the
// next deadline; without one it waits for Post.
func (s *Reactor) Run(h reactor.Handler) error {
	s.h, s.stopped = h, false
	for !s.stopped {
		if s.Step() || s.stopped {
			continue
		}
		if next := s.wheel.Next(); next != 0 {
			s.clock.now = max(s.clock.now, next)
			continue
		}
		s.mu.Lock()
		for len(s.posted) == 0 {
			s.wakeup.Wait()
		}
		s.mu.Unlock()
	}
	return nil
}

// Idle turns until nothing is left to do. The clock stands still.
func (s *Reactor) Idle() {
	s.t.Helper()
	for range settleTurnsMax {
		if !s.Step() {
			return
		}
	}
	s.t.Fatalf("sim: does not settle in %d turns", settleTurnsMax)
}

// Step is one turn; it says whether anything happened.
func (s *Reactor) Step() bool {
	s.wheel.BeginTurn()
	moved := s.moveBytes()
	moved = s.runPosted() || moved
	events := s.events()
	if len(events) > 0 {
		s.clock.wake()
	}
	for _, e := range events {
		if sl := s.slots.Find(e.sock); sl != nil {
			s.complete(sl, e.kind)
		}
	}
	fired := s.expire()
	s.h.TurnEnd()
	s.checkSends()
	return moved || fired || len(events) > 0 || s.wheel.Ready()
}

// moveBytes is the network: what peers wrote arrives, what was sent reaches them.
func (s *Reactor) moveBytes() (moved bool) {
	for _, p := range s.peers {
		moved = p.move() || moved
	}
	// A connection that was reset moves nothing any more.
	s.peers = slices.DeleteFunc(s.peers, func(p *Peer) bool { return p.reset })
	return moved
}

func (s *Reactor) runPosted() bool {
	s.mu.Lock()
	fns := s.posted
	s.posted = nil
	s.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
	return len(fns) > 0
}

// events draws the completions of this turn: at least one if any is possible.
func (s *Reactor) events() []event {
	var all []event
	for i := 0; i < s.slots.Top(); i++ {
		if sl := s.slots.At(i); sl.State != reactor.SlotFree {
			all = s.possible(all, sl)
		}
	}
	if s.o.Calm {
		return all
	}
	s.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	kept := all[:0]
	for i, e := range all {
		last := i == len(all)-1 && len(kept) == 0
		if last || s.rng.IntN(delayOneIn) != 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

// possible adds what could complete of one socket.
func (s *Reactor) possible(all []event, sl *slot) []event {
	add := func(can bool, kind eventKind) {
		if can {
			all = append(all, event{sl.Sock, kind})
		}
	}
	c := &sl.Op
	closing := sl.State == reactor.SlotClosing
	add(c.reading && !s.slowFile(c.read.file), eventRead)
	add(closing && sl.Pending == 0, eventClose)
	switch {
	case c.listener != nil:
		add(c.want && !c.resting && !closing && len(c.listener.queue) > 0, eventAccept)
		return all
	case sl.State == reactor.SlotConnecting:
		add(!c.peer.backend.Hang, eventConnect)
		return all
	case closing && !c.peer.connected:
		add(sl.Pending > 0 && !c.reading && !c.sending, eventConnect)
		return all
	}
	add(c.sending && (closing || c.peer.room() > 0 || c.peer.reset || len(c.outWas) == c.done), eventSend)
	add(c.want && !closing && !c.ended && c.peer.readable() && s.haveRecv(), eventReceive)
	return all
}
