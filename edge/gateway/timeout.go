package gateway

import (
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
	"edge/proxy"
)

// timerKind is what a connection's one deadline stands for.
type timerKind uint8

const (
	timerNone      timerKind = iota
	timerHandshake           // from accept to the client's Finished; never extended
	timerIdle                // no request
	timerHead                // from a head's first byte to its last; never extended
	timerBody                // a request body does not arrive, or too slowly
	timerWrite               // an answer is not acknowledged, or too slowly
	timerLinger              // waiting for the peer's FIN
)

// timeoutNames are the flags that the log names when they end a connection. To be
// idle is nobody's fault.
var timeoutNames = [...]string{
	timerHandshake: "handshake-timeout",
	timerHead:      "head-timeout",
	timerBody:      "body-timeout",
	timerWrite:     "write-timeout",
	timerLinger:    "",
}

// lingerTime is how long a peer may take to see our FIN.
const lingerTime = 2 * time.Second

func (c *conn) timeout(k timerKind) time.Duration {
	t := &c.w.server.cfg.Timeouts
	switch k {
	case timerHandshake:
		return t.Handshake
	case timerIdle:
		if c.w.draining {
			return min(t.Idle, c.w.idleTime)
		}
		return t.Idle
	case timerHead:
		return t.Head
	case timerBody:
		return t.Body
	case timerWrite:
		return t.Write
	case timerLinger:
		return lingerTime
	}
	panic("BUG: no such timer")
}

// restAfter is the first part of the idle time, after which a connection rests: it
// gives back what only a busy one needs. It is long against the pause between two
// requests of a page, and short against the time that idle connections are kept.
const restAfter = time.Second

// setTimer replaces the connection's deadline.
func (c *conn) setTimer(k timerKind) {
	c.timer = k
	d := c.timeout(k)
	switch k {
	case timerWrite:
		c.sampled = false
		d /= sampleShare
	case timerBody:
		c.bodyMoved = 0
	case timerIdle:
		c.rested = d <= restAfter // then it is not worth it
		if !c.rested {
			d = restAfter
		}
	}
	c.w.r.SetDeadline(c.sock, c.capped(c.w.r.Now().Add(d)))
}

// clearTimer waits without a deadline of the connection's own: for an upstream,
// which has one.
func (c *conn) clearTimer() {
	c.timer = timerNone
	var at reactor.Instant
	if whole := c.w.server.cfg.Timeouts.Request; whole > 0 && c.x != nil {
		at = c.x.started.Add(whole)
	}
	c.w.r.SetDeadline(c.sock, at)
}

// capped brings a deadline forward to the end of the time for the whole request.
func (c *conn) capped(at reactor.Instant) reactor.Instant {
	whole := c.w.server.cfg.Timeouts.Request
	if whole > 0 && c.x != nil {
		return min(at, c.x.started.Add(whole))
	}
	return at
}

// waitForRequest starts the idle time.
func (c *conn) waitForRequest() {
	if c.headStarted == 0 {
		c.setTimer(timerIdle)
	}
}

// waitForHead starts the time for a head at its first byte, and leaves it alone
// at every later one: a client that drips bytes gains nothing.
func (c *conn) waitForHead() {
	if c.headStarted == 0 {
		c.headStarted = c.w.r.Now()
		c.setTimer(timerHead)
	}
}

// waitForBody goes on waiting for a request body of which n bytes came. The time
// starts again once enough did: a client that drips bytes gains little. While an
// answer is on its way, that is what is waited for.
func (c *conn) waitForBody(n int) {
	c.bodyMoved += n
	if c.sending == nil && (c.timer != timerBody || c.bodyMoved >= c.least(timerBody)) {
		c.setTimer(timerBody)
	}
}

// least is the number of bytes that must move within the time for k for it to
// start again.
func (c *conn) least(k timerKind) int {
	return max(1, int(c.timeout(k).Seconds()*float64(c.w.server.cfg.Limits.MinRate)))
}

// expired ends what took too long.
func (c *conn) expired() {
	if c.stage == stageClosed {
		return
	}
	if c.wholeSpent() {
		c.endSpent()
		return
	}
	if c.timer == timerWrite && c.moves() {
		c.w.r.SetDeadline(c.sock, c.capped(c.w.r.Now().Add(c.timeout(timerWrite))))
		return
	}
	if c.timer == timerBody && !c.wantsInput() {
		c.setTimer(timerBody) // it is not the client that is slow: nobody reads
		return
	}
	if c.timer == timerIdle && !c.rested {
		c.rest()
		return
	}
	c.tellTimeout(timeoutNames[c.timer])
	switch c.timer {
	case timerIdle:
		c.finish()
	case timerHead:
		c.timedOut()
	case timerWrite, timerBody:
		c.abort()
	default:
		c.close()
	}
}

// endSpent ends a request that took longer than it may as a whole. A client that
// waits for an application is told.
func (c *conn) endSpent() {
	if x := c.x; c.timer == timerNone && x.routes != nil && !x.headDone {
		c.tellTimeout("")
		c.upstreamFailed(x, proxy.RequestTimeout)
		return
	}
	c.tellTimeout("request-timeout")
	c.abort()
}

// tellTimeout counts the end of a connection by a timeout, and tells of it unless
// name is empty.
func (c *conn) tellTimeout(name string) {
	c.w.stats.timeouts.Add(1)
	if name != "" {
		c.w.server.log.limited("timeout", "connection ended by --%s; client %s", name, c.clientName())
	}
}

// rest gives back the expanded keys of a connection that has been idle for
// restAfter, and waits for the rest of the idle time. Its buffers it has given back
// before: it holds none that are empty.
func (c *conn) rest() {
	c.rested = true
	if c.on.tls {
		c.tls.Rest()
	}
	c.w.r.SetDeadline(c.sock, c.w.r.Now().Add(c.timeout(timerIdle)-restAfter))
}

// sampleShare: what the peer has acknowledged is asked of the kernel first when
// this share of the write timeout is over, so that an answer that goes out at
// once, as nearly all do, costs no system call for it.
const sampleShare = 8

// moves says whether the peer acknowledged enough since the last time, or whether
// this is the first time.
func (c *conn) moves() bool {
	acked := c.acked()
	moved := !c.sampled || acked-c.ackedWas >= uint64(c.least(timerWrite))
	c.sampled, c.ackedWas = true, acked
	return moved
}

// acked is the number of bytes the peer has acknowledged, as the kernel counts
// them; 0 where there is no kernel.
func (c *conn) acked() uint64 {
	fd := c.w.r.FD(c.sock)
	if fd < 0 {
		return 0
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return info.Bytes_acked
}

// wholeSpent says whether the request took as long as it may as a whole.
func (c *conn) wholeSpent() bool {
	whole := c.w.server.cfg.Timeouts.Request
	return whole > 0 && c.x != nil && c.w.r.Now().Sub(c.x.started) >= whole
}

// timedOut answers a head that did not arrive in time (RFC 9110, 15.5.9).
func (c *conn) timedOut() {
	x := c.w.newExchange()
	c.begin(x)
	x.bodyEnd = true
	errorPageFor(&x.resp, 408, "the request head took longer than head-timeout")
	x.resp.Close = true
	c.produce()
}
