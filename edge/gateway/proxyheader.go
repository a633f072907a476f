package gateway

import (
	"net/netip"

	"edge/proxy/proxyproto"
)

// The PROXY header out (proxy-protocol=v1 or v2 behind a URL of --proxy) says whose
// connection it is. So a connection that began with one carries the requests of that
// client connection alone: it does not go to the pool when it is idle, but stays with
// the client's, which keeps at most one, and ends with it.

// proxyHeaderBytes is room for a header as appendProxyHeader makes it, and for the
// word to a bridge that it is sent with: 28 + 16 + 36 bytes, ALPN and name of at most
// 3 + 255 each, and TLS with 3 + 5 + 10 + 35 + 3 + 255.
const proxyHeaderBytes = 1024

// textMax is the longest text told in a TLV; a longer one is left out.
const textMax = 255

// headerVersion is the version of the header that is still to be sent, by us: to a
// bridge it was given.
func (u *upstream) headerVersion() int {
	if u.pooled || u.link != nil {
		return 0
	}
	return u.pool.target.ProxyProtocol
}

// appendProxyHeader appends the header of a version for the connection: from the
// client, or from whom a PROXY header named, to the address here that it came to;
// 0.0.0.0:0 if that is not known. Version 2 also tells ALPN, server name, and what is known of the client's TLS.
func (c *conn) appendProxyHeader(dst []byte, version int) []byte {
	local := c.w.localOf(c.sock)
	if !local.IsValid() && c.peer.IsValid() { // a unix socket, with the client out of a header
		local = netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	}
	if version == 1 {
		return proxyproto.AppendV1(dst, c.peer, local)
	}
	var buf [proxyHeaderBytes]byte
	return proxyproto.AppendV2(dst, c.peer, local, c.appendTLVs(buf[:0]))
}

// appendTLVs appends what version 2 tells of the client's TLS; nothing without.
func (c *conn) appendTLVs(tlvs []byte) []byte {
	if !c.on.tls {
		return tlvs
	}
	info := c.tls.Info()
	if info.ALPN != "" {
		tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeALPN, []byte(info.ALPN))
	}
	if info.ServerName != "" {
		tlvs = proxyproto.AppendTLV(tlvs, proxyproto.TypeAuthority, []byte(info.ServerName))
	}
	s := proxyproto.SSL{Version: "TLSv1.3", Cipher: info.Suite.String(), Resumed: info.Resumed}
	if info.Client != nil {
		s.Cert = true
		if cn := info.Client.Leaf.Subject.CommonName; len(cn) <= textMax {
			s.CommonName = cn
		}
	}
	return proxyproto.AppendSSL(tlvs, s)
}

// localHeader is a header of a version for a connection of our own: a health check.
func localHeader(version int) []byte {
	switch version {
	case 0:
		return nil
	case 1:
		return proxyproto.AppendV1(nil, netip.AddrPort{}, netip.AddrPort{})
	}
	return proxyproto.AppendV2(nil, netip.AddrPort{}, netip.AddrPort{}, nil)
}

// keepUpstream keeps u, which is idle, for the next request of the connection.
func (c *conn) keepUpstream(u *upstream) {
	c.dropKept()
	c.kept, u.keeper = u, c
}

// takeKept gives the connection that was kept, if it leads to p.
func (c *conn) takeKept(p *pool) *upstream {
	u := c.kept
	if u == nil || u.pool != p {
		return nil
	}
	if p.vanished(u) {
		c.dropKept()
		return nil
	}
	c.kept, u.keeper = nil, nil
	return u
}

// dropKept closes the connection that was kept.
func (c *conn) dropKept() {
	if u := c.kept; u != nil {
		c.kept, u.keeper = nil, nil
		u.close()
	}
}
