package gateway

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
	"edge/edge/site"
	"edge/proxy"
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// proxied is the part of an exchange that is answered by an upstream.
type proxied struct {
	routes *upstreams // nil: it is not
	key    uint64     // of proxy.Hash
	target int        // of routes, the one that is asked
	tried  proxy.Set
	tries  int
	last   bool      // the client asked for no more than this answer on its connection
	up     *upstream // nil: between two attempts, or answered

	upChunked bool // the request body goes on in chunks
	bodyTaken bool // bytes of the request body were sent on
	continued bool // the client was sent 100

	// unsent is a buffer with the start of the body, framed: what waited behind the
	// head on a stale connection.
	unsent []byte

	failure    proxy.Failure   // of the target tried before
	retryAfter time.Duration   // until a target is tried again; 0: not known
	waitsFrom  reactor.Instant // when it first waited for a connection
	waits      bool            // it is in routes.waiting
	reported   bool            // the group knows what came of this attempt
	headHeld   bool            // the head is known, and waits for programs or for room
	streaming  bool            // the head is out, the body follows
	chunked    bool            // in chunks
	streamEnd  bool            // and all of it is out
	tunnel     bool            // 101: bytes go both ways until one side ends
}

// routeOf finds the upstreams for a request, nil if no route is for its path.
func (w *worker) routeOf(req *httpmsg.Request) *upstreams {
	if len(w.routes) == 0 {
		return nil
	}
	path, err := site.CleanPath(w.scratch[:0], req.Path)
	w.scratch = path[:0]
	if err != nil {
		return nil // the site answers what is wrong with it
	}
	if i := w.server.routes.Match(path); i >= 0 {
		return w.routes[i]
	}
	return nil
}

// errClimbs: behind a base path an application would find it elsewhere.
var errClimbs = &httpmsg.Error{Status: 400, Reason: "path leads above /", Section: "RFC 3986, 5.2.4"}

// errHeadGrown: with what is told of the client a head does not fit into a buffer. The
// client's certificate may be that long.
var errHeadGrown = &httpmsg.Error{Status: 431, Reason: "head too long to be passed on with what is known of the client", Section: "RFC 6585, 5"}

// startProxy has an upstream answer x. head is the request's head as received.
func (c *conn) startProxy(x *exchange, to *upstreams, head []byte) {
	c.keepHead(x, head)
	if to.baseMost > 0 && proxy.Climbs(x.req.Path) {
		c.refuse(x, errClimbs)
		return
	}
	x.proxied = proxied{routes: to, last: !x.req.KeepAlive, continued: x.continued} // the forwarder sets it for the upstream
	if c.w.compress != nil {
		c.w.compress.compressRequest(&x.req)
	}
	err := c.w.forwarder.Request(&x.req, c.front(x))
	if err == nil && requestHeadBytes(x)+to.baseMost+proxyHeaderBytes > reactor.BufferBytesMax {
		err = errHeadGrown
	}
	if err != nil {
		x.routes = nil
		c.refuse(x, err)
		return
	}
	x.key = c.balanceKey(x)
	c.waitProxied()
	c.tryTarget(x, false)
}

// waitProxied starts the time of what an exchange with an upstream waits for from
// the client: the request body, where the target takes it. Else it is the target
// that is waited for. A Send in flight has its own time.
func (c *conn) waitProxied() {
	switch x := c.x; {
	case c.sending != nil:
	case x.tunnel || !x.wantsBody() || x.up.expecting:
		c.clearTimer()
	default:
		c.setTimer(timerBody)
	}
}

// front is what is told to upstreams about the client.
func (c *conn) front(x *exchange) *proxy.Front {
	w, f := c.w, &c.w.front
	*f = proxy.Front{Peer: c.peer.Addr(), TLS: c.on.tls}
	f.Trusted = w.server.trust.Has(f.Peer)
	f.Client = c.clientOf(x).Addr()
	if c.on.tls {
		f.ECH = append(w.echText[:0], c.ech.String()...)
		w.echText = f.ECH
		c.prints.front(f)
		c.frontClient(f)
	}
	x.idText = x.id.append(x.idText[:0])
	f.RequestID = x.idText
	return f
}

// tryTarget asks a target, over a connection that is idle or, if fresh is asked
// for or there is none, a new one.
func (c *conn) tryTarget(x *exchange, fresh bool) {
	w := c.w
	if len(x.routes.waiting) > 0 && w.server.balance != proxy.Hash { // its turn comes
		w.freed = true
		c.await(x, fresh)
		return
	}
	i, after := x.routes.group.Pick(x.key, x.tried, w.monotonic())
	if i == proxy.Busy {
		c.await(x, fresh)
		return
	}
	c.askTarget(x, i, after, fresh)
}

