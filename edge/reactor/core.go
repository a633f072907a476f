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

	active   bool // there was work since memory was trimmed
	trimming bool // a timer for trimming is set
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

// trimEvery is how often memory not used meanwhile is given back: what is needed
// again within it costs no page fault, and what a burst has left lies about for no
// more than twice as long.
const trimEvery = 500 * time.Millisecond

// TrimLater sees to it that memory is trimmed some time after there was work. A
// reactor calls it once a turn; an idle one is not woken for it.
func (c *Core) TrimLater() {
	if c.active && !c.trimming {
		c.active, c.trimming = false, true
		c.Wheel.Own(c.Now().Add(trimEvery), 0)
	}
}

// Worked notes that there was work.
func (c *Core) Worked() { c.active = true }

// Trim gives idle memory of the pool back, when the timer of TrimLater has come;
// more says that the reactor has other memory to be looked at again.
func (c *Core) Trim(more bool) {
	c.trimming = false
	c.active = c.Pool.Trim() || more || c.active
}

// AcceptRest is how long a listener rests after accept failed: long enough that
// running out of descriptors costs nothing, short enough to go unnoticed.
const AcceptRest = 100 * time.Millisecond
