package gateway

import "time"

// The end of a worker loses no request:
//
//	accepting stops      what the kernel has accepted for us is still served
//	listeners close      after listenersRest, when the last of those has come
//	answers in progress  are finished, and say "Connection: close"
//	idle connections     get a moment for a request that is on its way to us, for
//	                     HTTP/1.1 cannot say that a connection is about to end
//	all the rest         is cut after --drain
const (
	listenersRest = 50 * time.Millisecond

	// drainIdleTime is that moment. With a successor nobody waits for our end.
	drainIdleTime     = time.Second
	succeededIdleTime = 3 * time.Second
)

// drain lets the worker end once its last connection is gone. Connections may be
// idle for that long until then.
func (w *worker) drain(idle time.Duration) {
	if w.draining {
		return
	}
	w.draining, w.idleTime = true, idle
	for _, l := range w.listeners {
		w.r.PauseReceive(l.sock)
	}
	w.r.After(listenersRest, tagListeners)
	for _, e := range w.ends {
		if c, ok := e.(*conn); ok && c.timer == timerIdle {
			c.setTimer(timerIdle) // it is shorter now
		}
	}
	w.r.After(w.server.cfg.Timeouts.Drain, tagDrain)
}

// closeListeners gives the listening sockets up.
func (w *worker) closeListeners() {
	for _, l := range w.listeners {
		w.r.Close(l.sock)
	}
	w.listeners = nil
	w.stopIfDrained()
}

// stopIfDrained ends the worker when there is nothing left to do.
func (w *worker) stopIfDrained() {
	if w.draining && w.open == 0 && len(w.listeners) == 0 {
		w.r.Stop()
	}
}

// drainIsOver cuts what has not ended in time.
func (w *worker) drainIsOver() {
	w.server.log.Printf("drain: %d connections did not end in time and were cut: raise --drain if they should", w.open)
	w.r.Stop()
}

// end gives back what the worker holds, after its reactor has stopped.
func (w *worker) end() {
	for _, e := range w.ends {
		if c, ok := e.(*conn); ok {
			c.leaveGeneration()
			c.filling = false
			c.dropExchange()
		}
	}
	w.forsake()
	w.access.flush()
}

// join takes the current generation for a connection or an exchange.
func (w *worker) join() *localGen {
	w.gen.holders++
	return w.gen
}

// leave ends a join.
func (w *worker) leave(g *localGen) {
	if g.holders--; g.holders == 0 && g != w.gen {
		g.drop()
	}
}

// adopt makes g the worker's current generation. The caller has counted the
// worker among its users.
func (w *worker) adopt(g *generation) {
	old := w.gen
	w.gen = &localGen{generation: g}
	if old != nil && old.holders == 0 {
		old.drop()
	}
}

// forsake gives up the current generation at the end.
func (w *worker) forsake() {
	if w.gen.holders == 0 {
		w.gen.drop()
	}
	w.gen = nil
}
