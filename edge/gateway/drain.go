package gateway

// drain stops accepting, lets answers in progress end with "Connection: close",
// and ends the worker when its last connection is gone or the time is over.
func (w *worker) drain() {
	if w.draining {
		return
	}
	w.draining = true
	for _, l := range w.listeners {
		w.r.Close(l.sock)
	}
	for _, e := range w.ends {
		if c, ok := e.(*conn); ok && c.stage == stageOpen && c.x == nil {
			c.finish()
		}
	}
	if w.open == 0 {
		w.r.Stop()
		return
	}
	w.r.After(w.server.cfg.Timeouts.Drain, tagDrain)
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
