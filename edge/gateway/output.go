package gateway

import (
	"edge/edge/reactor"
	"edge/tlsstack"
)

const (
	// outBytesMax is the most output one connection holds: one buffer being put
	// together and one with the kernel. It takes a 100 KB answer in sealed
	// records, so that it goes out in one system call.
	outBytesMax = reactor.BufferBytesMax

	// outHighWater is where a connection stops to take further requests.
	outHighWater = outBytesMax / 2

	// inputHeldMax is where reading is paused while an answer is in progress.
	inputHeldMax = 16 << 10

	// sendAtOnceLeast is the least output that is worth a system call of its own:
	// what is smaller waits for the end of the turn and goes out with the rest. A
	// body in memory is sealed and written in pieces of this size, which stay in
	// the cache between the two: 100 KB in one piece cost a quarter more.
	sendAtOnceLeast = 48 << 10

	// outPieceBytes is the buffer for such a piece: it and one record more.
	outPieceBytes = sendAtOnceLeast + 16<<10

	// fillSpare is left free behind a file's records for what the TLS machine
	// wants to say meanwhile: an alert, a KeyUpdate.
	fillSpare = 512
)

// room makes c.out able to take n bytes more, behind what the TLS machine wants
// sent: that was sealed before, so it goes first, or nothing goes. It is false when
// they do not fit until what is there was sent, or until others give memory back; the
// connection is then woken by Sent or by the worker.
func (c *conn) room(n int) bool {
	first := 0
	if c.on.tls {
		first = c.tls.OutputLen()
	}
	if !c.space(first + n) {
		return false
	}
	if first > 0 {
		c.out = c.tls.AppendOutput(c.out)
	}
	return true
}

// space makes c.out able to take n bytes more.
func (c *conn) space(n int) bool {
	need := len(c.out) + n
	if need <= cap(c.out) {
		return true
	}
	if need > outBytesMax {
		return false
	}
	b := c.w.outBuffer(need)
	if b == nil {
		c.w.starve(c)
		return false
	}
	if c.out != nil {
		b = append(b, c.out...)
		c.release(&c.out)
	}
	c.out = b
	return true
}

// outBuffer gives a buffer for n bytes of output; nil when memory is short. Large
// ones leave a share of the budget alone: what arrives must be kept somewhere
// even while many answers wait for slow readers.
func (w *worker) outBuffer(n int) []byte {
	if n > inputHeldMax && w.r.Buffers().Available() <= w.inputReserve {
		return nil
	}
	return w.r.Buffers().Get(n)
}

// tight says that memory runs low. A connection then waits for its Send before it
// puts more together: a reader that is slow needs no second buffer, and many such
// readers would keep everybody else waiting.
func (w *worker) tight() bool { return w.r.Buffers().Available() <= w.tightBelow }

// tightShare is the share of the buffer budget, as a divisor, below which it runs
// low.
const tightShare = 2

// inputShare is the share of the buffer budget, as a divisor, that large output
// leaves for input.
const inputShare = 16

// record is a record that is being written at the end of c.out.
type record struct{ start int }

// beginRecord leaves room for a record's header. Without TLS a record is nothing
// but its bytes.
func (c *conn) beginRecord() record {
	start := len(c.out)
	if c.on.tls {
		c.out = c.out[:start+tlsstack.RecordPrefix]
	}
	return record{start}
}

// endRecord seals what was appended since beginRecord.
func (c *conn) endRecord(r record) {
	if !c.on.tls {
		return
	}
	n := len(c.out) - r.start - tlsstack.RecordPrefix
	sealed := c.tls.SealInPlace(c.out[r.start:cap(c.out)], n)
	c.out = c.out[:r.start+len(sealed)]
}

// overhead is what a record costs beside its bytes.
func (c *conn) overhead() int {
	if c.on.tls {
		return tlsstack.RecordOverhead
	}
	return 0
}

// recordMax is the most plaintext one record takes.
func (c *conn) recordMax() int {
	if c.on.tls {
		return c.tls.PlaintextMax()
	}
	return outBytesMax
}

// wireSize is the most bytes that n bytes of plaintext take on the wire: between two
// records the key may have to be changed.
func (c *conn) wireSize(n int) int {
	max := c.recordMax()
	size := n + (n+max-1)/max*c.overhead()
	if n > max {
		size += tlsstack.KeyUpdateBytes
	}
	return size
}

// plainFitting is the number of plaintext bytes that fit into n on the wire.
func (c *conn) plainFitting(n int) int {
	if !c.on.tls {
		return max(n, 0)
	}
	full := c.recordMax() + tlsstack.RecordOverhead
	if n > full {
		n = max(n-tlsstack.KeyUpdateBytes, full)
	}
	fit := n / full * c.recordMax()
	if tail := n%full - tlsstack.RecordOverhead; tail > 0 {
		fit += tail
	}
	return max(fit, 0)
}

// write appends p in as many records as it takes; the caller has made room.
func (c *conn) write(p []byte) {
	if c.on.tls {
		c.out = c.tls.SealAppend(c.out, p)
		return
	}
	c.out = append(c.out, p...)
}

// takeTLSOutput appends what the TLS machine wants sent: its flight, alerts,
// tickets, KeyUpdates. They were sealed in this order, so they go first.
func (c *conn) takeTLSOutput() {
	if c.on.tls && !c.filling && c.tls.HasOutput() {
		c.room(0)
	}
}

