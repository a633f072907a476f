package tlsstack

import (
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// updateBudget bounds KeyUpdates that bring nothing: each costs us a key
// schedule. A peer may send updatesMax in a row; application data refills the
// budget whole, and every second one of it. So no number of updates over the
// life of a connection that is used, or that updates now and then, is too many.
type updateBudget struct {
	used uint8
	last int64 // Unix seconds of the last refill
}

// updatesMax is the most KeyUpdates in a row.
const updatesMax = 32

func (b *updateBudget) reset() { b.used = 0 }

// take takes one update from the budget; false when there is none left.
func (b *updateBudget) take(now time.Time) bool {
	seconds := now.Unix()
	if passed := seconds - b.last; passed > 0 {
		b.used -= uint8(min(passed, int64(b.used)))
		b.last = seconds
	}
	if b.used >= updatesMax {
		return false
	}
	b.used++
	return true
}

// keyUpdate takes a KeyUpdate (RFC 9846, 4.7.3): the peer's next record is under
// its next key, and if it asks for it, so is ours.
func (c *Conn) keyUpdate(now time.Time, msg []byte) *Error {
	requested, err := wire.ParseKeyUpdate(msg)
	if err != nil {
		return refuseMessage(err)
	}
	if e := c.atKeyChange(); e != nil {
		return e
	}
	if !c.updates.take(now) {
		return refuse(ReasonKeyUpdateFlood)
	}
	var t keys.Traffic
	t.Update(c.suite, &c.inSecret)
	c.in.SetKey(t.Key())
	// One answer serves all requests that came before it is sent; after our
	// close_notify there is nothing left to protect.
	if requested && !c.updateDue && !c.closed {
		c.updateDue = true
		c.updateWriteKey()
	}
	return nil
}

// UpdateKey changes the write key: it queues a KeyUpdate. The connection must be
// established and not closed by us. Sealing does this by itself in time.
func (c *Conn) UpdateKey() {
	c.mustSeal()
	c.updateWriteKey()
}

// updateWriteKey queues a KeyUpdate under the old key and goes on with the next.
func (c *Conn) updateWriteKey() {
	var msg [wire.HeaderBytes + 1]byte
	wire.AppendKeyUpdate(msg[:0], false)
	out := c.queue()
	c.output.b = c.out.SealAppend(out, record.Handshake, msg[:])
	var t keys.Traffic
	t.Update(c.suite, &c.outSecret)
	c.out.SetKey(t.Key())
}

// sealedAll is called after each sealed record: it changes keys when the current
// one has sealed what it may (RFC 9846, 5.5).
func (c *Conn) sealedAll() {
	limit := c.suite.SealsMax
	if own := c.cfg.RecordsPerKeyMax; own != 0 && own < limit {
		limit = own
	}
	if c.out.Sequence() >= limit {
		c.updateWriteKey()
	}
}
