package gateway

import (
	"edge/proxy/coding"
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// coder is the compression of one answer.
type coder struct {
	c       *conn
	x       *exchange // nil: it is over
	encoder *coding.Encoder
	listed  bool           // on the worker's list
	trailer httpmsg.Header // follows the body
	length  int64          // of the body as it was; -1: not known
	file    []byte         // a piece of a file, which is being read
}

// share is how many of n bytes may be coded now. Where there is no share left, the
// coder's turn comes.
func (k *coder) share(n int) int {
	z := k.c.w.compress
	if z.left <= 0 {
		z.list(k)
		return 0
	}
	return min(n, coding.PieceBytesMax)
}

// spend takes n bytes off the turn's share.
func (k *coder) spend(n int) { k.c.w.compress.left -= n * k.encoder.Cost() }

// code codes a piece of the body, at most what share gave; false: the coder failed,
// and the answer cannot go on.
func (k *coder) code(p []byte) bool {
	if err := k.encoder.Write(p); err != nil {
		return k.failed(err)
	}
	k.c.drainCoder(k.x)
	if k.encoder.Holds() {
		k.c.w.compress.list(k)
	}
	return true
}

func (k *coder) failed(err error) bool {
	k.c.w.server.log.limited("compress", "compressing an answer: %v", err)
	return false
}

// drainCoder moves coded bytes into the output; false: some have no room.
func (c *conn) drainCoder(x *exchange) (drained bool) {
	e := x.coder.encoder
	for e.Pending() > 0 {
		n := c.streamRoom(x, e.Pending(), int64(e.Pending()))
		if n <= 0 {
			return false
		}
		c.putStream(x, e.Output()[:n])
		e.Take(n)
	}
	return true
}

// codingRoom is how many of n bytes of an application can be coded now.
func (c *conn) codingRoom(x *exchange, n int) int {
	if !c.drainCoder(x) {
		return 0
	}
	return x.coder.share(n)
}

// endCodedStream ends the body that an application sent.
func (c *conn) endCodedStream(x *exchange, trailer *httpmsg.Header) {
	k := x.coder
	for i := range trailer.Fields {
		f := &trailer.Fields[i]
		k.trailer.AddBytes(string(f.Name), f.Value)
	}
	coding.DropDigests(&k.trailer)
	if err := k.encoder.Close(); err != nil {
		k.failed(err)
		c.abort()
		return
	}
	c.endCoded(x)
}

// endCoded puts out what is left of a body that was closed, and its end; false:
// there is no room yet.
func (c *conn) endCoded(x *exchange) (done bool) {
	if !c.drainCoder(x) {
		return false
	}
	if x.chunked {
		c.w.scratch = http1.AppendLastChunk(c.w.scratch[:0], &x.coder.trailer)
		if !c.room(c.wireSize(len(c.w.scratch))) {
			return false
		}
		c.write(c.w.scratch)
	}
	x.streamEnd = true
	x.resp.Bytes, x.resp.File = nil, -1
	c.w.dropCoder(x)
	c.w.markDirty(c)
	return true
}

// pumpCoded goes on with what waited for room: coded bytes first, then those of the
// application, which may be through.
func (c *conn) pumpCoded(x *exchange) {
	switch {
	case x.up == nil:
		c.endCoded(x)
	case c.drainCoder(x):
		x.up.pump()
	}
}

// codingGoesOn is k's turn, at the end of the worker's.
func (c *conn) codingGoesOn(k *coder) {
	x := k.x
	c.produce()
	if k.x == x && k.encoder.Holds() && x.up != nil && !x.up.waits() {
		if err := k.encoder.Flush(); err != nil {
			k.failed(err)
			c.abort()
			return
		}
		c.drainCoder(x)
		c.streamed()
	}
	c.resume()
}

// putCoded puts out a body in memory or in a file; false: there is more.
func (c *conn) putCoded(x *exchange) (done bool) {
	k := x.coder
	for c.drainCoder(x) {
		left := k.length - x.at
		if left == 0 {
			if err := k.encoder.Close(); err != nil {
				k.failed(err)
				c.abort()
				return false
			}
			return c.endCoded(x)
		}
		n := k.share(int(min(left, coding.PieceBytesMax)))
		switch {
		case n == 0:
			return false
		case x.resp.Bytes == nil:
			c.readCoded(x, n)
			return false
		}
		k.spend(n)
		at := x.at
		x.at += int64(n)
		if !k.code(x.resp.Bytes[at:x.at]) {
			c.abort()
			return false
		}
	}
	return false
}

// readCoded reads n bytes of a file to be coded. The share is taken now: what was
// read does not wait.
func (c *conn) readCoded(x *exchange, n int) {
	k := x.coder
	if k.file = c.w.outBuffer(n); k.file == nil {
		c.w.starve(c)
		return
	}
	k.spend(n)
	c.filling = true
	c.w.iov = append(c.w.iov[:0], k.file[:n:n])
	c.w.r.ReadFile(c.sock, x.resp.File, c.w.iov, x.resp.Off+x.at)
}

// codedRead codes the n bytes that were read.
func (c *conn) codedRead(x *exchange, n int) {
	k := x.coder
	c.filling = false
	p := k.file[:n]
	if x.resp.Entry >= 0 {
		c.keepPiece(x, p, k.length)
	}
	x.at += int64(n)
	ok := k.code(p)
	c.w.r.Buffers().Put(k.file)
	k.file = nil
	if !ok {
		c.abort()
		return
	}
	c.produce()
	c.resume()
}