// notifyClose appends close_notify, once, when there is room.
func (c *conn) notifyClose() {
	if c.on.tls && !c.notified && c.room(closeNotifyBytesMax) {
		c.out = c.tls.AppendCloseNotify(c.out)
		c.notified = true
	}
}

// closeNotifyBytesMax is the size of an alert record.
const closeNotifyBytesMax = tlsstack.RecordOverhead + 2

// flush sends what is there. The worker calls it at the end of a turn, so all
// that became ready in the turn goes out together.
func (c *conn) flush() {
	c.dirty = false
	if c.stage >= stageLingering || c.sending != nil {
		return
	}
	c.takeTLSOutput()
	if c.filling {
		return
	}
	if c.stage == stageClosing {
		c.notifyClose()
	}
	if len(c.out) == 0 {
		if c.stage == stageClosing && !c.starved {
			c.linger()
		}
		return
	}
	c.send()
}

// send starts the Send of what is there.
func (c *conn) send() {
	c.sending, c.sentAlready, c.out = c.out, 0, nil
	c.startSend()
}

func (c *conn) startSend() {
	if c.stage >= stageOpen {
		c.setTimer(timerWrite)
	}
	c.w.r.Send(c.sock, c.sending[c.sentAlready:])
}

// sendAtOnce writes a large output while the cache still holds it, so that the
// next connection can seal into the same memory. What the kernel does not take
// goes the usual way; true: it took all.
func (c *conn) sendAtOnce() bool {
	n := c.w.r.TrySend(c.sock, c.out)
	if n == len(c.out) {
		c.unsent = 0
		c.release(&c.out)
		return true
	}
	c.sending, c.sentAlready, c.out = c.out, n, nil
	c.startSend()
	return false
}

// wasSent implements endpoint: it goes on after a Send.
func (c *conn) wasSent(err error) {
	c.unsent = 0
	c.release(&c.sending)
	if c.stage == stageClosed {
		return
	}
	if err != nil {
		c.abort()
		return
	}
	c.produce()
	switch {
	case c.stage >= stageClosed:
	case len(c.out) > 0 || c.stage == stageClosing || c.on.tls && c.tls.HasOutput():
		c.w.markDirty(c)
	case c.stage == stageOpen && c.x == nil:
		c.waitForRequest()
	case c.stage == stageOpen && c.x.holding:
		c.setTimer(timerBody) // the client was told to send it
	case c.stage == stageOpen && c.x.routes != nil:
		c.waitProxied()
	case c.stage == stageOpen && c.x.headDone && !c.x.bodyEnd:
		c.setTimer(timerBody) // answered early: the rest of the request is awaited
	}
	c.resume()
}

// fill is a read of file bytes into the tail of c.out.
type fill struct {
	start int // of the first record in c.out
	bytes int // asked for
}

// startFill reads up to left bytes of the exchange's file into record-shaped
// slots at the end of c.out. The records are sealed where they are once the
// bytes came.
func (c *conn) startFill(fd int, off, left int64) bool {
	want := int(min(left, int64(outBytesMax)))
	size := min(c.wireSize(want), outBytesMax-len(c.out)-fillSpare)
	if size < fillLeast && c.wireSize(want) > size || c.sending != nil && c.w.tight() {
		return false // what is there goes out first
	}
	if !c.room(size + fillSpare) {
		return false
	}
	n := min(c.plainFitting(size), want, slotsMax*c.recordMax())
	c.fill = fill{len(c.out), n}
	c.filling = true
	c.w.r.ReadFile(c.sock, fd, c.slots(len(c.out), n), off)
	return true
}

// slotsMax is the most pieces of memory one ReadFile takes.
const slotsMax = reactor.FileBuffersMax

// fillLeast is the least worth a read when more is wanted.
const fillLeast = 32 << 10

// slots cuts c.out from at on into the places of n plaintext bytes. It is valid
// until the next call.
func (c *conn) slots(at, n int) [][]byte {
	iov := c.w.iov[:0]
	whole := c.out[:cap(c.out)]
	for n > 0 {
		k := min(n, c.recordMax())
		if c.on.tls {
			at += tlsstack.RecordPrefix
		}
		iov = append(iov, whole[at:at+k:at+k])
		at += k
		if c.on.tls {
			at += tlsstack.RecordOverhead - tlsstack.RecordPrefix
		}
		n -= k
	}
	c.w.iov = iov
	return iov
}

// endFill seals the n bytes that were read; false: what the TLS machine has to
// say does not fit in between.
func (c *conn) endFill(n int) bool {
	c.filling = false
	start := c.fill.start
	for left := n; left > 0; {
		if c.on.tls && c.tls.HasOutput() {
			moved := c.makeWay(start, left)
			if moved < 0 {
				return false
			}
			start += moved
		}
		k := min(left, c.recordMax())
		if c.on.tls {
			start += len(c.tls.SealInPlace(c.out[start:cap(c.out)], k))
		} else {
			start += k
		}
		left -= k
	}
	c.out = c.out[:start]
	return true
}

// makeWay moves the slots of n plaintext bytes at start, and puts in front of
// them what the TLS machine wants sent before they are sealed. It returns how
// far they moved, -1 if there is no space.
func (c *conn) makeWay(start, n int) int {
	t := c.tls.OutputLen()
	end := start + c.wireSize(n)
	whole := c.out[:cap(c.out)]
	if end+t > len(whole) {
		return -1
	}
	copy(whole[start+t:], whole[start:end])
	c.tls.AppendOutput(whole[:start])
	return t
}
