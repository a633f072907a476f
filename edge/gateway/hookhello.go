package gateway

import "edge/tlsstack/wire"

// askHelloPrograms runs the programs of edge/hello when the ClientHello is there,
// before anything is computed. goOn says that the handshake goes on; if not, alive
// is what advance returns: the programs are not through yet, or the connection is
// over or passed on.
func (c *conn) askHelloPrograms() (goOn, alive bool) {
	p := c.gen.programs
	switch {
	case c.run == nil:
		c.takePrints()
		if !p.has(hookHello) {
			return true, true
		}
		c.run = c.w.newRun(c, nil)
		c.run.begin(hookHello, p)
	case c.run.listed:
		return false, true
	}
	switch c.run.run(p.instances[c.w.index]) {
	case runWaits:
		c.w.wait(c.run)
		return false, true
	case runFailed, runStopped:
		c.failTLS(c.tls.Refuse(wire.AlertInternalError))
		return false, false
	}
	v := c.run.verdict
	c.endHelloRun()
	switch v.kind {
	case verdictRelay:
		c.relayTo(v.to)
	case verdictRefuse:
		c.failTLS(c.tls.Refuse(v.alert))
	case verdictDrop:
		c.abort()
	default:
		return true, true
	}
	return false, false
}

// endHelloRun gives back the run of the hello's programs, if there is one.
func (c *conn) endHelloRun() {
	if c.run != nil {
		c.w.endRun(c.run)
		c.run = nil
	}
}

// helloGoesOn gives the hello's programs another slice.
func (c *conn) helloGoesOn() {
	rest := c.in[c.raw:]
	if c.advance() {
		rest = c.consume(rest)
	}
	c.consumed(nil, rest, true)
}
