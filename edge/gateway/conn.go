package gateway

import (
	"io"
	"net/netip"

	"edge/edge/reactor"
	"edge/proxy/http1"
	"edge/tlsstack"
)

// stage is where a connection is in its life.
type stage uint8

const (
	stageHello     stage = iota // the ClientHello is not whole yet
	stageHandshake              // our flight is out, the client's Finished is not here
	stageOpen                   // requests and responses
	stageRelayed                // the hello is for another server: raw bytes are all there is
	stageClosing                // the last bytes are on their way out
	stageLingering              // FIN is sent; what still comes is dropped
	stageClosed                 // given up; only completions are awaited
)

// conn is one client connection. Its buffers come from the worker's pool and go
// back as soon as they are empty.
type conn struct {
	w     *worker
	sock  reactor.Sock
	on    *listener
	peer  netip.AddrPort
	via   netip.AddrPort // whom its PROXY header came from; invalid without one
	stage stage
	timer timerKind

	paused    bool // reading is paused
	dirty     bool // on the worker's list of connections to flush
	starved   bool // on the worker's list of connections that want a buffer
	filling   bool // the tail of out is being read into
	peerEnded bool // the peer will send no more: close_notify or FIN
	heading   bool // the PROXY header is not whole yet
	taking    bool // requests is at work on bytes that c.in or c.plain may hold, too
	finHeld   bool // the peer's FIN came, and what is before it is not consumed
	notified  bool // close_notify is in the output, or must not be sent
	rested    bool // timerIdle: the first part of it is over, see conn.rest
	unsent    int  // answers in out, all of them whole but the last

	gen *localGen   // held during the handshake
	run *programRun // of the hello's programs, while they are asked
	tls tlsstack.Conn
	ech echKind

	relay    *relayed // of stageRelayed, until it is started
	helloRaw int      // stageHello: bytes of raw that the hello took

	raw     int    // stageHello: bytes of in that the machine has consumed
	in      []byte // received, not consumed
	plain   []byte // opened, not parsed
	out     []byte // to send
	sending []byte // the kernel has it

	sentAlready int // of sending, written before its Send was started

	fill fill // of the ReadFile in flight

	parser   http1.Parser
	x        *exchange // the request being answered
	sampled  bool      // ackedWas is of this Send
	ackedWas uint64    // what the peer had acknowledged at the last look

	kept *upstream // idle, for requests of this connection alone: see conn.keepUpstream

	prints prints       // of the client
	client *clientFacts // see conn.clientFacts

	bodyMoved int // bytes of a request body since its time was started

	headStarted reactor.Instant // when the first byte of an incomplete head came
}

// reset makes c a fresh connection, keeping nothing of the last one.
func (c *conn) reset(w *worker, s reactor.Sock, on *listener, peer netip.AddrPort) {
	tls := c.tls
	*c = conn{w: w, sock: s, on: on, peer: peer, tls: tls}
	c.parser.Limits = &w.server.headLimits
}

// connected implements endpoint; client connections are accepted, not made.
func (c *conn) connected(error) { panic("BUG: an accepted connection was connected") }

// received implements endpoint: it takes bytes off the wire, which it never
// keeps.
func (c *conn) received(b []byte, _ reactor.BufID) bool {
	switch {
	case c.stage >= stageLingering, c.peerEnded: // of interest is only the FIN
		c.dropInput(len(b))
	case c.stage == stageClosing:
		// The last bytes are not out yet: neither is the FIN that would start
		// the lingering.
	case c.heading:
		c.takeHeader(b)
	default:
		c.receivedOpen(b)
	}
	return false
}

// receivedOpen takes bytes of the connection proper.
func (c *conn) receivedOpen(b []byte) {
	if c.on.tls {
		c.receivedTLS(b)
	} else {
		c.receivedPlain(b)
	}
}

// receivedPlain is the way in without TLS.
func (c *conn) receivedPlain(b []byte) {
	rest, ok := c.takePlain(b)
	if ok && (len(rest) == 0 || c.keepPlain(rest)) {
		c.gate()
	}
}

// receivedTLS is the way in through the record layer. Records are opened where
// they are: in b when nothing was left over from before, else in c.in.
func (c *conn) receivedTLS(b []byte) {
	work, kept := b, false
	if len(c.in) > 0 {
		if !c.stash(b) {
			return
		}
		work, kept = c.in[c.raw:], true
	}
	c.consumed(b, c.consume(work), kept)
}

// consumed keeps what was left of the input: all of it is in c.in if kept says so,
// else in b.
func (c *conn) consumed(b, rest []byte, kept bool) {
	if c.stage >= stageClosing {
		c.release(&c.in)
		return
	}
	if c.stage == stageRelayed {
		if kept || c.stash(b) {
			c.startRelay()
		}
		return
	}
	if c.stage == stageHello && c.gen.relaysAny() {
		// Every raw byte stays until it is decided who answers the hello.
		if !kept {
			c.raw = len(b) - len(rest)
			c.stash(b)
		} else {
			c.raw = len(c.in) - len(rest)
		}
		return
	}
	c.keepInput(rest, kept)
}

// consume hands work to the TLS machine, record by record, and what it opens to
// HTTP. It returns what it left: an incomplete record, or what must wait for the
// answer in progress.
func (c *conn) consume(work []byte) []byte {
	for len(work) > 0 && c.wantsInput() {
		n, plain, err := c.tls.Receive(c.w.r.Wall(), work)
		if err == io.EOF {
			c.peerClosed()
			return nil
		}
		if err != nil {
			c.failTLS(err)
			return nil
		}
		if c.stage == stageHello {
			c.helloRaw += n
		}
		if c.stage < stageOpen && !c.advance() {
			return nil
		}
		if n == 0 {
			break
		}
		work = work[n:]
		if len(plain) > 0 && !c.opened(plain) {
			return nil
		}
	}
	if c.tls.HasOutput() {
		c.w.markDirty(c)
	}
	return work
}

