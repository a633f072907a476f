package tlsstack

import (
	"bytes"
	"io"
	"time"

	"edge/ech"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// emptiesMax bounds records in a row that carry nothing, ccsMax the
// change_cipher_spec records of a handshake. Each costs us work and the peer
// nearly nothing.
const (
	emptiesMax = 32
	ccsMax     = 32
)

// Receive takes received bytes, at most one record of them, and returns how many
// it consumed and the application data in them. The record is opened in place:
// plain aliases b, and b is overwritten. n is 0, without error, when b does not
// hold a whole record (see NeedBytes) or when a decision is waited for; the
// caller keeps the rest, contiguous with what comes next.
//
// io.EOF means close_notify: nothing more will be read, sending may go on. Any
// other error is an *Error; its alert is in the output, and the same error is
// returned ever after.
func (c *Conn) Receive(now time.Time, b []byte) (n int, plain []byte, err error) {
	switch {
	case c.err != nil:
		return 0, nil, c.err
	case c.peerClosed:
		// RFC 9846, 6.1: "Any data received after a closure alert has been
		// received MUST be ignored."
		return len(b), nil, io.EOF
	case c.state == stateDecision || len(b) < record.HeaderLen:
		return 0, nil, nil
	}
	h, err := record.ParseHeader(b, c.in.Protected())
	if err != nil {
		return 0, nil, c.fail(c.refuseHeader(b, err))
	}
	size := record.HeaderLen + h.Len
	if len(b) < size {
		c.need = int32(size)
		return 0, nil, nil
	}
	c.need = record.HeaderLen
	plain, e := c.receiveRecord(now, h, b[:size])
	if e != nil {
		return size, nil, c.fail(e)
	}
	if c.peerClosed {
		return size, nil, io.EOF
	}
	return size, plain, nil
}

// refuseHeader names what is no record at all, where that is easily told: a
// client that was given a wrong port is an operator's most usual question.
func (c *Conn) refuseHeader(b []byte, err error) *Error {
	if c.state == stateHello && c.hs == nil && isPlainHTTP(b) {
		return refuse(ReasonPlainHTTP)
	}
	return refuseRecord(err)
}

// isPlainHTTP looks at the first five bytes of what may be a request line.
func isPlainHTTP(b []byte) bool {
	for _, method := range [...]string{"GET ", "HEAD ", "POST ", "PUT ", "OPTIO", "CONNE"} {
		if bytes.HasPrefix(b, []byte(method)) {
			return true
		}
	}
	return false
}

// receiveRecord takes one whole record.
func (c *Conn) receiveRecord(now time.Time, h record.Header, rec []byte) ([]byte, *Error) {
	fragment := rec[record.HeaderLen:]
	switch {
	case h.Type == record.ChangeCipherSpec:
		return nil, c.receiveChangeCipherSpec(fragment)
	case c.in.Protected():
		return c.receiveProtected(now, h, rec)
	}
	return nil, c.receivePlaintext(now, h.Type, fragment)
}

// receiveChangeCipherSpec drops what middlebox compatibility sends. RFC 9846, 5:
// it may come "at any time after the first ClientHello message has been sent or
// received and before the peer's Finished message has been received", has the
// one body 0x01, and may not lie inside a handshake message.
func (c *Conn) receiveChangeCipherSpec(fragment []byte) *Error {
	if c.state <= stateDecision || c.state >= stateEstablished {
		return refuse(ReasonChangeCipherSpec)
	}
	if len(fragment) != 1 || fragment[0] != 1 {
		return refuse(ReasonChangeCipherSpec)
	}
	if c.messages.Pending() > 0 {
		return refuse(ReasonInterleaved)
	}
	if c.ccs++; c.ccs > ccsMax {
		return refuse(ReasonTooManyChangeCipherSpecs)
	}
	return nil
}

// receivePlaintext takes a record before there are keys for reading.
func (c *Conn) receivePlaintext(now time.Time, t record.ContentType, fragment []byte) *Error {
	if t == record.ApplicationData {
		// Early data between the two ClientHellos. RFC 9846, 4.3.10: "The server
		// then ignores early data by skipping all records with an external content
		// type of "application_data"".
		if c.state != stateRetryHello || c.messages.Pending() > 0 {
			return refuse(ReasonUnexpectedRecord)
		}
		return c.skipEarlyData(len(fragment))
	}
	return c.receiveContent(now, t, fragment)
}

// receiveProtected opens a record and takes what is inside.
func (c *Conn) receiveProtected(now time.Time, h record.Header, rec []byte) ([]byte, *Error) {
	c.wake()
	if h.Type != record.ApplicationData {
		return nil, c.receiveUnprotectedAlert(h.Type, rec[record.HeaderLen:])
	}
	t, content, err := c.in.Open(rec)
	if err != nil {
		// Without HelloRetryRequest refused early data is told from the client's
		// flight by failing to open (RFC 9846, 4.3.10).
		if err == record.BadMAC && c.skipping() {
			return nil, c.skipEarlyData(h.Len)
		}
		return nil, refuseRecord(err)
	}
	c.stopSkipping()
	if t != record.ApplicationData {
		return nil, c.receiveContent(now, t, content)
	}
	if c.state != stateEstablished {
		return nil, refuse(ReasonUnexpectedRecord)
	}
	if c.messages.Pending() > 0 {
		return nil, refuse(ReasonInterleaved)
	}
	if len(content) == 0 {
		return nil, c.countEmpty()
	}
	c.empties = 0
	c.updates.reset()
	return content, nil
}

// receiveUnprotectedAlert takes a plaintext record although there are keys. A
// client that cannot make sense of our ServerHello has none yet and says so in
// an unprotected alert; that is an error of the peer, never an orderly close.
// OpenSSL sends ech_required that way even after its Finished: the connection is
// over either way, but the log should say why.
func (c *Conn) receiveUnprotectedAlert(t record.ContentType, fragment []byte) *Error {
	early := c.state < stateEstablished && c.in.Sequence() == 0
	echRequired := c.info.ECH == ech.Rejected && len(fragment) == 2 && wire.Alert(fragment[1]) == wire.AlertECHRequired
	if t != record.Alert || !early && !echRequired {
		return refuse(ReasonUnexpectedRecord)
	}
	closed, e := c.alertRecord(fragment)
	if e == nil && closed {
		return refuse(ReasonUnexpectedRecord)
	}
	return e
}

// receiveContent takes handshake and alert content.
func (c *Conn) receiveContent(now time.Time, t record.ContentType, content []byte) *Error {
	switch t {
	case record.Handshake:
		return c.receiveHandshake(now, content)
	case record.Alert:
		if c.messages.Pending() > 0 {
			return refuse(ReasonInterleaved)
		}
		closed, e := c.alertRecord(content)
		if closed {
			c.closePeer()
		}
		return e
	}
	return refuse(ReasonUnexpectedRecord)
}

// closePeer notes close_notify. Before the handshake is done there is nothing
// left to do on the connection.
func (c *Conn) closePeer() {
	c.peerClosed = true
	c.messages.Release()
	if c.state < stateEstablished {
		c.endHandshake()
	}
}

// countEmpty bounds records that carry nothing.
func (c *Conn) countEmpty() *Error {
	if c.empties++; c.empties > emptiesMax {
		return refuse(ReasonTooManyEmptyRecords)
	}
	return nil
}

// skipping reports whether records that do not open are early data.
func (c *Conn) skipping() bool { return c.hs != nil && c.hs.skipping }

func (c *Conn) stopSkipping() {
	if c.hs != nil {
		c.hs.skipping = false
	}
}

// skipEarlyData drops n bytes of early data, within the limit.
func (c *Conn) skipEarlyData(n int) *Error {
	hs := c.hs
	if !c.info.EarlyData {
		return refuse(ReasonUnexpectedRecord)
	}
	if n == 0 {
		return c.countEmpty()
	}
	if hs.skipped += n; hs.skipped > c.cfg.earlyDataSkipMax() {
		return refuse(ReasonEarlyDataTooLong)
	}
	return nil
}