// askTarget asks the target i that was picked, if any; else after is how long until
// there may be one.
func (c *conn) askTarget(x *exchange, i int, after time.Duration, fresh bool) {
	w := c.w
	if i < 0 {
		if x.retryAfter = after; after > 0 || x.failure == proxy.NotFailed {
			x.failure = proxy.NoTarget // all are left alone, asked in vain or not at all
		}
		c.upstreamFailed(x, x.failure)
		return
	}
	x.target, x.reported = i, false
	x.tries++
	p := x.routes.pools[i]
	var u *upstream
	if !fresh {
		u = p.take(c)
	}
	if u != nil {
		u.carry(c, x)
		u.sendRequest()
		return
	}
	p.makeRoom(x.routes.group.Active(i))
	u, err := p.connect(w)
	if err != nil {
		failure, outcome := notConnected(err)
		x.routes.done(w, i)
		x.routes.group.Report(i, outcome, w.monotonic())
		x.reported = true
		w.server.log.limited("upstream", "upstream %s: %v", p.target, err)
		c.attemptFailed(x, proxy.Attempt{Failure: failure, Body: x.bodyTaken})
		return
	}
	u.carry(c, x)
}

// notConnected says what kind of failure it is that a connection could not even be
// started, and what it says of the target: nothing if it is we who have no more.
func notConnected(err error) (proxy.Failure, proxy.Outcome) {
	switch {
	case err == errNameUnknown:
		return proxy.NameUnknown, proxy.Failed
	case errors.Is(err, reactor.ErrSocketsMax), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return proxy.PoolFull, proxy.GivenUp
	}
	return proxy.NotConnected, proxy.Failed
}

// attemptFailed goes on after a target failed: with another attempt where
// nothing can be done twice, else with an answer that says so. An answer that is
// under way is cut short.
func (c *conn) attemptFailed(x *exchange, a proxy.Attempt) {
	if x.streaming || x.headHeld {
		c.w.stats.cutShort.Add(1)
		c.w.server.log.limited("upstream", "upstream %s: %s; an answer was cut short", x.routes.pools[x.target].target, a.Failure)
		x.cut = true
		c.abort()
		return
	}
	switch proxy.AfterFailure(x.req.Method, a, x.tries) {
	case proxy.Again:
		c.tryTarget(x, true)
	case proxy.Another:
		if x.routes.pools[x.target].nextAddress(x.tries) {
			c.tryTarget(x, true)
			return
		}
		x.tried, x.failure = x.tried.With(x.target), a.Failure
		if len(x.routes.pools) == 1 {
			c.upstreamFailed(x, a.Failure)
			return
		}
		c.tryTarget(x, false)
	default:
		c.upstreamFailed(x, a.Failure)
	}
}

// upstreamFailed answers for an upstream that did not.
func (c *conn) upstreamFailed(x *exchange, f proxy.Failure) {
	if x.up != nil {
		x.up.cancel()
	}
	x.stopWaiting()
	c.w.stats.upstreamFailed.Add(1)
	c.w.server.log.limited("upstream", "no answer for %s: %s; %d attempts, last of %s",
		x.routes.route.Path, f, x.tries, x.routes.pools[x.target].target)
	if x.headDone {
		x.cut = true
		c.abort() // nothing true can be added
		return
	}
	x.routes = nil
	c.w.dropCoder(x)
	c.failurePage(x, f.Status())
	x.resp.Close = !x.bodyEnd || x.last
	c.answerWhole(x)
}

// takeProxiedBody sends request body bytes on as they come. It returns how many
// were taken.
func (c *conn) takeProxiedBody(b []byte) int {
	x := c.x
	u := x.up
	if x.tunnel {
		if !u.writeTunnel(b) {
			c.abort()
			return 0
		}
		return len(b)
	}
	data, n, done, err := x.body.Next(b)
	if err != nil {
		x.bodyEnd = true
		u.cancel()
		x.routes = nil
		c.refuse(x, err)
		return 0
	}
	idle := u.sending == nil && len(u.out) == 0
	if len(data) > 0 {
		x.bodyTaken, u.expecting = true, false
	}
	ok := u.writeBody(data)
	if ok && done {
		ok = u.endBody()
	}
	if !ok {
		c.upstreamFailed(x, proxy.PoolFull)
		return n
	}
	x.bodyEnd = done
	if idle || done {
		u.wait()
	}
	if done || !x.wantsBody() {
		c.waitProxied()
	} else {
		c.waitForBody(n)
	}
	return n
}

// putContinue tells a client that waits for it to send its body (RFC 9110,
// 10.1.1).
func (c *conn) putContinue() {
	c.putInformational(100, nil)
	c.x.continued = true
}

// putInformational puts out a 1xx head.
func (c *conn) putInformational(status int, h *httpmsg.Header) {
	c.takeTLSOutput()
	c.w.scratch = http1.AppendInformational(c.w.scratch[:0], status, h)
	if c.room(c.wireSize(len(c.w.scratch))) { // else it is left out: it is not the answer
		c.write(c.w.scratch)
		c.w.markDirty(c)
	}
}

