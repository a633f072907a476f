package gateway

import (
	"errors"
	"net/netip"

	"edge/edge/reactor"
	"edge/proxy"
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

var errNameUnknown = errors.New("the name has no address")

// upstream is one connection to a target. It carries one exchange at a time;
// between two it is idle in its pool.
//
//	client conn ──body──▶ out ──▶ target
//	client conn ◀──put── queue ◀── received
//
// What is received goes straight into the client's output. Only what has no room
// there waits in queue, in the buffers it came in, and reading is paused.
type upstream struct {
	w    *worker
	pool *pool
	sock reactor.Sock
	to   netip.Addr

	c *conn     // whose exchange it carries; nil: idle
	x *exchange // of c

	open   bool // connected
	pooled bool // has carried an exchange before
	dirty  bool // on the worker's list
	paused bool
	ended  bool // the target sent FIN
	gone   bool // given up; only completions are awaited

	parser  http1.Parser
	head    http1.ResponseHead
	gotHead bool
	body    http1.Body

	in    []byte // the start of a head or of a trailer section that is not whole
	queue []upstreamChunk

	out     []byte
	sending []byte
	finDue  bool // FIN follows what is in out
}

// upstreamChunk is received bytes that wait, in the reactor's buffer.
type upstreamChunk struct {
	b  []byte
	id reactor.BufID
}

// upstreamOutMax is how much of a request body waits for the target before the
// client is paused.
const upstreamOutMax = outBytesMax / 2

// carry binds an exchange to the connection.
func (u *upstream) carry(c *conn, x *exchange) {
	u.c, u.x = c, x
	x.up = u
	u.gotHead = false
	u.parser.Reset()
}

// sendRequest sends the head; the body follows as the client sends it.
func (u *upstream) sendRequest() {
	x, c := u.x, u.c
	host := ""
	if u.w.server.cfg.RewriteHost {
		host = u.pool.target.Authority()
	}
	b := u.w.r.Buffers().Get(requestHeadBytes(x))
	if b == nil {
		c.upstreamFailed(x, proxy.PoolFull)
		return
	}
	b, framing, err := http1.AppendRequestHead(b, &x.req, u.pool.target.Base, host)
	if err != nil {
		u.w.r.Buffers().Put(b)
		c.refuse(x, err)
		return
	}
	u.out = b
	x.upChunked = framing.Body == httpmsg.BodyChunked
	u.markDirty()
	u.w.r.SetDeadline(u.sock, u.w.r.Now().Add(u.w.server.cfg.Timeouts.Answer))
	u.resumeReading()
	if x.req.ExpectContinue && !x.bodyEnd {
		c.putContinue()
	}
	c.resume()
}

func (u *upstream) resumeReading() {
	u.paused = false
	u.w.r.Receive(u.sock)
}

// writeBody sends a piece of the request body on; false: there is no memory.
func (u *upstream) writeBody(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	ok := true
	if u.x.upChunked {
		ok = u.append(http1.AppendChunkHead(u.w.scratch[:0], len(p))) && u.append(p) && u.append(crlf)
	} else {
		ok = u.append(p)
	}
	u.markDirty()
	return ok
}

// writeTunnel sends bytes of a switched protocol on as they are.
func (u *upstream) writeTunnel(p []byte) bool {
	u.markDirty()
	return u.append(p)
}

// endBody ends a request body.
func (u *upstream) endBody() bool {
	if !u.x.upChunked {
		return true
	}
	u.w.forwarder.Trailer(&u.x.body.Trailer, true)
	u.markDirty()
	return u.append(http1.AppendLastChunk(u.w.scratch[:0], &u.x.body.Trailer))
}

func (u *upstream) append(p []byte) bool { return u.w.growBuffer(&u.out, p) }

var crlf = []byte("\r\n")

func (u *upstream) markDirty() {
	if !u.dirty {
		u.dirty = true
		u.w.dirtyUps = append(u.w.dirtyUps, u)
	}
}

// flush sends what is there, at the end of the turn.
func (u *upstream) flush() {
	u.dirty = false
	if u.gone || !u.open || u.sending != nil {
		return
	}
	if len(u.out) == 0 {
		if u.finDue {
			u.finDue = false
			u.w.r.ShutdownWrite(u.sock)
		}
		return
	}
	u.sending, u.out = u.out, nil
	u.w.r.Send(u.sock, u.sending)
}

// connected implements endpoint.
func (u *upstream) connected(err error) {
	if u.gone {
		return
	}
	if err != nil {
		u.fail(proxy.NotConnected)
		return
	}
	u.open = true
	u.sendRequest()
}

// received implements endpoint.
func (u *upstream) received(b []byte, id reactor.BufID) (kept bool) {
	switch {
	case u.gone:
		return false
	case u.c == nil:
		u.pool.drop(u) // it speaks unasked: what it means is unknown
		u.close()
		return false
	case len(u.queue) > 0:
		u.queue = append(u.queue, upstreamChunk{b, id})
		return true
	}
	u.w.r.SetDeadline(u.sock, u.w.r.Now().Add(u.w.server.cfg.Timeouts.Answer))
	c := u.c
	n := u.consume(b)
	if n < len(b) && u.c != nil {
		u.queue = append(u.queue, upstreamChunk{b[n:], id})
		u.pause()
		kept = true
	}
	c.streamed()
	return kept
}

func (u *upstream) pause() {
	u.paused = true
	u.w.r.PauseReceive(u.sock)
	u.w.r.SetDeadline(u.sock, 0) // it is the client that is slow
}

// pump goes on with what waited for room in the client's output.
func (u *upstream) pump() {
	for len(u.queue) > 0 && u.c != nil {
		k := &u.queue[0]
		n := u.consume(k.b)
		if u.c == nil || len(u.queue) == 0 {
			return // the exchange ended in there, and took the queue along
		}
		if n < len(k.b) {
			k.b = k.b[n:]
			return
		}
		u.w.r.Recycle(k.id)
		u.queue = u.queue[:copy(u.queue, u.queue[1:])]
	}
	if u.c != nil && u.paused {
		u.resumeReading()
		u.w.r.SetDeadline(u.sock, u.w.r.Now().Add(u.w.server.cfg.Timeouts.Answer))
	}
	if u.c != nil && u.ended {
		u.inputEnded()
	}
}

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

// unbind takes the exchange off the connection.
func (u *upstream) unbind() {
	x := u.x
	if x == nil {
		return
	}
	x.routes.group.Done(x.target)
	if !x.reported {
		x.routes.group.Report(x.target, proxy.GivenUp, u.w.monotonic())
		x.reported = true
	}
	x.up = nil
	u.c, u.x = nil, nil
	for _, k := range u.queue {
		u.w.r.Recycle(k.id)
	}
	u.queue = u.queue[:0]
}

// fail ends the exchange's attempt, and the connection.
func (u *upstream) fail(f proxy.Failure) {
	c, x := u.c, u.x
	if x == nil {
		u.pool.drop(u)
		u.close()
		return
	}
	attempt := proxy.Attempt{Failure: f, Pooled: u.pooled, Body: x.bodyTaken}
	if f.Blames() && !(u.pooled && f == proxy.Closed) && !x.reported {
		x.routes.group.Report(x.target, proxy.Failed, u.w.monotonic())
		x.reported = true
	}
	u.unbind()
	u.close()
	c.attemptFailed(x, attempt)
}

// receiveEnded implements endpoint.
func (u *upstream) receiveEnded(err error) {
	switch {
	case u.gone:
	case u.c == nil:
		u.pool.drop(u)
		u.close()
	case err != nil:
		u.ended = true
		u.failRead()
	default:
		u.ended = true
		if len(u.queue) == 0 {
			u.inputEnded()
		}
	}
}

// failRead ends an exchange whose upstream was reset.
func (u *upstream) failRead() {
	switch {
	case u.gotHead:
		u.fail(proxy.BadBody)
	case len(u.in) > 0:
		u.fail(proxy.BadHead)
	default:
		u.fail(proxy.Closed)
	}
}

// inputEnded handles FIN once everything before it was consumed: the end of a
// body that lasts until it, or of one that is cut short.
func (u *upstream) inputEnded() {
	if !u.gotHead || u.body.End() != nil {
		u.failRead()
		return
	}
	c := u.c
	u.finish(false)
	c.streamed()
}

// wasSent implements endpoint.
func (u *upstream) wasSent(err error) {
	u.w.r.Buffers().Put(u.sending)
	u.sending = nil
	if u.gone {
		return
	}
	if err != nil {
		// The answer may have come before the target stopped reading: it is read
		// first; the end of reading says whether there is one.
		if u.c != nil && !u.gotHead && u.ended {
			u.failRead()
		}
		return
	}
	if len(u.out) > 0 || u.finDue {
		u.markDirty()
	}
	if u.c != nil {
		u.c.resume()
	}
}

// expired implements endpoint.
func (u *upstream) expired() {
	switch {
	case u.gone:
	case u.c == nil:
		u.pool.drop(u)
		u.close()
	case !u.open:
		u.fail(proxy.ConnectTimeout)
	case !u.gotHead:
		u.fail(proxy.AnswerTimeout)
	case u.x.tunnel:
		u.c.finish()
	default:
		u.fail(proxy.BodyTimeout)
	}
}

// fileRead implements endpoint; an upstream reads no files.
func (u *upstream) fileRead(int, error) { panic("BUG: an upstream connection read a file") }

// close gives the connection up.
func (u *upstream) close() {
	if !u.gone {
		u.gone = true
		u.w.r.Close(u.sock)
	}
}

// cancel gives the connection up because the client is gone.
func (u *upstream) cancel() {
	u.unbind()
	u.close()
}

// closed implements endpoint.
func (u *upstream) closed() {
	for _, b := range []*[]byte{&u.in, &u.out, &u.sending} {
		if *b != nil {
			u.w.r.Buffers().Put(*b)
			*b = nil
		}
	}
}
