package proxy

import "time"

// HealthPolicy says when a target is left alone, and for how long.
type HealthPolicy struct {
	Failures int           // that many in a row take a target out; 0: none do
	Pause    time.Duration // before it is tried again; doubles each time it fails
	PauseMax time.Duration // but not beyond
}

// DefaultHealth is the policy of a Group that was given none.
var DefaultHealth = HealthPolicy{Failures: 3, Pause: time.Second, PauseMax: 30 * time.Second}

// health is what is known of one target:
//
//	up     Failures in a row, if not 0   → down, for Pause
//	down   pause over, a request picked  → trial
//	trial  failure                       → down, for twice the last pause
//	trial  given up                      → down, due at once
//	trial  nothing known for PauseMax    → another trial: the first may be an upload without end
//	any    success                       → up
//
// Times are on the caller's monotonic clock.
type health struct {
	state    healthState
	failures int
	pause    time.Duration // the last one
	due      time.Duration // when a trial may be made, while down or in trial
}

type healthState uint8

const (
	up healthState = iota
	down
	trial // one request finds out
)

// usable says that a request may be sent.
func (h *health) usable(now time.Duration) bool {
	return h.state == up || now >= h.due
}

// picked is told that a request will be sent.
func (h *health) picked(p *HealthPolicy, now time.Duration) {
	if h.state != up {
		h.state, h.due = trial, now+p.PauseMax
	}
}

func (h *health) success() { *h = health{} }

// failure counts. One that comes from a request sent before the target went down
// does not lengthen the pause.
func (h *health) failure(p *HealthPolicy, now time.Duration) {
	h.failures++
	switch {
	case h.state == up && p.Failures > 0 && h.failures >= p.Failures:
		h.pause = p.Pause
	case h.state == trial:
		h.pause = min(2*h.pause, p.PauseMax)
	default:
		return
	}
	h.state = down
	h.due = now + h.pause
}

// givenUp is told that a request ended without saying anything of the target: the
// client went away.
func (h *health) givenUp() {
	if h.state == trial {
		h.state, h.due = down, 0
	}
}
