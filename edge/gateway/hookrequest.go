package gateway

// A request's way through the programs:
//
//	answer ─► edge/request ─► content: application or site ─► edge/response ─► put out
//	              │ │ └─ edge_proxy ─► application ───────────────▲
//	              │ └─── edge_respond ────────────────────────────┘
//	              └ edge_request_body_wait: heldbody.go
//
// An exchange whose programs wait for their next slice is deciding: nothing is
// put out for it, and nothing read.

// startPrograms runs the programs of edge/request, which there are. head is the
// request's head as received.
func (c *conn) startPrograms(x *exchange, head []byte) {
	x.run = c.w.newRun(c, x)
	x.run.begin(hookRequest, x.gen.programs)
	c.askRequestPrograms(x, head)
}

func (c *conn) askRequestPrograms(x *exchange, head []byte) {
	switch x.run.run(x.gen.programs.instances[c.w.index]) {
	case runWaits:
		c.programsWait(x)
		return
	case runAsks:
		c.holdBody(x)
		return
	case runFailed:
		c.programsFailed(x, 500)
	case runStopped:
		c.programsFailed(x, 503)
	case runPassed:
		switch x.run.verdict.kind {
		case verdictNone:
			c.content(x, head)
			return
		case verdictProxy:
			c.proxyFromProgram(x, head)
			return
		}
		x.run.verdict = verdict{}
	}
	c.answerWhole(x)
}

// amend makes the changes that programs of edge/request noted in an answer that is
// known now, and runs those of edge/response. False: they are not through.
func (c *conn) amend(x *exchange) (through bool) {
	if x.amended {
		return true
	}
	if x.run != nil {
		x.run.changes.apply(&x.resp.Header)
	}
	p := x.gen.programs
	if !p.has(hookResponse) {
		return true
	}
	if x.run == nil {
		x.run = c.w.newRun(c, x)
	}
	x.run.begin(hookResponse, p)
	return c.askResponsePrograms(x)
}

func (c *conn) askResponsePrograms(x *exchange) (through bool) {
	switch x.run.run(x.gen.programs.instances[c.w.index]) {
	case runWaits:
		c.programsWait(x)
		return false
	case runFailed:
		c.programsFailed(x, 500)
	case runStopped:
		c.programsFailed(x, 503)
	}
	x.amended = true
	return true
}

// programsWait has x stand still until its programs' next slice.
func (c *conn) programsWait(x *exchange) {
	if !x.deciding {
		x.deciding = true
		c.clearTimer() // programs have a limit of their own
	}
	c.w.wait(x.run)
}

// programsFailed makes the answer an error page, which no program changes.
func (c *conn) programsFailed(x *exchange, status int) {
	x.amended, x.refused = true, true
	errorPage(&x.resp, status)
}

// amendStream is amend for the answer of an upstream, whose body is still to come.
// False: the head must not be put out, or not yet.
func (c *conn) amendStream(x *exchange) (through bool) {
	switch {
	case !c.amend(x):
		c.holdHead(x)
		return false
	case x.refused:
		c.refuseStream(x)
		return false
	}
	return true
}

// holdHead keeps the head of an upstream's answer for later.
func (c *conn) holdHead(x *exchange) {
	if x.run == nil {
		x.run = c.w.newRun(c, x)
	}
	x.headHeld = true
	x.run.changes.own(&x.resp.Header)
}

// refuseStream answers with an error page in place of the upstream's answer.
func (c *conn) refuseStream(x *exchange) {
	x.up.cancel()
	x.routes, x.tunnel, x.headHeld = nil, false, false
	c.answerWhole(x)
}

// requestGoesOn gives x's programs another slice.
func (c *conn) requestGoesOn(x *exchange) {
	x.deciding = false
	switch {
	case x.run.hook == hookRequest:
		c.askRequestPrograms(x, x.head)
	case !c.askResponsePrograms(x):
	case x.routes == nil:
		c.answerWhole(x)
	case x.refused:
		c.refuseStream(x)
	default:
		c.produce()
	}
	c.resume()
}
