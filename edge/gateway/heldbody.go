package gateway

import "edge/proxy/httpmsg"

// A request body that a program has asked for is held until it is there whole, or
// longer than the program wants:
//
//	edge_request_body_wait ─► asks ─► holding ── bytes come ──► held ─► the program goes on
//
// An application that is asked afterwards gets what is held first, and what is not
// there yet as it comes. So it gets the body that the client has sent.

// heldBody is that part of an exchange.
type heldBody struct {
	holding bool   // the programs wait for the body
	holds   bool   // held has the start of it
	holdMax int    // how much of it the program wants
	held    []byte // a buffer of the worker's
}

// bodyHeldMax is the longest body that a program may ask for. It fits into what
// waits for an upstream, beside a head.
const bodyHeldMax = 64 << 10

// holdBody has x's programs wait for its body.
func (c *conn) holdBody(x *exchange) {
	x.holding, x.holds, x.deciding = true, true, true
	if x.req.ExpectContinue && !x.continued && c.heldInput() == 0 {
		c.putContinue()
	}
	c.setTimer(timerBody)
}

// takeHeldBody takes body bytes for the programs that wait. It returns how many.
func (c *conn) takeHeldBody(b []byte) (taken int) {
	x := c.x
	for !x.bodyEnd && len(x.held) <= x.holdMax {
		rest := b[taken:]
		data, n, done, err := x.body.Next(rest[:min(len(rest), x.holdMax+1-len(x.held))])
		if n == 0 && err == nil {
			data, n, done, err = x.body.Next(rest) // trailers, which come in one piece
		}
		taken += n
		x.bodyEnd = done
		switch {
		case err != nil:
			x.bodyEnd = true
			c.stopHolding(x)
			c.refuse(x, err)
			return 0
		case !c.w.growBuffer(&x.held, data), done && !c.keepTrailer(x):
			c.stopHolding(x)
			c.programsFailed(x, 503)
			c.answerWhole(x)
			return taken
		case n == 0:
			c.waitForBody(taken)
			return taken
		}
	}
	result := int64(len(x.held))
	if len(x.held) > x.holdMax {
		result = errTooBig
	}
	c.stopHolding(x)
	x.run.task.Return(uint64(result))
	c.clearTimer()
	c.askRequestPrograms(x, x.head)
	return taken
}

func (c *conn) stopHolding(x *exchange) { x.holding, x.deciding = false, false }

// keepTrailer keeps trailer fields, which borrow bytes that will be gone, behind the
// body; false: there is no memory.
func (c *conn) keepTrailer(x *exchange) bool {
	fields := x.body.Trailer.Fields
	if len(fields) == 0 {
		return true
	}
	body := len(x.held)
	for i := range fields {
		if !c.w.growBuffer(&x.held, fields[i].Name) || !c.w.growBuffer(&x.held, fields[i].Value) {
			return false
		}
	}
	at := x.held[body:]
	for i := range fields {
		n, v := len(fields[i].Name), len(fields[i].Value)
		fields[i].Name, fields[i].Value = at[:n:n], at[n:n+v:n+v]
		at = at[n+v:]
	}
	x.held = x.held[:body]
	return true
}

// bodyTooLong says of a body that is not there yet that it is longer than n.
func (x *exchange) bodyTooLong(n int) bool {
	return len(x.held) > n || x.req.Body == httpmsg.BodyLength && x.req.ContentLength > int64(n)
}

// sendHeld sends on what is held of a body, behind the head, be it for a program or
// because a stale connection was not sent it. What is held can be
// sent to another target as well, so it does not count as taken. False: there is no
// memory.
func (u *upstream) sendHeld() bool {
	x := u.x
	if len(x.unsent) > 0 { // with what is held
		return u.append(x.unsent)
	}
	if !x.holds {
		return true
	}
	taken := x.bodyTaken
	ok := u.writeBody(x.held) && (!x.bodyEnd || u.endBody())
	x.bodyTaken = taken
	return ok
}
