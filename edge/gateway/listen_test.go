package gateway

import (
	"testing"
	"time"

	"edge/edge/reactor/sim"
)

// A connection of which nobody was told, as its wake-up went to a predecessor that
// gave up waiting, is found when accepting starts anew.
func TestAcceptsAnewAfterAPredecessor(t *testing.T) {
	b := newBench(t, benchOptions{sim: sim.Options{Calm: true}})
	b.w.startAcceptingAnew()
	start := b.sim.Now()
	for _, d := range acceptAnewAfter {
		b.sim.PauseReceive(b.w.listeners[0].sock) // stands for what was lost
		p := b.plain.Dial()
		p.Write(get("/index.html"))
		b.sim.Idle()
		p.WantIdle("nobody was told")
		b.sim.Advance(start.Add(d + 50*time.Millisecond).Sub(b.sim.Now()))
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != 200 {
			t.Errorf("after %v: %d", d, resp.StatusCode)
		}
		p.Close()
		b.sim.Idle()
	}
	b.done()
}
