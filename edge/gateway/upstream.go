package gateway

import (
	"errors"
	"net/netip"
	"time"

	"edge/edge/reactor"
	"edge/proxy"
	"edge/proxy/bridge"
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
// What is received goes straight into the client's output. What has no room there
// is held, and reading is paused: in a copy, for receive buffers are few and slow
// readers many. Where there is no memory for a copy, it waits in queue, in the
// buffer it came in.
type upstream struct {
	w    *worker
	pool *pool
	sock reactor.Sock
	to   netip.AddrPort // invalid for a unix socket
	link *bridge.Link   // nil for plain HTTP

	keeper *conn // that it waits with, idle, for another request of: see conn.keepUpstream

	c *conn     // whose exchange it carries; nil: idle
	x *exchange // of c

	open   bool // connected, all the way to the target
	pooled bool // has carried an exchange before
	dirty  bool // on the worker's list
	paused bool
	ended  bool // the target sent FIN, or reset the connection:
	reset  bool // then this
	deaf   bool // sending failed: what it says is still heard
	gone   bool // given up; only completions are awaited

	asked     bool // the request is on its way: the kernel has some of it
	spoke     bool // bytes of an answer came
	expecting bool // the client waits for 100, and so may the target's answer

	parser  http1.Parser
	head    http1.ResponseHead
	gotHead bool
	body    http1.Body

	in    []byte // the start of a head or of a trailer section that is not whole
	held  []byte // received, and waits for room in the client's output
	queue []upstreamChunk

	out     []byte
	headEnd int // in out, until some of it is sent
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
	u.gotHead, u.asked, u.spoke, u.expecting = false, false, false, false
	u.parser.Reset()
}

// continueTime is how long the target may take to say 100 or to refuse before the
// client, which waits for it, is told to send its body (RFC 9110, 10.1.1: the
// client must not be kept waiting for ever).
const continueTime = time.Second

// wait sets the deadline for what is waited for now:
//
//	the target has bytes to take, or to answer a whole request   the answer timeout
//	the client sends its body, or reads the answer               none: the client has one
//	the target may say 100                                       continueTime
//	a tunnel                                                     the idle time of relays
func (u *upstream) wait() {
	t := &u.w.server.cfg.Timeouts
	var d time.Duration
	switch {
	case u.paused:
	case u.x.tunnel:
		d = t.RelayIdle
	case u.expecting:
		d = continueTime
	case u.gotHead || u.x.bodyEnd || u.deaf || u.sending != nil || len(u.out) > 0:
		d = t.Answer
	}
	if d == 0 {
		u.w.r.SetDeadline(u.sock, 0)
		return
	}
	u.w.r.SetDeadline(u.sock, u.w.r.Now().Add(d))
}

// sendRequest sends the head; the body follows as the client sends it.
func (u *upstream) sendRequest() {
	x, c := u.x, u.c
	host := ""
	if u.w.server.cfg.RewriteHost || len(x.req.Authority) == 0 { // HTTP/1.0 may name none, HTTP/1.1 must
		host = u.pool.target.Authority()
	}
	size, header := requestHeadBytes(x)+len(u.pool.target.Base), u.headerVersion()
	if header != 0 {
		size += proxyHeaderBytes
	}
	b := u.w.r.Buffers().Get(size)
	if b == nil {
		c.upstreamFailed(x, proxy.PoolFull)
		return
	}
	if header != 0 {
		b = c.appendProxyHeader(b, header)
	}
	b, framing, err := http1.AppendRequestHead(b, &x.req, u.pool.target.Base, host)
	if err != nil {
		u.w.r.Buffers().Put(b)
		u.cancel()
		x.routes = nil
		c.refuse(x, err)
		return
	}
	u.out, u.headEnd = b, len(b)
	x.upChunked = framing.Body == httpmsg.BodyChunked
	if !u.sendHeld() {
		c.upstreamFailed(x, proxy.PoolFull)
		return
	}
	u.expecting = x.req.ExpectContinue && !x.bodyEnd && !x.continued && c.heldInput() == 0
	u.markDirty()
	u.resumeReading()
	u.wait()
	if !x.bodyEnd {
		c.waitProxied()
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
	u.x.bodyTaken = true // that it is over is said once, too
	u.w.forwarder.Trailer(&u.x.body.Trailer, true)
	u.markDirty()
	return u.append(http1.AppendLastChunk(u.w.scratch[:0], &u.x.body.Trailer))
}

func (u *upstream) append(p []byte) bool { return u.deaf || u.w.growBuffer(&u.out, p) }

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
	if u.gone || !u.open || u.sending != nil || u.deaf {
		return
	}
	if len(u.out) == 0 {
		if u.finDue {
			u.finDue = false
			u.w.r.ShutdownWrite(u.sock)
		}
		return
	}
	u.sending, u.out, u.asked = u.out, nil, true
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
	if u.link != nil {
		u.greetBridge()
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
	case u.waits():
		return u.hold(b, id)
	case !u.open:
		u.hearBridge(b)
		return false
	case u.stale():
		u.giveUpStale() // it spoke before it was asked: this answers nothing
		return false
	}
	u.spoke = true
	c := u.c
	n := u.consume(b)
	if u.c != nil {
		if n < len(b) {
			kept = u.hold(b[n:], id)
			u.paused = true
			u.w.r.PauseReceive(u.sock)
		}
		u.wait()
	}
	c.streamed()
	return kept
}

// waits says that received bytes wait for room in the client's output.
func (u *upstream) waits() bool { return len(u.held) > 0 || len(u.queue) > 0 }

// hold keeps b until there is room for it; true: in the buffer it came in.
func (u *upstream) hold(b []byte, id reactor.BufID) (kept bool) {
	if len(u.queue) == 0 && u.mayCopy(len(b)) && u.w.growBuffer(&u.held, b) {
		return false
	}
	u.queue = append(u.queue, upstreamChunk{b, id})
	return true
}

// mayCopy says that n bytes more may be held in a copy. Copies leave alone what output
// may take, and what comes in beside it: else all memory could be theirs, and none left
// for them to go on with.
func (u *upstream) mayCopy(n int) bool {
	leave := max(2*u.w.inputReserve, 3*reactor.BufferBytesMax)
	return len(u.held)+n <= cap(u.held) || u.w.r.Buffers().Available() > leave
}

// pump goes on with what waited for room in the client's output.
func (u *upstream) pump() {
	if u.x.headHeld && (!u.putHeldHead() || u.c == nil) {
		return
	}
	if len(u.held) > 0 && !u.pumpHeld() {
		return
	}
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
		u.wait()
	}
	if u.c != nil && u.ended {
		u.inputEnded()
	}
}

// pumpHeld goes on with what is in held; true: none of it is left.
func (u *upstream) pumpHeld() bool {
	n := u.consume(u.held)
	switch {
	case u.c == nil: // the exchange ended in there
		return false
	case n < len(u.held):
		u.held = u.held[:copy(u.held, u.held[n:])]
		return false
	}
	u.release(&u.held)
	return true
}

func (u *upstream) release(buf *[]byte) {
	if *buf != nil {
		u.w.r.Buffers().Put(*buf)
		*buf = nil
	}
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
		// first; the end of reading says whether there is one. What else the client
		// sends for it is dropped.
		u.deaf = true
		u.release(&u.out)
	}
	if len(u.out) > 0 || u.finDue {
		u.markDirty()
	}
	if u.c == nil || !u.open {
		return
	}
	u.wait()
	if u.c.timer == timerNone {
		u.c.waitProxied()
	}
	u.c.resume()
}

// fileRead implements endpoint; an upstream reads no files.
func (u *upstream) fileRead(int, error) { panic("BUG: an upstream connection read a file") }
