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
