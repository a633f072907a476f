package tlsstack

import (
	"net/netip"

	"edge/tlsstack/wire"
)

// clientHello takes the first ClientHello and stops for the caller's decision.
// A hello whose list of extensions can be read reaches the caller even if an
// extension is malformed or TLS 1.3 is not offered: a relay may have to pass it
// on. Continue refuses it then.
func (c *Conn) clientHello(msg []byte) *Error {
	if e := c.atKeyChange(); e != nil {
		return e
	}
	hs := c.hs
	if err := wire.ScanClientHello(msg, &hs.hello); err != nil {
		return refuseMessage(err)
	}
	if hs.helloErr = wire.ParseClientHello(msg, &hs.hello); hs.helloErr == nil {
		hs.helloErr = c.openHello()
	}
	c.info.EarlyData = hs.hello.EarlyData
	copy(hs.random[:], hs.hello.Random)
	hs.name = appendHostName(hs.name[:0], &hs.hello)
	c.info.ServerName = string(hs.name)
	c.state = stateDecision
	return nil
}

// nameBytesMax is the longest host name (RFC 1035, 3.1, without the root).
const nameBytesMax = 253

// appendHostName appends the SNI host in the form certificates are looked up by,
// nothing when there is none that could be held: RFC 6066, 3 allows neither IP
// literals nor names longer than DNS has.
func appendHostName(dst []byte, hello *wire.ClientHello) []byte {
	start := len(dst)
	dst = hello.AppendServerName(dst)
	name := dst[start:]
	if len(name) > nameBytesMax || isAddress(name) {
		return dst[:start]
	}
	return dst
}

// isAddress reports whether name is an IP literal. A look at the last byte saves
// nearly every host name the parse: addresses end in a digit, or have a colon.
func isAddress(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	last := name[len(name)-1]
	if (last < '0' || last > '9') && !containsColon(name) {
		return false
	}
	_, err := netip.ParseAddr(string(name))
	return err == nil
}

func containsColon(name []byte) bool {
	for _, b := range name {
		if b == ':' {
			return true
		}
	}
	return false
}

// Hello returns the parsed ClientHello that is to be answered, while the
// connection waits for a decision; nil otherwise. It aliases the connection's
// buffer and is valid until Continue, Refuse or Release.
func (c *Conn) Hello() *wire.ClientHello {
	if c.state != stateDecision {
		return nil
	}
	return &c.hs.hello
}

// HelloErr returns what Continue would refuse Hello for before anything else is
// looked at, nil when it is well-formed. Valid while a decision is awaited.
func (c *Conn) HelloErr() error {
	if c.state != stateDecision {
		return nil
	}
	return c.hs.helloErr
}
