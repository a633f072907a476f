package gateway

import (
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// produce puts out as much of the answer as there is room for. It is called
// again by Sent, by FileRead, and when memory comes free.
func (c *conn) produce() {
	if c.x != nil && c.x.routes != nil {
		c.pumpUpstream()
		return
	}
	for c.x != nil && !c.x.deciding && !c.filling && !c.starved && c.stage == stageOpen {
		done := c.put(c.x)
		c.w.markDirty(c)
		sent := false
		if len(c.out) >= sendAtOnceLeast && c.sending == nil && !c.filling && c.stage == stageOpen {
			sent = c.sendAtOnce()
		}
		if done {
			c.answered()
			return
		}
		if !sent {
			return
		}
	}
}

// put appends what there is room for; true: it was the last of the answer.
func (c *conn) put(x *exchange) bool {
	c.takeTLSOutput()
	if x.routes != nil {
		return x.streamEnd
	}
	return (x.headDone || c.putHead(x)) && c.putBody(x)
}

// answered ends the exchange, once the request was read to its end too.
func (c *conn) answered() {
	if x := c.x; x.bodyEnd || x.resp.Close {
		c.endExchange()
	}
}

// retry goes on after a wait for a buffer.
func (c *conn) retry() {
	c.produce()
	c.w.markDirty(c)
	c.resume()
}

// endExchange goes on to the next request, or to the end of the connection. A
// drain that began meanwhile does not end it: the client was not told, and may
// have its next request on the way.
func (c *conn) endExchange() {
	x := c.x
	last := x.resp.Close
	c.x = nil
	c.w.endExchange(c, x)
	switch {
	case last:
		c.finish()
	case len(c.out) > 0:
		c.unsent++
	case c.sending == nil:
		c.waitForRequest() // all of it is sent, and no Send will say so
	}
}

// putHead writes the head, and as much of a body in memory as shares its record.
func (c *conn) putHead(x *exchange) bool {
	head := headBytes(&x.resp)
	body := c.bodyLeft(x)
	if !c.room(c.headRoom(head, body)) {
		return false
	}
	if head > c.recordMax() {
		return c.putLongHead(x)
	}
	r := c.beginRecord()
	start := len(c.out)
	c.out = c.appendHead(c.out, x)
	if x.resp.Bytes != nil && !x.resp.NoBody && x.coder == nil {
		n := min(len(x.resp.Bytes), c.recordMax()-(len(c.out)-start), cap(c.out)-len(c.out)-c.overhead())
		c.out = append(c.out, x.resp.Bytes[:n]...)
		x.advance(n)
	}
	c.endRecord(r)
	x.headDone = true
	return true
}

// appendHead appends the response head, and notes what it says about the end of
// the connection.
func (c *conn) appendHead(dst []byte, x *exchange) []byte {
	dst, framing := http1.AppendResponseHead(dst, &x.resp, c.w.date.At(c.w.r.Wall()), x.req.Minor, x.req.KeepAlive)
	x.resp.Close = x.resp.Close || framing.Close
	return dst
}

// headBytes is at least the size of the response's head on the wire.
func headBytes(resp *httpmsg.Response) int {
	n := headBytesLeast
	for i := range resp.Header.Fields {
		f := &resp.Header.Fields[i]
		n += len(f.Name) + len(f.Value) + len(": \r\n")
	}
	return n
}

// headBytesLeast is more than the status line and the fields that http1 adds
// take: Date, Content-Length or Transfer-Encoding, Connection.
const headBytesLeast = 256

// headRoom is the buffer to ask for: all of the answer when it fits into a piece,
// so that it goes out in one Send, else a piece.
func (c *conn) headRoom(head int, body int64) int {
	free := outPieceBytes - len(c.out)
	if body <= int64(free) {
		if n := c.wireSize(head + int(body)); n <= free {
			return n
		}
	}
	return min(c.wireSize(head+int(min(body, outBytesMax))), max(free, c.wireSize(head)+c.overhead()))
}

// putLongHead writes a head that takes more than one record: the peer asked for
// small ones (RFC 8449).
func (c *conn) putLongHead(x *exchange) bool {
	c.w.scratch = c.appendHead(c.w.scratch[:0], x)
	if !c.room(c.wireSize(len(c.w.scratch))) {
		return false
	}
	c.write(c.w.scratch)
	x.headDone = true
	return true
}

// bodyLeft is the number of body bytes still to be put out.
func (c *conn) bodyLeft(x *exchange) int64 {
	if x.resp.NoBody || x.resp.ContentLength <= 0 {
		return 0
	}
	return x.resp.ContentLength - x.at
}

// putBody puts out body bytes; false: there are more.
func (c *conn) putBody(x *exchange) bool {
	switch {
	case x.resp.NoBody:
		return true
	case x.coder != nil:
		return c.putCoded(x)
	case len(x.resp.Parts) > 0:
		return c.putParts(x)
	case x.resp.Bytes != nil:
		return c.putBytes(x, x.resp.Bytes)
	case x.resp.File >= 0:
		return c.putFile(x, x.resp.Off, x.resp.ContentLength)
	}
	return true
}

// putBytes puts out b from x.at on.
func (c *conn) putBytes(x *exchange, b []byte) bool {
	for left := b[x.at:]; len(left) > 0; left = b[x.at:] {
		n := min(len(left), c.recordMax())
		if size := c.wireSize(n); len(c.out)+size > outBytesMax {
			if n = c.plainFitting(outBytesMax - len(c.out)); n < bodyPieceLeast {
				return false
			}
			n = min(n, len(left))
		}
		if !c.room(c.wireSize(n)) {
			return false
		}
		c.write(left[:n])
		x.advance(n)
		if n < len(left) && len(c.out) >= sendAtOnceLeast && c.sending == nil {
			return false // this piece goes out first
		}
	}
	return true
}

// bodyPieceLeast is the least worth a record of its own when more is to come.
const bodyPieceLeast = 4 << 10

// putFile reads what is left of length bytes at off into the output.
func (c *conn) putFile(x *exchange, off, length int64) bool {
	if x.at == length {
		return true
	}
	c.startFill(x.resp.File, off+x.at, length-x.at)
	return false
}

// putParts puts out the pieces of a multipart body, one after the other.
func (c *conn) putParts(x *exchange) bool {
	for ; x.part < len(x.resp.Parts); x.part++ {
		p := &x.resp.Parts[x.part]
		done := false
		if p.Bytes != nil {
			done = c.putBytes(x, p.Bytes)
		} else {
			done = c.putFile(x, p.Off, p.Length)
		}
		if !done {
			return false
		}
		x.at = 0
	}
	return true
}

// fileRead goes on after a ReadFile.
func (c *conn) fileRead(n int, err error) {
	x := c.x
	if c.stage >= stageClosing { // the connection ended meanwhile
		c.filling = false
		c.dropExchange()
		c.w.markDirty(c)
		return
	}
	stale, reason := false, "it ends before its end"
	if err != nil {
		reason = err.Error()
	} else if n > 0 {
		stale, reason = x.gen.site.Stale()
	}
	if err != nil || n == 0 || stale {
		c.filling = false
		c.cutShort(x, reason)
		return
	}
	if x.coder != nil {
		c.codedRead(x, n)
		return
	}
	if x.resp.Entry >= 0 {
		c.keepFill(x, n)
	}
	if !c.endFill(n) {
		c.abort()
		return
	}
	x.advance(n)
	c.produce()
	c.resume()
}

// cutShort ends an answer whose bytes cannot be had as they were indexed. The
// client sees a message that is not complete (RFC 9112, 8).
func (c *conn) cutShort(x *exchange, reason string) {
	c.w.stats.cutShort.Add(1)
	x.cut = true
	c.w.server.log.limited("cut short", "%s: %s: an answer was cut short; replace a site by renaming a new file over it, then reload",
		x.gen.site.Name(), reason)
	c.abort()
}

// keepFill collects what was read, before it is sealed in place, of a file that
// the site wants to keep in memory.
func (c *conn) keepFill(x *exchange, n int) {
	for _, s := range c.slots(c.fill.start, n) {
		c.keepPiece(x, s[:cap(s)], x.resp.ContentLength)
	}
}

// keepPiece collects a piece of a file of that length, and gives the site all of it.
func (c *conn) keepPiece(x *exchange, p []byte, length int64) {
	if x.keep == nil {
		x.keep = make([]byte, 0, length)
	}
	x.keep = append(x.keep, p...)
	if int64(len(x.keep)) == length {
		x.gen.site.Keep(x.resp.Entry, x.keep)
		x.keep = nil
	}
}
