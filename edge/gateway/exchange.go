package gateway

import (
	"net/netip"

	"edge/edge/reactor"
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// exchange is one request and its response. A connection has one at a time: a
// pipelined request waits until the answer before it is complete.
type exchange struct {
	gen     *localGen // what it is served from, from start to end
	head    []byte    // own copy of the request head, once it has one
	req     httpmsg.Request
	resp    httpmsg.Response
	body    http1.Body
	bodyEnd bool // the request body is read, or there is none

	headDone bool
	part     int    // of resp.Parts
	at       int64  // body bytes put out, of the whole or of the part
	keep     []byte // what was read so far of a file that the site wants to keep

	heldBody
	proxied

	coder  *coder // compresses the answer; nil: it goes as it is
	judged bool   // whether it is compressed is decided

	run      *programRun // of its programs; nil: none has run yet
	deciding bool        // they wait for their next slice
	amended  bool        // those of edge/response are through
	refused  bool        // they failed: the answer is an error page

	client    netip.Addr // as a trusted peer tells it; invalid: it is the connection's
	id        requestID
	idText    []byte
	started   reactor.Instant
	bodyBytes int64 // of the answer, put out
	cut       bool  // the answer did not end as it should
}

// wantsBody says whether the request body is wanted now.
func (x *exchange) wantsBody() bool {
	if x.deciding {
		return x.holding && !x.bodyEnd
	}
	if x.routes != nil && !x.streamEnd {
		return !x.bodyEnd && x.up != nil && x.up.open && len(x.up.out) < upstreamOutMax
	}
	return !x.bodyEnd
}

// noteClient takes the client's address from a peer that is trusted.
func (c *conn) noteClient(x *exchange) {
	peer, trust := c.peer.Addr().Unmap(), c.w.server.trust
	if !trust.Has(peer) {
		return
	}
	if a := trust.Client(peer, &x.req.Header); a != peer {
		x.client = a
	}
}

// clientOf is whom a request is from; the port is 0 where a trusted peer told it. x may
// be nil: before there is a request, it is the connection's peer.
func (c *conn) clientOf(x *exchange) netip.AddrPort {
	if x != nil && x.client.IsValid() {
		return netip.AddrPortFrom(x.client, 0)
	}
	return c.peer
}

// isHead says that the answer has no body, whatever it is (RFC 9110, 9.3.2).
func (x *exchange) isHead() bool { return string(x.req.Method) == "HEAD" }

// advance notes n body bytes that were put out.
func (x *exchange) advance(n int) {
	x.at += int64(n)
	x.bodyBytes += int64(n)
}

func (w *worker) newExchange() *exchange {
	if n := len(w.exchanges); n > 0 {
		x := w.exchanges[n-1]
		w.exchanges = w.exchanges[:n-1]
		return x
	}
	return new(exchange)
}

// endExchange writes the access log's line and gives x back.
func (w *worker) endExchange(c *conn, x *exchange) {
	w.logExchange(c, x)
	x.stopWaiting()
	if x.run != nil {
		w.endRun(x.run)
	}
	if x.held != nil {
		w.r.Buffers().Put(x.held)
	}
	if x.unsent != nil {
		w.r.Buffers().Put(x.unsent)
	}
	if x.coder != nil {
		w.dropCoder(x)
	}
	w.leave(x.gen)
	req, resp := x.req, x.resp
	req.Reset()
	resp.Reset(0)
	*x = exchange{req: req, resp: resp, head: x.head[:0], idText: x.idText[:0]}
	w.keepExchange(x)
}

// keepExchange keeps x to be used again.
func (w *worker) keepExchange(x *exchange) {
	if len(w.exchanges) < idleConnsMax {
		w.exchanges = append(w.exchanges, x)
	}
}
