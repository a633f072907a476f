package tlsstack

import (
	"bytes"
	"time"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// sendRetry queues HelloRetryRequest for the chosen group (RFC 9846, 4.2.4) and
// waits for the second ClientHello. The state stays with the connection, so no
// cookie is needed.
func (c *Conn) sendRetry(now time.Time) *Error {
	hs := c.hs
	hs.sessionOffered = hs.hello.PSK.Count > 0 && c.findSession(now) != nil
	hs.transcript.Start(hs.params.suite)
	hs.transcript.Add(hs.hello.Raw)
	hs.transcript.Retry()

	retry := wire.HelloRetryRequest{
		SessionID:   hs.hello.SessionID,
		CipherSuite: hs.params.suite.ID,
		Group:       hs.params.group,
	}
	retry.ECHConfirmation = hs.ech.confirming()
	var confirmation int
	hs.scratch, confirmation = retry.Append(hs.scratch[:0])
	hs.confirmRetry(hs.scratch, confirmation)
	hs.transcript.Add(hs.scratch)
	out := c.queue()
	out = record.AppendPlaintext(out, record.Handshake, hs.scratch, c.cfg.sendPlaintextMax())
	c.output.b = c.appendCCS(out)

	// The first hello stays for comparison, in its buffer; the second one is read
	// into the other.
	hs.first, hs.hello = hs.hello, wire.ClientHello{Extensions: hs.first.Extensions}
	c.messages, hs.other = hs.other, c.messages
	c.info.Retried = true
	c.state = stateRetryHello
	return nil
}

// appendCCS appends the change_cipher_spec of middlebox compatibility, once.
// RFC 9846, E.4: a server MUST send it to a client with a session id. It may send
// it to any, and does, as BoringSSL's runner expects: clients drop it.
func (c *Conn) appendCCS(dst []byte) []byte {
	if c.hs.ccsSent {
		return dst
	}
	c.hs.ccsSent = true
	dst = record.AppendHeader(dst, record.ChangeCipherSpec, 1)
	return append(dst, 1)
}

// secondHello takes the answer to HelloRetryRequest.
func (c *Conn) secondHello(now time.Time, msg []byte) *Error {
	if e := c.atKeyChange(); e != nil {
		return e
	}
	hs := c.hs
	if err := c.parseSecondHello(msg); err != nil {
		return refuseMessage(err)
	}
	if e := checkSecondHello(&hs.first, &hs.hello, hs.params.group); e != nil {
		return e
	}
	// A session that could be resumed may not vanish: only PSKs that do not go
	// with the suite may be left out (RFC 9846, 4.2.2).
	if hs.sessionOffered && hs.hello.PSK.Count == 0 {
		return refuse(ReasonRetryPSK)
	}
	hs.params.retryGroup = false
	return c.answerWithFlight(now)
}

// parseSecondHello parses the message, opens its ECH, and applies the rules that
// hold for one hello.
func (c *Conn) parseSecondHello(msg []byte) error {
	hello := &c.hs.hello
	if err := wire.ParseClientHello(msg, hello); err != nil {
		return err
	}
	if err := c.openSecondHello(); err != nil {
		return err
	}
	return hello.CheckTLS13()
}

// checkSecondHello compares the two hellos. RFC 9846, 4.2.2: the client "MUST
// send the same ClientHello without modification" but for the exceptions named
// there.
func checkSecondHello(first, second *wire.ClientHello, group wire.Group) *Error {
	// RFC 9846, 4.3.8: the one share is for the group asked for.
	list := second.KeyShares
	share, ok := list.Next()
	if !ok || share.Group != group || len(list) > 0 {
		return refuse(ReasonRetryShare)
	}
	if second.LegacyVersion != first.LegacyVersion ||
		!bytes.Equal(second.Random, first.Random) ||
		!bytes.Equal(second.SessionID, first.SessionID) ||
		!bytes.Equal(second.CipherSuites, first.CipherSuites) ||
		!bytes.Equal(second.CompressionMethods, first.CompressionMethods) ||
		!sameExtensions(first, second) {
		return refuse(ReasonRetryChanged)
	}
	return nil
}

// sameExtensions compares the extensions that must not change, in order.
func sameExtensions(first, second *wire.ClientHello) bool {
	a, b := first.Extensions, second.Extensions
	for {
		a, b = skipChangeable(a), skipChangeable(b)
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0].Type != b[0].Type || !bytes.Equal(a[0].Body, b[0].Body) {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

// skipChangeable drops leading extensions that a client may change, add or
// remove between its hellos (RFC 9846, 4.2.2; for ECH RFC 9849, 6.1.5).
func skipChangeable(list []wire.Extension) []wire.Extension {
	for len(list) > 0 {
		switch list[0].Type {
		case wire.ExtKeyShare, wire.ExtEarlyData, wire.ExtCookie, wire.ExtPreSharedKey,
			wire.ExtPadding, wire.ExtEncryptedClientHello:
			list = list[1:]
		default:
			return list
		}
	}
	return nil
}
