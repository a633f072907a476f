package gateway

import (
	"edge/ja4"
	"edge/proxy"
)

// prints are the JA4 fingerprints of a client. The plain one is of the hello that
// the network saw, as everybody else computes it; with ECH the inner hello has one
// of its own. The access log, programs and applications are given the same ones. Of two hellos,
// with a HelloRetryRequest between, it is the first that counts.
type prints struct {
	known bool
	outer ja4.Fingerprint
	inner *ja4.Fingerprint // nil unless ECH was accepted
}

// takePrints computes the fingerprints when the hello is there, if anybody will
// ask for them.
func (c *conn) takePrints() {
	if c.w.access.to == nil && len(c.w.routes) == 0 && (c.gen.programs == nil || !c.gen.programs.wantsJA4) {
		return
	}
	outer, served := c.tls.OuterHello(), c.tls.Hello()
	if h := &c.w.hello; h.Read(outer.Raw) == nil {
		c.prints.known, c.prints.outer = true, h.JA4(ja4.TCP)
	}
	if h := &c.w.hello; served != outer && h.Read(served.Raw) == nil {
		inner := h.JA4(ja4.TCP)
		c.prints.inner = &inner
	}
}

// text is the fingerprint at the end of a line in words, if there is one.
func (p *prints) text() string {
	if !p.known {
		return ""
	}
	return ", ja4 " + string(p.outer[:])
}

// front tells an application of them.
func (p *prints) front(f *proxy.Front) {
	if p.known {
		f.JA4 = p.outer[:]
	}
	if p.inner != nil {
		f.JA4Inner = p.inner[:]
	}
}

// appendFields appends what is known to a line of the access log.
func (p *prints) appendFields(b []byte) []byte {
	if p.known {
		b = appendField(b, "ja4", p.outer[:])
	}
	if p.inner != nil {
		b = appendField(b, "ja4_inner", p.inner[:])
	}
	return b
}