// besideHead is how many body bytes fit into the record of a head of that size, in
// the room there is.
func (c *conn) besideHead(head int) int {
	return min(c.recordMax()-head, cap(c.out)-len(c.out)-head-c.overhead())
}

// putStreamHead puts out the head of an upstream's answer, and the start of its
// body in the same record, if it fits. There is room; head is at least the size.
func (c *conn) putStreamHead(x *exchange, head int, data []byte) {
	if x.last || c.w.draining {
		x.resp.Close = true
	}
	minor, date := x.req.Minor, c.w.date.At(c.w.r.Wall())
	var framing http1.Framing
	if head > c.recordMax() {
		c.w.scratch, framing = http1.AppendResponseHead(c.w.scratch[:0], &x.resp, date, minor, x.req.KeepAlive)
		c.write(c.w.scratch)
	} else {
		r := c.beginRecord()
		c.out, framing = http1.AppendResponseHead(c.out, &x.resp, date, minor, x.req.KeepAlive)
		c.out = append(c.out, data...)
		c.endRecord(r)
	}
	x.resp.Close = x.resp.Close || framing.Close
	x.headDone, x.streaming = true, true
	x.chunked = framing.Body == httpmsg.BodyChunked
	x.bodyBytes += int64(len(data))
	c.w.markDirty(c)
}

// streamRoom makes room for body bytes and says for how many, at most want. With
// left more announced the room is that of a piece, not to grow step by step.
func (c *conn) streamRoom(x *exchange, want int, left int64) int {
	if c.filling || c.starved || c.stage != stageOpen || c.sending != nil && c.w.tight() {
		return 0
	}
	c.takeTLSOutput()
	spare := 0
	if x.chunked {
		spare = http1.ChunkHeadBytes + len(crlf) + streamSpare
	}
	n := min(want, c.plainFitting(outBytesMax-len(c.out))-spare)
	if n < min(want, bodyPieceLeast) {
		return 0
	}
	need := c.wireSize(n + spare)
	piece := min(c.wireSize(int(min(left, outPieceBytes))+spare), outPieceBytes-len(c.out))
	if !c.room(max(need, piece)) {
		return 0
	}
	return n
}

// streamSpare is kept free for the last chunk and its trailers.
const streamSpare = 1 << 10

// putStream puts out a piece of the body, for which streamRoom found room.
func (c *conn) putStream(x *exchange, data []byte) {
	x.bodyBytes += int64(len(data))
	c.w.markDirty(c)
	if !x.chunked {
		c.write(data)
		return
	}
	c.w.scratch = http1.AppendChunkHead(c.w.scratch[:0], len(data))
	c.w.scratch = append(append(c.w.scratch, data...), crlf...)
	c.write(c.w.scratch)
}

// endStream ends the body of an answer.
func (c *conn) endStream(x *exchange, trailer *httpmsg.Header) {
	if x.coder != nil {
		c.endCodedStream(x, trailer)
		return
	}
	if x.chunked && !x.resp.NoBody {
		c.w.scratch = http1.AppendLastChunk(c.w.scratch[:0], trailer)
		if !c.room(c.wireSize(len(c.w.scratch))) {
			c.abort() // trailers beyond what is kept free: a visible cut
			return
		}
		c.write(c.w.scratch)
	}
	x.streamEnd = true
	c.w.markDirty(c)
}

// streamed goes on after an upstream put something out: a large output is
// written at once, and an answer that is whole ends the exchange.
func (c *conn) streamed() {
	if c.stage != stageOpen {
		return
	}
	for len(c.out) >= sendAtOnceLeast && c.sending == nil && c.sendAtOnce() {
		switch x := c.x; { // no Send will say that there is room again
		case x == nil:
		case x.coder != nil:
			c.pumpCoded(x)
		case x.up != nil && x.up.paused:
			x.up.pump()
		}
	}
	if c.stage != stageOpen {
		return
	}
	if x := c.x; x != nil && x.streamEnd && (x.bodyEnd || x.resp.Close) {
		c.endExchange()
		c.resume()
	}
}

// pumpUpstream goes on with an answer that waited for room.
func (c *conn) pumpUpstream() {
	switch x := c.x; {
	case x.coder != nil:
		c.pumpCoded(x)
	case x.up != nil:
		x.up.pump()
	}
	c.streamed()
}

// monotonic is the reactor's clock as the proxy package takes it.
func (w *worker) monotonic() time.Duration { return time.Duration(w.r.Now()) }

// requestHeadBytes is at least the size of the request's head for an upstream.
func requestHeadBytes(x *exchange) int {
	n := 1024 + len(x.req.Method) + len(x.req.Path) + len(x.req.Query) + len(x.req.Authority)
	for i := range x.req.Header.Fields {
		f := &x.req.Header.Fields[i]
		n += len(f.Name) + len(f.Value) + len(": \r\n")
	}
	return n
}
