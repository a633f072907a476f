package gateway

import (
	"bytes"

	"edge/certstore"
	"edge/proxy/httpmsg"
)

// misdirected says whether a request asks for a host that this connection was
// not made for: neither the name in the client's hello, nor one we hold a
// certificate for. The client is told to make another connection (RFC 9110,
// 15.5.20), and a certificate's name does not become a way to another site.
//
//	the client sent no name, or an IP address    served: nothing was promised
//	no host (HTTP/1.0), or an IP address         served
//	the host is the name that was sent           served
//	a host that we hold a certificate for        served: clients reuse connections
//	any other, or none that can be a name        421
func (c *conn) misdirected(x *exchange) bool {
	if !c.on.tls || len(x.req.Authority) == 0 {
		return false
	}
	sent := c.tls.Info().ServerName
	host := x.req.Authority
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	if sent == "" || httpmsg.EqualFold(host, sent) {
		return false // nearly always
	}
	var buf nameBuffer
	name, err := certstore.AppendHost(c.w.scratch[:0], x.req.Authority)
	c.w.scratch = name[:0]
	if err == certstore.ErrNameAddress {
		return false
	}
	return err != nil || string(name) != string(normalName(&buf, []byte(sent))) && !x.gen.holds(name)
}

// nameBuffer holds any name in normal form.
type nameBuffer [certstore.NameBytesMax]byte

// normalName brings the name out of a hello, which the TLS machine has taken a
// trailing dot from, into the one form that hosts, certificates and relays are
// looked up by. nil: it has none, and is held nowhere.
func normalName(buf *nameBuffer, sent []byte) []byte {
	if bytes.HasSuffix(sent, []byte{'.'}) {
		return nil // there were two
	}
	name, err := certstore.AppendName(buf[:0], sent)
	if err != nil {
		return nil
	}
	return name
}

// hostName appends the normal form of the host in an authority, without its
// port.
func hostName(dst, authority []byte) ([]byte, bool) {
	name, err := certstore.AppendHost(dst, authority)
	return name, err == nil && len(name) > len(dst)
}
