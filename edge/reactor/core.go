// What reactors over the kernel have in common.

package reactor

import "time"

// Core is what reactors over the kernel have in common: the clock, the timers,
// the way in from other goroutines, the memory.
type Core struct {
	Clock
	Wheel   *Wheel
	Wake    *Wake
	Pool    *Buffers
	Handler Handler
	Stopped bool

	worked   int  // pieces of work since the timer for trimming was set
	trimming bool // it is set
	putOff   int  // how often trimming was put off
}

// NewCore starts the clock and the wheel.
func NewCore() Core {
	c := Core{Clock: NewClock()}
	c.Wheel = NewWheel(c.Now())
	return c
}

// Buffers is the pool of memory for Send and ReadFile.
func (c *Core) Buffers() *Buffers { return c.Pool }

// Post has fn called on the reactor's thread.
func (c *Core) Post(fn func()) { c.Wake.Post(fn) }

// Stop ends Run after the current turn.
func (c *Core) Stop() { c.Stopped = true }

// After has Handler.Fired(tag) called once d has passed; in the next turn if d is
// not positive.
func (c *Core) After(d time.Duration, tag uint64) {
	if d <= 0 {
		c.Wheel.Soon(tag)
		return
	}
	c.Wheel.After(c.Now().Add(d), tag)
}

// Memory not used for a while is given back: what is needed again within it costs
// no page fault, and what a burst has left lies about for no more than twice as
// long. A busy worker needs now more, now less; to give back the difference each
// time and fault it in again was measured at a twelfth of its time with large
// answers, so its while is longer.
const (
	trimEvery  = 500 * time.Millisecond
	trimBusy   = 500 // pieces of work within trimEvery
	putOffMost = 9
)

// TrimLater sees to it that memory is trimmed some time after there was work. A
// reactor calls it once a turn; an idle one is not woken for it.
func (c *Core) TrimLater() {
	if c.worked > 0 && !c.trimming {
		c.worked, c.trimming = 0, true
		c.Wheel.Own(c.Now().Add(trimEvery), 0)
	}
}

// Worked notes that there was work.
func (c *Core) Worked() { c.worked++ }

// TrimDue says, when the timer of TrimLater has come, whether to Trim now.
func (c *Core) TrimDue() bool {
	c.trimming = false
	if c.worked >= trimBusy && c.putOff < putOffMost {
		c.putOff++
		return false
	}
	c.putOff = 0
	return true
}

// Trim gives idle memory of the pool back; more says that the reactor has other
// memory to be looked at again.
func (c *Core) Trim(more bool) {
	if c.Pool.Trim() || more {
		c.worked++
	}
}

// AcceptRest is how long a listener rests after accept failed: long enough that
// running out of descriptors costs nothing, short enough to go unnoticed.
const AcceptRest = 100 * time.Millisecond
