package tlsstack

import (
	"time"

	"edge/tlsstack/wire"
)

// state is where a connection is. The order matters: every state before
// stateEstablished is part of the handshake.
type state uint8

const (
	stateHello       state = iota // the first ClientHello is awaited
	stateDecision                 // the caller decides
	stateRetryHello               // the second ClientHello is awaited
	stateCertificate              // the client's Certificate is awaited
	stateVerify                   // the client's CertificateVerify is awaited
	stateFinished                 // the client's Finished is awaited
	stateEstablished
	stateFailed
)

// expected is the one message each state takes; 0 for none.
var expected = [...]wire.HandshakeType{
	stateHello:       wire.TypeClientHello,
	stateDecision:    0,
	stateRetryHello:  wire.TypeClientHello,
	stateCertificate: wire.TypeCertificate,
	stateVerify:      wire.TypeCertificateVerify,
	stateFinished:    wire.TypeFinished,
	stateEstablished: wire.TypeKeyUpdate,
	stateFailed:      0,
}

// shortMessageMax bounds the messages that have no limit of their own, in bytes:
// CertificateVerify with the signature of a 16,384-bit RSA key is the longest.
const shortMessageMax = wire.HeaderBytes + 4 + 2<<10

// messageMax is the largest message, header included, that the state takes.
func (c *Conn) messageMax() int {
	switch c.state {
	case stateHello, stateDecision, stateRetryHello:
		return c.cfg.helloBytesMax()
	case stateCertificate:
		return c.cfg.clientChainMax()
	}
	return shortMessageMax
}

// receiveHandshake takes the content of a handshake record: parts of messages,
// one, or several.
func (c *Conn) receiveHandshake(now time.Time, fragment []byte) *Error {
	// RFC 9846, 5.1: "Implementations MUST NOT send zero-length fragments of
	// Handshake types".
	if len(fragment) == 0 {
		return refuse(ReasonEmptyFragment)
	}
	if c.state == stateHello && c.hs == nil {
		c.beginHandshake()
	}
	c.messages.Add(fragment)
	for {
		t, ok := c.messages.FrontType()
		if !ok {
			break
		}
		if wire.HandshakeType(t) != expected[c.state] {
			return refuse(ReasonUnexpectedMessage)
		}
		msg, err := c.messages.Next(c.messageMax())
		if err != nil {
			return refuseRecord(err)
		}
		if msg == nil {
			break
		}
		if e := c.step(now, msg); e != nil {
			return e
		}
	}
	if c.state == stateEstablished && c.messages.Pending() == 0 {
		c.messages.Release()
	}
	return nil
}

// step hands a message that fits the state to the code that knows it.
func (c *Conn) step(now time.Time, msg []byte) *Error {
	switch c.state {
	case stateHello:
		return c.clientHello(msg)
	case stateRetryHello:
		return c.secondHello(now, msg)
	case stateCertificate:
		return c.clientCertificate(now, msg)
	case stateVerify:
		return c.clientVerify(msg)
	case stateFinished:
		return c.clientFinished(now, msg)
	case stateEstablished:
		return c.keyUpdate(now, msg)
	}
	panic("BUG: tlsstack: message taken in a state that expects none")
}

// atKeyChange checks that nothing follows in the same record. RFC 9846, 5.1:
// "Handshake messages MUST NOT span key changes."
func (c *Conn) atKeyChange() *Error {
	if c.messages.Pending() > 0 {
		return refuse(ReasonExcessHandshakeData)
	}
	return nil
}
