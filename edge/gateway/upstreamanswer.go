package gateway

import (
	"edge/proxy"
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// This file is the way of an answer: from an upstream's bytes into the client's
// output.

// consume takes what it can of b: heads, then body as far as the client's output
// has room. It returns how much; all of it when the exchange is over.
func (u *upstream) consume(b []byte) int {
	taken := 0
	for taken < len(b) && u.c != nil {
		var n int
		if !u.gotHead {
			n = u.takeHead(b[taken:])
		} else {
			n = u.takeBody(b[taken:])
		}
		if n == 0 {
			return taken
		}
		taken += n
	}
	return len(b)
}

// gathered is b behind what was kept before; false: it does not fit.
func (u *upstream) gathered(b []byte) (src []byte, ok bool) {
	if len(u.in) == 0 {
		return b, true
	}
	ok = u.w.growBuffer(&u.in, b)
	return u.in, ok
}

// keep keeps b, which gathered gave back, until there is more.
func (u *upstream) keep(b []byte) bool { return len(u.in) > 0 || u.w.growBuffer(&u.in, b) }

// takeHead parses one response head. It takes all of a part of a head, which it
// keeps. 0: there is no room for the head.
func (u *upstream) takeHead(b []byte) int {
	before := len(u.in)
	src, ok := u.gathered(b)
	if !ok {
		u.fail(proxy.BadHead)
		return len(b)
	}
	n, err := u.parser.ParseResponse(src, &u.head, u.x.req.Method)
	if err != nil {
		u.w.server.log.limited("upstream", "upstream %s: %v", u.pool.target, err)
		u.fail(proxy.BadHead)
		return len(b)
	}
	if n == 0 {
		if !u.keep(b) {
			u.fail(proxy.BadHead)
		}
		return len(b)
	}
	n -= before
	if u.head.Status < 200 && u.head.Status != 101 {
		u.gotInformational()
	} else {
		n = u.gotFinal(b, n)
	}
	if n == 0 { // all of it is looked at again
		if u.in = u.in[:before]; before == 0 {
			u.release(&u.in)
		} else {
			u.w.fitBuffer(&u.in)
		}
		return 0
	}
	u.release(&u.in) // the fields were borrowed from it
	return n
}

// gotInformational passes a 1xx head on to the client.
func (u *upstream) gotInformational() {
	c, x := u.c, u.x
	if !u.w.forwarder.Informational(&u.head, &x.req, x.continued) {
		return
	}
	c.putInformational(u.head.Status, &u.head.Header)
	if u.head.Status == 100 {
		x.continued, u.expecting = true, false
		c.waitProxied()
	}
}

// gotFinal starts the answer with the final head, the first n bytes of b. It
// returns how many bytes are done with, those of a body that share the head's
// record among them; 0: there is no room yet.
func (u *upstream) gotFinal(b []byte, n int) int {
	c, x := u.c, u.x
	if err := u.w.forwarder.Response(&u.head, &x.req, &x.resp); err != nil {
		u.w.server.log.limited("upstream", "upstream %s: %v", u.pool.target, err)
		u.fail(proxy.BadHead)
		return len(b)
	}
	c.takeTLSOutput()
	head := headBytes(&x.resp)
	if !c.room(c.headRoom(head, max(u.head.ContentLength, int64(len(b)-n)))) {
		return 0
	}
	x.routes.group.Report(x.target, proxy.Answered, u.w.monotonic())
	x.reported = true
	u.gotHead, u.expecting = true, false
	u.body.Start(u.head.Body, u.head.ContentLength, &u.w.answerLimits)
	if x.resp.Status == 101 {
		x.tunnel, x.bodyEnd = true, false
		u.body.Start(httpmsg.BodyClose, 0, &u.w.answerLimits)
	}
	if !x.bodyEnd {
		x.resp.Close = true // a tunnel, or answered before the request was read
	}
	if x.gen.programs != nil || u.w.compress != nil {
		if x.gen.programs != nil && !c.amendStream(x) {
			return n
		}
		if u.w.compress != nil {
			c.compressAnswer(x)
		}
		if head = headBytes(&x.resp); !c.room(c.wireSize(head)) {
			c.holdHead(x)
			return n
		}
	}
	var data []byte
	if fit := c.besideHead(head); u.head.Body == httpmsg.BodyLength && fit > 0 && x.coder == nil {
		var taken int
		data, taken, _, _ = u.body.Next(b[n:min(len(b), n+fit)])
		n += taken
	}
	c.putStreamHead(x, head, data)
	if u.body.Done() {
		u.finish(n < len(b))
	}
	return n
}

// putHeldHead puts out a head that had to wait for programs or for room; false: it
// still has to.
func (u *upstream) putHeldHead() bool {
	c, x := u.c, u.x
	if x.deciding || c.filling || c.starved || c.stage != stageOpen {
		return false
	}
	c.takeTLSOutput()
	if u.w.compress != nil {
		c.compressAnswer(x)
	}
	head := headBytes(&x.resp)
	if !c.room(c.wireSize(head)) {
		return false
	}
	x.headHeld = false
	c.putStreamHead(x, head, nil)
	if u.body.Done() {
		u.finish(u.waits())
	}
	return true
}

// answerLimits are those of answers: never less than the defaults, for clients must not
// be bounded at the cost of applications; as much as the flags allow requests, for that
// is what the log tells to raise. Bodies may have any length.
func (s *server) answerLimits() http1.Limits {
	l, least := s.headLimits, &http1.DefaultLimits
	l.HeadBytes = max(l.HeadBytes, least.HeadBytes)
	l.Fields = max(l.Fields, least.Fields)
	l.ChunkLineBytes = max(l.ChunkLineBytes, least.ChunkLineBytes)
	l.TrailerBytes = max(l.TrailerBytes, least.TrailerBytes)
	l.BodyBytes = 0
	return l
}

// takeBody moves body bytes into the client's output. 0: there is no room.
func (u *upstream) takeBody(b []byte) int {
	if u.x.headHeld {
		return 0
	}
	coder, max := u.x.coder, 0
	if coder != nil {
		max = u.c.codingRoom(u.x, len(b))
	} else {
		max = u.c.streamRoom(u.x, len(b), u.body.Remaining())
	}
	if max <= 0 {
		return 0
	}
	before := len(u.in)
	src, ok := u.gathered(b[:min(len(b), max)])
	if !ok {
		u.fail(proxy.BadBody)
		return len(b)
	}
	data, n, done, err := u.body.Next(src)
	switch {
	case err != nil:
		u.w.server.log.limited("upstream", "upstream %s: %v", u.pool.target, err)
		u.fail(proxy.BadBody)
		return len(b)
	case n == 0: // the start of a trailer section
		if !u.keep(src) {
			u.fail(proxy.BadBody)
			return len(b)
		}
		return len(src) - before
	}
	switch {
	case len(data) == 0:
	case coder == nil:
		u.c.putStream(u.x, data)
	default:
		coder.spend(len(data))
		if !coder.code(data) {
			u.fail(proxy.BadBody)
			return len(b)
		}
	}
	if done {
		u.w.forwarder.Trailer(&u.body.Trailer, false)
		u.finish(n-before < len(b))
	}
	u.release(&u.in)
	return n - before
}

// finish ends the exchange's answer; the connection is idle, or closed. more says
// that the target sent bytes behind the answer.
func (u *upstream) finish(more bool) {
	c, x := u.c, u.x
	again := u.head.KeepAlive && !u.ended && !more && !x.tunnel && x.bodyEnd &&
		len(u.out) == 0 && u.sending == nil && !u.deaf && !u.behind()
	c.endStream(x, &u.body.Trailer) // which borrows what unbind gives back
	if u.c == nil {
		return // there was no room for it
	}
	u.unbind()
	if again {
		u.pool.put(u, c)
	} else {
		u.close()
	}
}
