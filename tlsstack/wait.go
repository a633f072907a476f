package tlsstack

// Wait is what a connection waits for.
type Wait uint8

// The things a connection waits for.
const (
	// WaitBytes: the handshake goes on when more bytes are received.
	WaitBytes Wait = iota

	// WaitDecision: the ClientHello is there; call Continue or Refuse, or take
	// the connection away. Receive consumes nothing until then.
	WaitDecision

	// WaitData: the handshake is done; application data flows both ways.
	WaitData

	// WaitNothing: the peer closed its side or the connection failed; Receive
	// consumes nothing of meaning any more.
	WaitNothing
)

// Wait returns what the connection waits for.
func (c *Conn) Wait() Wait {
	switch {
	case c.err != nil || c.peerClosed:
		return WaitNothing
	case c.state == stateDecision:
		return WaitDecision
	case c.state == stateEstablished:
		return WaitData
	}
	return WaitBytes
}

// NeedBytes returns how many bytes, counted from the first one that Receive has
// not consumed, make the next call worthwhile: a header, or a whole record once
// its header was seen. At most record.HeaderLen + record.CiphertextMax.
func (c *Conn) NeedBytes() int { return int(c.need) }

// Established reports whether the handshake has been completed.
func (c *Conn) Established() bool { return c.state == stateEstablished }
