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

func (u *upstream) releaseIn() {
	if u.in != nil {
		u.w.r.Buffers().Put(u.in)
		u.in = nil
	}
}

// takeHead parses response heads until the final one. It takes all of a part of a
// head, which it keeps.
func (u *upstream) takeHead(b []byte) int {
	if !u.c.room(upstreamHeadRoom) {
		return 0
	}
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
	u.gotHeadOf(n-before < len(b))
	u.releaseIn() // the fields were borrowed from it
	return n - before
}

// upstreamHeadRoom is the room that must be there for a response head: what an
// upstream may send, and our own fields.
const upstreamHeadRoom = 40 << 10

// gotHeadOf handles one whole head: a 1xx goes on to the client, the final one
// starts the answer. more says that there are bytes behind it.
func (u *upstream) gotHeadOf(more bool) {
	c, x := u.c, u.x
	if u.head.Status < 200 && u.head.Status != 101 {
		if u.w.forwarder.Informational(&u.head, &x.req, x.continued) {
			c.putInformational(u.head.Status, &u.head.Header)
		}
		return
	}
	x.routes.group.Report(x.target, proxy.Answered, u.w.monotonic())
	x.reported = true
	if err := u.w.forwarder.Response(&u.head, &x.req, &x.resp); err != nil {
		u.w.server.log.limited("upstream", "upstream %s: %v", u.pool.target, err)
		u.fail(proxy.BadHead)
		return
	}
	u.gotHead = true
	u.body.Start(u.head.Body, u.head.ContentLength, &upstreamLimits)
	if x.resp.Status == 101 {
		x.tunnel, x.bodyEnd = true, false
		u.body.Start(httpmsg.BodyClose, 0, &upstreamLimits)
	}
	if !x.bodyEnd {
		x.resp.Close = true // a tunnel, or answered before the request was read
	}
	c.putStreamHead(x)
	if u.body.Done() {
		u.finish(more)
	}
}

// upstreamLimits: bodies of upstreams may have any length.
var upstreamLimits = func() http1.Limits {
	l := http1.DefaultLimits
	l.BodyBytes = 0
	return l
}()

// takeBody moves body bytes into the client's output. 0: there is no room.
func (u *upstream) takeBody(b []byte) int {
	max := u.c.streamRoom()
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
	if len(data) > 0 {
		u.c.putStream(u.x, data)
	}
	if done {
		u.w.forwarder.Trailer(&u.body.Trailer, false)
		u.finish(n-before < len(b))
	}
	u.releaseIn()
	return n - before
}

// finish ends the exchange's answer; the connection is idle, or closed. more says
// that the target sent bytes behind the answer.
func (u *upstream) finish(more bool) {
	c, x := u.c, u.x
	again := u.head.KeepAlive && !u.ended && !more && !x.tunnel && x.bodyEnd &&
		len(u.out) == 0 && u.sending == nil && len(u.queue) <= 1
	u.unbind()
	c.endStream(x, &u.body.Trailer)
	if again {
		u.pool.put(u)
	} else {
		u.close()
	}
}
