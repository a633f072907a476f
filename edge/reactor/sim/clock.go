// Time, which tests advance.

package sim

import (
	"time"

	"edge/edge/reactor"
)

// clock stands still unless the test moves it.
type clock struct {
	now   reactor.Instant
	slept time.Duration // until something comes; see Sleep
}

// wake ends a sleep.
func (c *clock) wake() { c.now, c.slept = c.now.Add(c.slept), 0 }

// clockStart: 0 means never. Some 12 days in, so that subtracting an hour from
// Now is an instant still.
const clockStart = reactor.Instant(1 << 50)

// epoch is the date of clockStart.
var epoch = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newClock() clock { return clock{now: clockStart} }

func (c *clock) wall() time.Time { return epoch.Add(c.now.Sub(clockStart)) }

// Advance settles, then moves the clock by d, stopping at every deadline on the
// way to settle again.
func (s *Reactor) Advance(d time.Duration) {
	s.t.Helper()
	s.Idle()
	end := s.clock.now.Add(d)
	for {
		next := s.wheel.Next()
		if next == 0 || next > end {
			break
		}
		s.clock.now = max(s.clock.now, next)
		s.Step()
		s.Idle()
	}
	s.clock.now = end
	s.Step()
	s.Idle()
}

// Sleep has the next turn in which something comes begin d later, with no turn
// before: as the clock moves while a reactor waits for the kernel.
func (s *Reactor) Sleep(d time.Duration) {
	s.t.Helper()
	s.Idle()
	s.clock.slept += d
}

// NextDeadline moves the clock to the next deadline; false if there is none.
func (s *Reactor) NextDeadline() bool {
	next := s.wheel.Next()
	if next == 0 {
		return false
	}
	s.clock.now = max(s.clock.now, next)
	return true
}
