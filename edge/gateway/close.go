package gateway

import (
	"errors"
	"net/netip"

	"edge/edge/reactor"
	"edge/tlsstack"
	"edge/tlsstack/wire"
)

// finish ends a connection in good order: what is queued goes out, then
// close_notify and FIN, then the peer's last bytes are read over so that they
// do not turn our answer into a reset (RFC 9112, 9.6; RFC 9846, 6.1).
func (c *conn) finish() {
	if c.stage >= stageClosing {
		return
	}
	c.stage = stageClosing
	c.setTimer(timerWrite)
	c.w.markDirty(c)
}

// failTLS ends a connection after a TLS error: its alert goes out, then FIN.
func (c *conn) failTLS(err error) {
	c.w.stats.tlsFailed.Add(1)
	if e, ok := errors.AsType[*tlsstack.Error](err); ok && e.Origin == tlsstack.Peer && e.Alert == wire.AlertECHRequired {
		c.w.stats.echRequired.Add(1)
	}
	c.logTLS(err)
	c.leaveGeneration()
	c.dropExchange()
	c.stage = stageClosing
	c.setTimer(timerWrite)
	c.w.markDirty(c)
}

// linger has sent all there is: FIN goes out, and input is dropped until the
// peer's FIN or the deadline.
func (c *conn) linger() {
	c.stage = stageLingering
	c.release(&c.in)
	c.release(&c.plain)
	c.w.r.ShutdownWrite(c.sock)
	if c.peerEnded {
		c.close()
		return
	}
	c.setTimer(timerLinger)
	c.gate()
}

// lingerBytesMax bounds what is read over after the last answer.
const lingerBytesMax = 1 << 20

// dropInput counts what a lingering peer still sends.
func (c *conn) dropInput(n int) {
	if c.raw += n; c.raw > lingerBytesMax {
		c.close()
	}
}

// peerClosed goes on after the peer's close_notify: what was asked for is still
// answered (RFC 9846, 6.1).
func (c *conn) peerClosed() {
	c.peerEnded = true
	switch x := c.x; {
	case x == nil:
		c.finish()
	case x.tunnel:
		c.endTunnelInput()
	case x.holding || x.routes != nil && !x.bodyEnd:
		c.abort() // truncated: the rest of the body will not come
	}
}

// endTunnelInput has FIN follow what the client sent through a tunnel.
func (c *conn) endTunnelInput() {
	c.peerEnded = true
	if u := c.x.up; u != nil {
		u.finDue = true
		u.markDirty()
	}
}

// receiveEnded goes on after the peer's FIN or reset.
func (c *conn) receiveEnded(err error) {
	if err == nil && c.finWaits() {
		c.finHeld = true
		return
	}
	c.inputEnded(err)
}

// finWaits says that what came before the FIN is looked at first: it waits for the
// answer in progress, or for the target to take it. What is wanted and held all the
// same is a part of a record or of a line, whose rest will not come. A client that
// is gone for good, as TLS shows, is not kept.
func (c *conn) finWaits() bool {
	if c.stage != stageOpen || c.x == nil || c.heldInput() == 0 || c.wantsInput() {
		return false
	}
	return c.x.tunnel || !c.on.tls || !c.x.bodyEnd
}

// inputEnded goes on after the last of the peer's bytes.
func (c *conn) inputEnded(err error) {
	switch {
	case err != nil || c.stage < stageOpen || c.stage == stageLingering:
		c.close()
	case c.stage == stageOpen && c.x != nil && c.x.tunnel && c.x.up != nil:
		c.endTunnelInput()
	case c.stage == stageOpen && c.x != nil && !c.x.bodyEnd && (c.on.tls && !c.peerEnded || c.x.routes != nil || c.x.holding):
		c.abort() // truncated: the request must not pass for a whole one
	case c.stage == stageOpen && c.on.tls && c.x != nil && c.x.routes != nil:
		c.close() // the client is gone: nobody waits for the upstream's answer
	default:
		c.peerEnded = true
		if c.x == nil {
			c.finish()
		}
	}
}

// close gives the connection up.
func (c *conn) close() { c.giveUp(c.w.r.Close) }

// abort gives the connection up with a reset: the peer must not take what it has
// for all there is.
func (c *conn) abort() { c.giveUp(c.w.r.Abort) }

func (c *conn) giveUp(how func(reactor.Sock)) {
	if c.stage == stageClosed {
		return
	}
	c.stage = stageClosed
	c.leaveGeneration()
	c.dropExchange()
	c.dropKept()
	how(c.sock)
}

// dropExchange ends an exchange that will not be answered whole. While the
// kernel reads its file it must stay: fileRead and free come back to it.
func (c *conn) dropExchange() {
	if c.x != nil && !c.filling {
		c.x.cut = true
		if c.x.up != nil {
			c.x.up.cancel()
		}
		c.w.endExchange(c, c.x)
		c.x = nil
	}
}

func (c *conn) leaveGeneration() {
	c.endHelloRun()
	if c.gen != nil {
		c.w.leave(c.gen)
		c.gen = nil
	}
}

// closed implements endpoint: what is left is given back.
func (c *conn) closed() {
	c.filling = false
	c.dropExchange()
	c.release(&c.in)
	c.release(&c.plain)
	c.release(&c.out)
	c.release(&c.sending)
	if c.relay != nil {
		c.relay.forsake()
		c.relay = nil
	}
	c.tls.Release()
	c.w.leaveBooks(c.peer)
	c.w.recycle(c)
}

// recycle keeps a connection that is over to be used again.
func (w *worker) recycle(c *conn) {
	if !c.dirty && !c.starved && len(w.idle) < idleConnsMax {
		w.idle = append(w.idle, c)
	}
}

// leaveBooks takes a client connection that is closed off the worker's books.
func (w *worker) leaveBooks(peer netip.AddrPort) {
	w.open--
	w.bySource.leave(peer.Addr())
	w.stopIfDrained()
}

// logTLS says in one line why a handshake or a connection failed.
func (c *conn) logTLS(err error) {
	var e *tlsstack.Error
	if !errors.As(err, &e) {
		c.w.server.log.limited("tls", "tls: %v; client %s", err, c.clientName())
		return
	}
	limit := ""
	if e.Reason == tlsstack.ReasonMessageTooBig && c.stage == stageHello {
		limit = " (--max-hello-bytes)"
	}
	c.w.server.log.limited("tls", "%v%s; client %s, server name %q%s", e, limit, c.clientName(), c.nameToLog(), c.prints.text())
}
