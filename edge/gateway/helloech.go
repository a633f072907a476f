package gateway

import "edge/ech"

// echKind is what became of a client's Encrypted ClientHello, as logs and counters
// tell it.
type echKind uint8

const (
	echUnknown  echKind = iota // the hello is not here yet
	echNone                    // not offered, or we have no keys
	echGrease                  // not meant for a key of ours (RFC 9849, 6.2)
	echRejected                // meant for a key of ours, and not to be opened: a stale config
	echAccepted
	echBehind // accepted by a client-facing server, whose origin we are
)

func (k echKind) String() string {
	return [...]string{"none", "none", "grease", "rejected", "accepted", "accepted"}[k]
}

// judgeECH tells the kind of the first hello. What cannot be opened is GREASE as
// far as anybody can tell, unless it names one of our public names: a client puts
// that there because a config of ours told it to, and GREASE the name it is for.
func (c *conn) judgeECH() {
	info, st := c.tls.Info(), c.w.stats
	switch {
	case c.isBehind():
		c.ech = echBehind
		st.echAccepted.Add(1)
	case info.ECH == ech.None:
		c.ech = echNone
		st.echNone.Add(1)
	case info.ECH == ech.Accepted:
		c.ech = echAccepted
		st.echAccepted.Add(1)
	case c.gen.tls.ECH.IsPublicName([]byte(info.ServerName)):
		c.ech = echRejected
		st.echRejected.Add(1)
	default:
		c.ech = echGrease
		st.echGrease.Add(1)
	}
}

// isBehind says whether the hello is an inner one that a client-facing server has
// opened.
func (c *conn) isBehind() bool {
	if !c.gen.tlsFor(c.neighbour()).ECHBackend {
		return false
	}
	inner, err := ech.IsInner(c.tls.Hello())
	return inner && err == nil
}

// outerName is the name in the hello that the network saw. Behind a client-facing
// server that is the name that the client hid.
func (c *conn) outerName() string {
	switch info := c.tls.Info(); {
	case c.ech == echAccepted:
		return info.PublicName
	case c.hidesHost():
		return ""
	default:
		return info.ServerName
	}
}

// innerName is the name that only the client and we know, if it may be logged.
func (c *conn) innerName() string {
	if c.ech != echAccepted || !c.w.server.cfg.LogInnerName {
		return ""
	}
	return c.tls.Info().ServerName
}

// hidesHost says that what the client asks for is not to be logged: it has gone to
// the trouble of hiding it, and so does the operator.
func (c *conn) hidesHost() bool { return c.ech >= echAccepted && !c.w.server.cfg.LogInnerName }

// nameToLog is the name a line in words may show.
func (c *conn) nameToLog() string {
	if c.hidesHost() {
		return c.outerName()
	}
	return c.tls.Info().ServerName
}
