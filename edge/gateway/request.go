package gateway

import (
	"errors"

	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// requests takes request heads and bodies from b until an answer has to be
// waited for, and returns what it left.
func (c *conn) requests(b []byte) (rest []byte) {
	c.taking = true
	for len(b) > 0 && c.stage == stageOpen && c.wantsInput() {
		var n int
		if c.x != nil {
			n = c.takeBody(b)
		} else {
			n = c.takeHead(b)
		}
		if n == 0 {
			break
		}
		b = b[n:]
	}
	c.taking = false
	return b
}

// takeHead parses one head and starts its exchange. 0: the head is not whole, or
// the connection is over.
func (c *conn) takeHead(b []byte) int {
	x := c.w.newExchange()
	n, err := c.parser.ParseRequest(b, &x.req)
	if err != nil {
		c.headStarted = 0
		c.begin(x)
		c.refuse(x, err)
		if c.x == x {
			x.req.Reset() // it borrows bytes that will be gone
		}
		return 0
	}
	if n == 0 {
		c.w.keepExchange(x)
		c.waitForHead()
		return 0
	}
	c.headStarted = 0
	c.begin(x)
	c.noteClient(x)
	x.body.Start(x.req.Body, x.req.ContentLength, &c.w.server.headLimits)
	x.bodyEnd = x.body.Done()
	c.answer(x, b[:n])
	if c.x == x && len(x.head) == 0 {
		c.keepHead(x, b[:n])
	}
	return n
}

// keepHead gives an exchange that outlives the bytes it came in its own copy of
// the head.
func (c *conn) keepHead(x *exchange, head []byte) {
	x.head = append(x.head[:0], head...)
	if n, err := c.parser.ParseRequest(x.head, &x.req); err != nil || n != len(head) {
		panic("BUG: a head parsed once is parsed otherwise the second time")
	}
}

// begin makes x the connection's exchange.
func (c *conn) begin(x *exchange) {
	x.gen = c.w.join()
	x.started = c.w.r.Now()
	x.id = c.w.newID()
	c.x = x
	c.w.stats.requests.Add(1)
}

// takeBody gives b to the request body. Nothing here wants a body's bytes, so
// they are counted and dropped; what is too long ends the connection after the
// answer.
func (c *conn) takeBody(b []byte) int {
	x := c.x
	switch {
	case x.holding:
		return c.takeHeldBody(b)
	case x.routes != nil && !x.streamEnd:
		return c.takeProxiedBody(b)
	}
	taken := 0
	for !x.bodyEnd && taken < len(b) {
		_, n, done, err := x.body.Next(b[taken:])
		taken += n
		if err != nil {
			x.bodyEnd = true
			c.refuse(x, err)
			return 0
		}
		x.bodyEnd = done
		if n == 0 {
			break
		}
	}
	if x.bodyEnd {
		c.produce()
	} else {
		c.waitForBody(taken)
	}
	return taken
}

// answer decides what x, whose head came as these bytes, is answered with.
func (c *conn) answer(x *exchange, head []byte) {
	switch {
	case c.misdirected(x):
		errorPage(&x.resp, 421)
	case c.on.redirect:
		c.redirect(x)
	case x.gen.programs.has(hookRequest):
		c.startPrograms(x, head)
		return
	default:
		c.content(x, head)
		return
	}
	c.answerWhole(x)
}

// content has an application or the site answer x.
func (c *conn) content(x *exchange, head []byte) {
	if c.serveOriginSVCB(x) {
		c.answerWhole(x)
		return
	}
	if to := c.w.routeOf(&x.req); to != nil {
		c.startProxy(x, to, head)
		return
	}
	c.serve(x)
	c.answerWhole(x)
}

// serve fills in the answer of the site.
func (c *conn) serve(x *exchange) {
	switch {
	case x.gen.site == nil:
		c.w.serveNothing(&x.req, &x.resp)
	default:
		x.gen.site.Serve(&x.req, &x.resp)
	}
}

// answerWhole puts out an answer that is known in whole.
func (c *conn) answerWhole(x *exchange) {
	if x.gen.programs != nil && !c.amend(x) {
		return
	}
	x.resp.NoBody = x.resp.NoBody || x.isHead()
	if c.w.compress != nil {
		c.compressAnswer(x)
	}
	if !x.bodyEnd {
		c.dropBody(x)
	}
	if !x.req.KeepAlive || c.w.draining {
		x.resp.Close = true
	}
	c.produce()
}

// dropBody decides what becomes of a request body that nobody reads: a short one
// is read over, any other costs the connection (RFC 9112, 9.3).
func (c *conn) dropBody(x *exchange) {
	if x.req.ExpectContinue || x.req.Body != httpmsg.BodyLength || x.req.ContentLength > bodyDropMax {
		x.resp.Close = true
	}
	c.setTimer(timerBody)
}

// bodyDropMax is the longest unwanted body that is read over for the sake of the
// connection: it costs less than a new handshake.
const bodyDropMax = 64 << 10

// refuse answers a request that cannot be read, and closes: where the next one
// starts is unknown (RFC 9112, 2.2).
func (c *conn) refuse(x *exchange, err error) {
	status, reason := 400, ""
	var e *http1.Error
	if errors.As(err, &e) {
		status, reason = e.Status, e.Reason
	}
	c.w.stats.badRequests.Add(1)
	c.w.server.log.limited("request", "request refused: %v; client %s", err, c.clientName())
	if x.headDone {
		c.abort() // the answer is under way: nothing true can be added to it
		return
	}
	x.bodyEnd = true
	c.w.dropCoder(x)
	errorPageFor(&x.resp, status, reason)
	x.resp.NoBody = x.isHead()
	x.resp.Close = true
	c.produce()
}
