package gateway

import (
	"encoding/base64"
	"strconv"
)

// What DNS should say of this server, for whoever keeps its zone: the well-known
// URI origin-svcb (draft-ietf-tls-wkech), made from the ECH keys in service, so
// that it changes when they do.
//
//	{"endpoints":[{"regeninterval":3600,"priority":1,"params":{"alpn":["http/1.1"],"ech":"AEb+DQ…"}}]}

var (
	originSVCBPath = []byte("/.well-known/origin-svcb")
	jsonType       = []byte("application/json")
	allowName      = []byte("Allow")
	allowGet       = []byte("GET, HEAD")
)

// serveOriginSVCB answers x if it asks for that, on a connection that vouches for
// it; false: it does not.
func (c *conn) serveOriginSVCB(x *exchange) bool {
	every := c.w.server.cfg.OriginSVCB
	if every == 0 || !c.on.tls || string(x.req.Path) != string(originSVCBPath) {
		return false
	}
	if m := string(x.req.Method); m != "GET" && m != "HEAD" {
		errorPage(&x.resp, 405)
		x.resp.Header.Append(allowName, allowGet)
		return true
	}
	x.resp.Reset(200)
	x.resp.Header.Append(contentType, jsonType)
	x.resp.Bytes = x.gen.appendOriginSVCB(nil, c.w, int64(every.Seconds()))
	x.resp.ContentLength = int64(len(x.resp.Bytes))
	return true
}

// appendOriginSVCB appends the JSON. Keys that are renewed every so many seconds
// may be cached for as long.
func (g *generation) appendOriginSVCB(b []byte, w *worker, seconds int64) []byte {
	b = append(b, `{"endpoints":[{"regeninterval":`...)
	b = strconv.AppendInt(b, seconds, 10)
	b = append(b, `,"priority":1,"params":{"alpn":[`...)
	for i, proto := range g.tls.NextProtos {
		if proto == protoOld {
			continue // nobody looks for it in DNS
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSON(append(b, '"'), []byte(proto)), '"')
	}
	b = append(b, ']')
	if list := g.tls.ECH.RetryConfigs(w.r.Wall()); list != nil {
		b = append(b, `,"ech":"`...)
		b = base64.StdEncoding.AppendEncode(b, list)
		b = append(b, '"')
	}
	return append(b, "}}]}\n"...)
}
