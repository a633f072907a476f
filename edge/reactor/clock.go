// The clock of reactors over the kernel, and the peace with Go's scheduler.

package reactor

import (
	"runtime"
	"time"
)

// instantStart is what a clock shows at first, for 0 means never.
const instantStart = Instant(time.Second)

// Clock is the clock of a reactor over the kernel: it stands still within a turn.
type Clock struct {
	base   time.Time
	now    Instant
	wall   time.Time // of the instant wallAt
	wallAt Instant
	yield  Instant // when Yield last passed through the scheduler
}

// NewClock starts a clock.
func NewClock() Clock { return Clock{base: time.Now(), now: instantStart} }

// Read is the time now.
func (c *Clock) Read() Instant { return instantStart + Instant(time.Since(c.base)) }

// Turn moves Now to the time now.
func (c *Clock) Turn() { c.now = c.Read() }

// Now is the time at which the turn began.
func (c *Clock) Now() Instant { return c.now }

// Wall is Now as a date.
func (c *Clock) Wall() time.Time {
	if c.wallAt != c.now {
		c.wall, c.wallAt = time.Now(), c.now
	}
	return c.wall
}

// yieldEvery is below the 10 ms after which the Go runtime's monitor thread takes
// a goroutine for one that hogs its processor.
const yieldEvery = 8 * time.Millisecond

// Yield passes through the Go scheduler now and then; a reactor calls it once a
// turn. A worker that never does is, to the monitor thread, a goroutine to be
// preempted and a system call to be robbed of its processor: the monitor then
// wakes every 20 µs for good, which was measured at an eighth of a busy worker's
// time and more. Yielding costs a thousandth.
func (c *Clock) Yield() {
	if c.now.Sub(c.yield) >= yieldEvery {
		c.yield = c.now
		runtime.Gosched()
	}
}
