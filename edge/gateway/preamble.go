package gateway

import (
	"net/netip"

	"edge/proxy/proxyproto"
)

// The PROXY header (--proxy-protocol) comes before the hello or the request, from
// peers that are trusted (--trust), and says for whom they speak:
//
//	trusted peer    a header must come, within the handshake time; one that is
//	                missing or malformed ends the connection without an answer
//	any other       there is none: what looks like one is not TLS, nor HTTP
//
// Until it is here the connection has no peer: it is counted for nobody's address.

// sendsHeader says that a peer begins with a PROXY header.
func (w *worker) sendsHeader(peer netip.AddrPort) bool {
	return w.server.cfg.ProxyProtocol && w.server.trust.Has(peer.Addr())
}

// awaitHeader has c begin with a PROXY header from via.
func (c *conn) awaitHeader(via netip.AddrPort) {
	c.heading, c.peer, c.via = true, netip.AddrPort{}, via
	c.setTimer(timerHandshake)
}

// takeHeader reads the PROXY header, and hands on what follows it.
func (c *conn) takeHeader(b []byte) {
	whole := b
	if len(c.in) > 0 {
		if !c.stash(b) {
			return
		}
		whole = c.in
	}
	var h proxyproto.Header
	n, err := proxyproto.Parse(whole, &h)
	switch {
	case err != nil:
		c.w.stats.badRequests.Add(1)
		c.w.server.log.limited("proxy-protocol", "%v; connection from %s", err, c.via)
		c.abort()
		return
	case n == 0:
		if len(c.in) == 0 {
			c.stash(b)
		}
		return
	}
	kept := c.in
	c.in, c.heading = nil, false
	if c.knowPeer(&h) && n < len(whole) {
		c.receivedOpen(whole[n:])
	}
	if kept != nil {
		c.w.r.Buffers().Put(kept)
	}
}

// knowPeer makes the client of a PROXY header the connection's peer; false: it has
// no place here.
func (c *conn) knowPeer(h *proxyproto.Header) bool {
	peer := h.Source
	if !peer.IsValid() {
		peer = c.via // LOCAL, or it is not said: the proxy speaks for itself
	}
	if !c.w.admitsSource(peer.Addr()) {
		c.w.stats.refused.Add(1)
		c.abort()
		return false
	}
	c.peer = peer
	if !c.on.tls {
		c.waitForRequest()
	}
	return true
}
