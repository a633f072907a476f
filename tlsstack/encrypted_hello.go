package tlsstack

import (
	"edge/ech"
	"edge/tlsstack/wire"
)

// Encrypted ClientHello as the handshake sees it (RFC 9849, 7): open the hello
// before anything is decided, confirm that it was opened, or say which keys are
// to be used instead.

// encrypted is the state of ECH in a handshake.
type encrypted struct {
	outcome ech.Outcome
	err     error            // what is malformed about the first hello's ECH
	backend bool             // the hello is an inner one, from a client-facing server
	context *ech.Context     // for the second hello, when accepted
	outer   wire.ClientHello // when accepted
	buffers [2]ech.Buffers   // of the first and the second inner hello
}

// openHello replaces the ClientHello by the inner one if it carries one for our
// keys. It fails when what the client sent is malformed.
func (c *Conn) openHello() error {
	hs := c.hs
	e := &hs.ech
	var err error
	switch {
	case c.cfg.ECHBackend:
		e.backend, err = ech.IsInner(&hs.hello)
	case c.cfg.ECH != nil:
		e.outcome, e.context, err = c.cfg.ECH.Open(&hs.hello, &e.outer, &e.buffers[0])
	}
	c.info.ECH, e.err = e.outcome, err
	if err != nil || e.outcome != ech.Accepted {
		return err
	}
	hs.hello, e.outer = e.outer, hs.hello
	c.info.PublicName = string(appendHostName(nil, &e.outer))
	return nil
}

// openSecondHello does the same for the answer to HelloRetryRequest: there is no
// declining any more (RFC 9849, 7.1.1).
func (c *Conn) openSecondHello() error {
	hs := c.hs
	e := &hs.ech
	switch {
	case e.backend:
		inner, err := ech.IsInner(&hs.hello)
		if err == nil && !inner {
			err = errSecondNotInner
		}
		return err
	case e.outcome == ech.Accepted:
		if err := e.context.OpenSecond(&hs.hello, &e.outer, &e.buffers[1]); err != nil {
			return err
		}
		hs.hello, e.outer = e.outer, hs.hello
	}
	return nil
}

var errSecondNotInner = &wire.Error{
	Alert:  wire.AlertIllegalParameter,
	Reason: "second ClientHello is no inner one, the first was (RFC 9849, 7.1.1)",
}

// confirming reports whether ServerHello has to carry the acceptance signal.
func (e *encrypted) confirming() bool { return e.backend || e.outcome == ech.Accepted }

// confirmServerHello puts the signal into a ServerHello that is not yet part of
// the transcript; the eight bytes are zero (RFC 9849, 7.2).
func (hs *handshake) confirmServerHello(message []byte) {
	if !hs.ech.confirming() {
		return
	}
	at := wire.ServerHelloConfirmationOffset
	clear(message[at : at+ech.ConfirmationBytes])
	signal := ech.ConfirmServerHello(hs.params.suite.NewHash, hs.hello.Random, hs.transcript.SumWith(message))
	copy(message[at:], signal[:])
}

// confirmRetry puts the signal into a HelloRetryRequest, at the offset it has
// room for it (RFC 9849, 7.2.1).
func (hs *handshake) confirmRetry(message []byte, at int) {
	if !hs.ech.confirming() {
		return
	}
	signal := ech.ConfirmHelloRetryRequest(hs.params.suite.NewHash, hs.hello.Random, hs.transcript.SumWith(message))
	copy(message[at:], signal[:])
}

// OuterHello returns the ClientHello as the network saw it, under the conditions
// of Hello. It is Hello itself unless ECH was accepted.
func (c *Conn) OuterHello() *wire.ClientHello {
	if c.state == stateDecision && c.hs.ech.outcome == ech.Accepted {
		return &c.hs.ech.outer
	}
	return c.Hello()
}

// ECHErr returns what is malformed about the hello's ECH, nil when nothing is:
// such a hello is refused (RFC 9849, 7), whoever else could serve it. Valid while
// a decision is awaited.
func (c *Conn) ECHErr() error {
	if c.state != stateDecision {
		return nil
	}
	return c.hs.ech.err
}

// ECHContext returns what opened the hello, to open a second one with where
// Hello is passed on to a backend server (RFC 9849, 7.1); nil unless ECH was
// accepted. Valid while a decision is awaited; it outlives the Conn.
func (c *Conn) ECHContext() *ech.Context {
	if c.state != stateDecision {
		return nil
	}
	return c.hs.ech.context
}
