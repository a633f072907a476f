package tlsstack

import (
	"io"
	"sync"
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// Conn is the server side of one TLS 1.3 connection. It is a value to embed;
// Init makes it ready, again and again. What only the handshake needs is held
// apart and given back when the handshake is done, so that an established
// connection holds its two traffic keys and little else.
//
// A Conn is not safe for concurrent use. The order of bytes on the wire is the
// order of the calls that produced them: what AppendOutput returns goes out
// before anything sealed after it.
type Conn struct {
	cfg  *Config
	rand io.Reader

	in, out             record.Direction
	inSecret, outSecret keys.Secret // application traffic; what KeyUpdate goes on from
	suite               *keys.Suite

	hs       *handshake // nil before and after the handshake
	output   *outputBuf // nil when there is nothing to send
	messages record.Reassembler
	err      *Error
	info     Info

	need       int32  // see NeedBytes
	sealMax    uint16 // most plaintext in a record sent (RFC 8449)
	state      state
	peerClosed bool // close_notify received
	closed     bool // close_notify sent
	updateDue  bool // a KeyUpdate answer is in output, unsent
	resting    bool // see Rest
	warnings   uint8
	empties    uint8
	ccs        uint8
	updates    updateBudget
}

// outputBuf is a pooled buffer of records that wait to be sent.
type outputBuf struct{ b []byte }

var outputPool = sync.Pool{New: func() any { return new(outputBuf) }}

// outputKeepMax is the largest buffer kept in the pool, in bytes.
const outputKeepMax = 16 << 10

// Init makes c ready for a new connection with cfg. rand is the source of
// randomness of the whole connection; it must not block.
func (c *Conn) Init(cfg *Config, rand io.Reader) {
	c.Release()
	*c = Conn{cfg: cfg, rand: rand, need: record.HeaderLen, sealMax: uint16(cfg.sendPlaintextMax())}
}

// beginHandshake takes the handshake state, and with it the message buffer, at
// the first handshake record: a client that says nothing costs nothing.
func (c *Conn) beginHandshake() {
	c.hs = newHandshake()
	c.messages, c.hs.buffer = c.hs.buffer, record.Reassembler{}
}

// Release gives back what the connection holds and forgets its keys. The Conn
// must be initialised before it is used again. A connection that is abandoned in
// any state may be released, or left to the collector.
func (c *Conn) Release() {
	c.endHandshake()
	if c.output != nil {
		c.dropOutput()
	}
	*c = Conn{}
}

// endHandshake gives the handshake state back, and with it the message buffer.
func (c *Conn) endHandshake() {
	if c.hs == nil {
		return
	}
	c.hs.buffer, c.messages = c.messages, record.Reassembler{}
	c.hs.release()
	c.hs = nil
}

// Info returns what is known about the connection; see Info for when.
func (c *Conn) Info() *Info { return &c.info }

// Err returns why the connection failed, nil if it has not.
func (c *Conn) Err() *Error { return c.err }

// HasOutput reports whether AppendOutput has anything to give.
func (c *Conn) HasOutput() bool { return c.output != nil }

// OutputLen returns the number of bytes that AppendOutput will append.
func (c *Conn) OutputLen() int {
	if c.output == nil {
		return 0
	}
	return len(c.output.b)
}

// AppendOutput appends the records that wait to be sent: handshake messages,
// tickets, answers to KeyUpdate, alerts.
func (c *Conn) AppendOutput(dst []byte) []byte {
	if c.output == nil {
		return dst
	}
	dst = append(dst, c.output.b...)
	c.dropOutput()
	c.updateDue = false
	return dst
}

// queue returns the output to append to; store the grown slice back with
// c.output.b = … .
func (c *Conn) queue() []byte {
	if c.output == nil {
		c.output = outputPool.Get().(*outputBuf)
	}
	return c.output.b
}

func (c *Conn) dropOutput() {
	o := c.output
	c.output = nil
	if cap(o.b) > outputKeepMax {
		return
	}
	o.b = o.b[:0]
	outputPool.Put(o)
}

// fail ends the connection with e and queues its alert. It returns c.err, which
// is the first error.
func (c *Conn) fail(e *Error) error {
	if c.err != nil {
		return c.err
	}
	c.err = e
	c.state = stateFailed
	if e.Origin != Peer && !c.closed {
		c.wake()
		b := c.queue()
		c.output.b = c.appendAlert(b, alertLevelFatal, e.Alert)
	}
	c.in, c.out = record.Direction{}, record.Direction{}
	c.endHandshake()
	c.messages.Release()
	return e
}

// ReceiveEOF tells the connection that the peer's stream ended. It returns nil
// when close_notify came before, and otherwise an error of ReasonTruncated:
// what was received may not be all that was sent (RFC 9846, 6.1).
func (c *Conn) ReceiveEOF() error {
	if c.err != nil {
		return c.err
	}
	if c.peerClosed {
		return nil
	}
	e := refuse(ReasonTruncated)
	e.Origin = Peer
	return c.fail(e)
}

// PlaintextMax returns the most plaintext bytes that one record to this client
// may carry: 16,384, or less if the client asked for less (RFC 8449).
func (c *Conn) PlaintextMax() int { return int(c.sealMax) }

// SealAppend appends plain to dst in as many records as it needs; nothing for an
// empty plain. Output that waits goes in front, and between two records there may
// be KeyUpdateBytes; HasOutput may be true afterwards. The connection must be
// established and not closed by us.
func (c *Conn) SealAppend(dst, plain []byte) []byte {
	c.mustSeal()
	for len(plain) > 0 {
		dst = c.AppendOutput(dst)
		n := min(len(plain), int(c.sealMax))
		dst = c.out.SealAppend(dst, record.ApplicationData, plain[:n])
		plain = plain[n:]
		c.sealedAll()
	}
	return dst
}

// SealInPlace makes one record of the n bytes at rec[RecordPrefix:]; rec has room
// for n+RecordOverhead bytes. n is at most PlaintextMax(). The record is
// returned and aliases rec. The connection must be established, not closed by
// us, and HasOutput must be false; it may be true afterwards.
func (c *Conn) SealInPlace(rec []byte, n int) []byte {
	c.mustSeal()
	if c.output != nil {
		panic("BUG: tlsstack: sealing past output that waits")
	}
	if n > int(c.sealMax) {
		panic("BUG: tlsstack: record longer than the client takes")
	}
	rec = c.out.SealInPlace(rec, record.ApplicationData, n)
	c.sealedAll()
	return rec
}

// mustSeal checks that application data may be sent.
func (c *Conn) mustSeal() {
	if c.state != stateEstablished || c.closed {
		panic("BUG: tlsstack: sealing on a connection that cannot send")
	}
	c.wake()
}

// Rest gives back the expanded keys of an established connection, some 1.5 KB
// with AES. They are made again, for a few microseconds, at the next record in
// either direction: worth it for a connection that has been idle for a while.
// It does nothing in other states.
func (c *Conn) Rest() {
	if c.state == stateEstablished {
		c.in.Rest()
		c.out.Rest()
		c.resting = true
	}
}

// wake undoes Rest.
func (c *Conn) wake() {
	if !c.resting {
		return
	}
	c.resting = false
	var t keys.Traffic
	t.Load(c.suite, &c.inSecret)
	in, _ := t.Key()
	t.Load(c.suite, &c.outSecret)
	out, _ := t.Key()
	c.in.Wake(in)
	c.out.Wake(out)
}

// CanSeal reports whether application data may be sent.
func (c *Conn) CanSeal() bool { return c.state == stateEstablished && !c.closed }

// AppendCloseNotify appends the output that waits and close_notify: nothing may
// be sealed afterwards, receiving goes on. It appends no second one, and none on
// a connection that failed.
func (c *Conn) AppendCloseNotify(dst []byte) []byte {
	dst = c.AppendOutput(dst)
	if c.closed || c.err != nil {
		return dst
	}
	c.wake()
	c.closed = true
	return c.appendAlert(dst, alertLevelWarning, wire.AlertCloseNotify)
}

// Continue goes on after WaitDecision: it negotiates, and queues a
// HelloRetryRequest or the whole server flight. now is the time of day.
func (c *Conn) Continue(now time.Time) error {
	if c.state != stateDecision {
		panic("BUG: tlsstack: Continue without a decision to make")
	}
	if e := c.answerHello(now); e != nil {
		return c.fail(e)
	}
	return nil
}

// Refuse ends the connection with an alert after WaitDecision. It returns the
// error for the log.
func (c *Conn) Refuse(alert wire.Alert) error {
	e := refuse(ReasonRefused)
	e.Alert = alert
	return c.fail(e)
}
