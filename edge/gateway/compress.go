package gateway

import (
	"fmt"
	"time"

	"edge/proxy/coding"
	"edge/proxy/httpmsg"
)

// Compression (--compress) of an answer, after its programs have run:
//
//	application ─► upstream.takeBody ─┐
//	memory, file ─► conn.putCoded ────┴► coder ─► chunks in the client's output
//
// What an application sends is flushed at the end of the turn in which nothing more
// of it came: an event is not held back, and a body that arrives at full speed is
// coded in whole blocks. What has no room in the output stays in the coder, which
// takes nothing meanwhile; so the application is paused as without compression.

// compressor is one worker's share of compression.
type compressor struct {
	policy   *coding.Policy
	pool     *coding.Pool
	listed   []*coder // to be looked at at the end of the turn
	idle     []*coder // to use again
	left     int      // bytes that may still be coded in this turn
	trimming bool     // a Trim is due
}

const (
	// codedTurnBytes is about how many bytes of answers a turn codes, all
	// connections together: half a millisecond that the others wait.
	codedTurnBytes = 64 << 10

	// codersTrimTime is how long encoders that a burst has left behind are kept: half of
	// them each time.
	codersTrimTime = 10 * time.Second
)

// setUpCompress reads what --compress and its like say.
func (s *server) setUpCompress() (err error) {
	if len(s.cfg.Compress) == 0 {
		return nil
	}
	if s.coding, err = coding.NewPolicy(s.cfg.Compress, s.cfg.CompressTypes, s.cfg.CompressMinBytes); err != nil {
		return fmt.Errorf("--compress-types: %w", err)
	}
	return nil
}

// newCompressor makes a worker's compressor; nil without --compress.
func newCompressor(s *server) *compressor {
	if s.coding == nil {
		return nil
	}
	return &compressor{policy: s.coding, pool: coding.NewPool(s.cfg.Limits.Compressed), left: codedTurnBytes}
}

// compressRequest prepares a request for an application whose answers may be
// compressed.
func (z *compressor) compressRequest(req *httpmsg.Request) {
	if z.policy.Accepts(req) {
		coding.RestoreIfMatch(&req.Header)
	}
}

// compressAnswer decides whether x's answer, whose fields are final but for what is
// done here, is compressed. It does so once.
func (c *conn) compressAnswer(x *exchange) {
	z := c.w.compress
	if x.judged {
		return
	}
	x.judged = true
	verdict, which := z.policy.Judge(&x.req, &x.resp)
	if verdict == coding.Leave {
		coding.Revalidate(&x.req, &x.resp)
		return
	}
	coding.AddVary(&x.resp.Header)
	if verdict != coding.Code {
		return
	}
	if !x.resp.NoBody {
		e := z.pool.Get(which)
		if e == nil {
			c.w.server.log.limited("compress", "%d answers are being compressed, as many as --max-compressed allows: others go out as they are", z.pool.InUse())
			return
		}
		x.coder = z.newCoder()
		*x.coder = coder{c: c, x: x, encoder: e, trailer: x.coder.trailer, length: x.resp.ContentLength}
		x.chunked = true // Judge leaves HTTP/1.0 alone
	}
	coding.Announce(&x.resp.Header, which)
	x.resp.ContentLength = -1
}

func (z *compressor) newCoder() *coder {
	if n := len(z.idle); n > 0 {
		k := z.idle[n-1]
		z.idle = z.idle[:n-1]
		return k
	}
	return new(coder)
}

// dropCoder ends the compression of x's answer, wherever it is.
func (w *worker) dropCoder(x *exchange) {
	k, z := x.coder, w.compress
	if k == nil {
		return
	}
	x.coder = nil
	if k.file != nil {
		w.r.Buffers().Put(k.file)
	}
	z.pool.Put(k.encoder)
	k.trailer.Reset()
	k.c, k.x, k.encoder, k.file = nil, nil, nil, nil
	if !k.listed {
		z.idle = append(z.idle, k)
	}
	if !z.trimming {
		z.trimming = true
		w.r.After(codersTrimTime, tagTrim)
	}
}

// trimCoders gives up encoders that nobody needs.
func (w *worker) trimCoders() {
	if w.compress.trimming = w.compress.pool.Trim(); w.compress.trimming {
		w.r.After(codersTrimTime, tagTrim)
	}
}

// runCoders goes on, at the end of a turn, with those that had to wait for their
// share, oldest first, and flushes the others. It is false where there are none.
func (w *worker) runCoders() (some bool) {
	z := w.compress
	z.left = codedTurnBytes
	n := len(z.listed)
	for _, k := range z.listed[:n] {
		k.listed = false
		if k.x == nil {
			z.idle = append(z.idle, k)
			continue
		}
		k.c.codingGoesOn(k)
	}
	z.listed = append(z.listed[:0], z.listed[n:]...)
	if len(z.listed) > 0 {
		w.r.After(0, tagCoders) // the next turn must not sleep
	}
	return n > 0
}

// list has k looked at at the end of the turn.
func (z *compressor) list(k *coder) {
	if !k.listed {
		k.listed = true
		z.listed = append(z.listed, k)
	}
}