// opened takes application data. What HTTP does not want yet is kept.
func (c *conn) opened(plain []byte) bool {
	rest, ok := c.takePlain(plain)
	if ok && len(rest) > 0 {
		return c.keepPlain(rest)
	}
	return ok
}

// takePlain gives request bytes to HTTP: what was kept first. It returns what
// was not taken of p, unless that is in c.plain already; false when the
// connection is over.
func (c *conn) takePlain(p []byte) (rest []byte, ok bool) {
	if len(c.plain) == 0 {
		rest = c.requests(p)
		return rest, c.stage < stageClosing
	}
	if !c.keepPlain(p) {
		return nil, false
	}
	c.retakePlain()
	return nil, c.stage < stageClosing
}

// retakePlain gives HTTP what was kept.
func (c *conn) retakePlain() {
	if len(c.plain) == 0 {
		return
	}
	rest := c.requests(c.plain)
	if c.stage >= stageClosing || len(rest) == 0 {
		c.release(&c.plain)
		return
	}
	c.plain = c.plain[:copy(c.plain, rest)]
}

// wantsInput says whether more of the peer's bytes have a use now.
func (c *conn) wantsInput() bool {
	if c.stage != stageOpen {
		return c.stage < stageOpen
	}
	if c.peerEnded || len(c.out) >= outHighWater || c.unsent >= c.w.server.cfg.Limits.Pipelined {
		return false
	}
	return c.x == nil || c.x.wantsBody()
}

// resume goes on with what had to wait, after an answer was finished or output
// went out. While input is being taken there is nothing to do: it is gone on with
// as long as it is wanted.
func (c *conn) resume() {
	if c.taking {
		return
	}
	if c.stage == stageOpen && c.peerEnded && c.x == nil {
		c.finish()
		return
	}
	if c.stage != stageOpen || !c.wantsInput() {
		return
	}
	c.retakePlain()
	if len(c.in) > 0 && c.stage == stageOpen && c.wantsInput() {
		rest := c.consume(c.in)
		if c.stage >= stageClosing {
			c.release(&c.in)
			return
		}
		c.keepInput(rest, true)
	}
	if c.finHeld && c.stage == stageOpen && (c.heldInput() == 0 || c.wantsInput()) {
		c.finHeld = false
		c.inputEnded(nil)
		return
	}
	if c.peerEnded && c.stage == stageOpen && c.x == nil {
		c.finish()
		return
	}
	c.gate()
}

// gate lets bytes in while they are wanted, and no longer.
func (c *conn) gate() {
	want := c.stage >= stageLingering || c.peerEnded || c.wantsInput()
	switch {
	case want && c.paused:
		c.paused = false
		c.w.r.Receive(c.sock)
	case !want && !c.paused && c.stage < stageClosed && c.heldInput() > inputHeldMax:
		c.paused = true
		c.w.r.PauseReceive(c.sock)
	}
}

func (c *conn) heldInput() int { return len(c.in) + len(c.plain) }

// stash appends b to c.in.
func (c *conn) stash(b []byte) bool { return c.grow(&c.in, b) }

// keepPlain appends p to c.plain.
func (c *conn) keepPlain(p []byte) bool { return c.grow(&c.plain, p) }

// keepInput keeps rest as all there is in c.in. inside says that it is a part of
// c.in already.
func (c *conn) keepInput(rest []byte, inside bool) {
	switch {
	case len(rest) == 0:
		c.release(&c.in)
	case inside:
		c.in = c.in[:copy(c.in, rest)]
	default:
		c.stash(rest)
	}
	c.raw = 0
	c.gate()
}

// grow appends b to a pooled buffer, which moves to a larger class when it must.
// It ends the connection when there is no memory left: input that cannot be
// kept is lost, and nothing can be served without it.
func (c *conn) grow(buf *[]byte, b []byte) bool {
	if !c.w.growBuffer(buf, b) {
		c.abort()
		return false
	}
	return true
}

// growBuffer appends b to a pooled buffer, which moves to a larger class when it
// must; false: it would be too large, or there is no memory.
func (w *worker) growBuffer(buf *[]byte, b []byte) bool {
	need := len(*buf) + len(b)
	if need > cap(*buf) {
		var bigger []byte
		if need <= reactor.BufferBytesMax {
			bigger = w.r.Buffers().Get(need)
		}
		if bigger == nil {
			w.stats.noBuffer.Add(1)
			return false
		}
		bigger = append(bigger, *buf...)
		if *buf != nil {
			w.r.Buffers().Put(*buf)
		}
		*buf = bigger
	}
	*buf = append(*buf, b...)
	return true
}

// fitBuffer moves what is left in a pooled buffer, which may have to wait, to a smaller
// one that takes it.
func (w *worker) fitBuffer(buf *[]byte) {
	b := w.r.Buffers().Get(len(*buf))
	switch {
	case b == nil:
	case cap(b) < cap(*buf):
		b = append(b, *buf...)
		w.r.Buffers().Put(*buf)
		*buf = b
	default:
		w.r.Buffers().Put(b)
	}
}

// release gives a buffer back.
func (c *conn) release(buf *[]byte) {
	if *buf != nil {
		c.w.r.Buffers().Put(*buf)
		*buf = nil
	}
}
