package gateway

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	"edge/edge/reactor"
	"edge/ja4"
	"edge/proxy"
	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// worker serves one core: it owns a reactor and all that is reached through it.
// Everything here runs on the reactor's thread, post apart.
type worker struct {
	server *server
	index  int
	r      reactor.Reactor
	stats  *stats

	listeners []*listener
	ends      []endpoint // by Sock.Index
	idle      []*conn    // conns to use again, at most idleConnsMax
	open      int        // client connections

	dirty   []*conn      // have output to flush at the end of the turn
	starved []*conn      // want a buffer, oldest first
	relays  []*relaySide // have bytes to send at the end of the turn

	idleRelays   []*relayed // to use again, at most idleConnsMax
	relayKept    int        // receive buffers that relays hold
	relayKeptMax int        // how many they may hold
	relayReserve int        // bytes of buffers that they leave alone

	inputReserve int // bytes of buffers that large output leaves alone
	tightBelow   int // bytes of buffers below which memory is said to run low
	bySource     sources

	routes []*upstreams          // of --proxy, by server.routes
	named  map[string]*upstreams // by programs, by URL

	queues     []*upstreams // that requests wait for
	queueTimer bool         // tagWaiting is due
	freed      bool         // one of them may be asked now

	answerLimits http1.Limits
	forwarder    proxy.Forwarder
	front        proxy.Front // scratch
	echText      []byte      // scratch
	certText     []byte      // scratch
	dirtyUps     []*upstream // have bytes to send at the end of the turn

	compress *compressor // nil: answers go as they are

	gen *localGen // the current generation

	exchanges []*exchange // to use again, at most idleConnsMax

	runs    []*programRun // to use again, at most idleConnsMax
	waiting []*programRun // for their next slice, oldest first
	slices  int           // that programs have used up in this turn
	bits    *rand.ChaCha8 // of edge_random; nil before the first
	hello   ja4.Hello     // scratch

	date    httpmsg.Date
	iov     [][]byte // scratch of slots
	scratch []byte

	access       accessLog
	idPrefix     [8]byte
	requestCount uint64

	draining bool
	idleTime time.Duration // while draining: the longest pause between requests
}

// endpoint is one socket of the worker, whatever it is for: what happened to the
// socket is handed to it.
type endpoint interface {
	// connected: the outcome of Connect.
	connected(err error)
	// received: as reactor.Handler.Received.
	received(b []byte, id reactor.BufID) (kept bool)
	// receiveEnded: the peer's FIN (nil) or a failure.
	receiveEnded(err error)
	wasSent(err error)
	fileRead(n int, err error)
	expired()
	// closed: the last completion came; everything held is given back.
	closed()
}

// idleConnsMax bounds what a burst leaves behind.
const idleConnsMax = 256

// listener is one listening socket of one worker.
type listener struct {
	sock     reactor.Sock
	tls      bool
	redirect bool // answers with a redirect to https and nothing else

	securePort uint16 // where the redirect leads
}

func newWorker(s *server, index int, r reactor.Reactor) *worker {
	w := &worker{
		server: s,
		index:  index,
		r:      r,
		stats:  &s.stats[index],
		ends:   make([]endpoint, r.SocketsMax()),
		bySource: sources{
			max:   s.cfg.Limits.ConnectionsPerAddress,
			count: map[netip.Addr]int{},
		},
	}
	w.access.to = s.logs
	w.answerLimits = s.answerLimits()
	w.forwarder.Via = s.cfg.ProxyVia
	_, recv := dealBuffers(s.cfg.Limits.BufferBytes)
	w.relayKeptMax = recv / relayShare
	w.relayReserve = r.Buffers().Available() / relayShare
	w.routes = newUpstreams(w)
	w.compress = newCompressor(s)
	w.tightBelow = r.Buffers().Available() / tightShare
	w.inputReserve = max(r.Buffers().Available()/inputShare, outBytesMax)
	io.ReadFull(s.rand, w.idPrefix[:]) // fails only where nothing else works either
	s.current().take()
	w.adopt(s.current())
	return w
}

// listen starts accepting.
func (w *worker) listen(fd int, l listener) error {
	sock, err := w.r.Listen(fd)
	if err != nil {
		return err
	}
	l.sock = sock
	w.listeners = append(w.listeners, &l)
	w.r.Receive(sock)
	return nil
}

func (w *worker) listenerOf(s reactor.Sock) *listener {
	for _, l := range w.listeners {
		if l.sock == s {
			return l
		}
	}
	return nil
}

// Accepted implements reactor.Handler.
func (w *worker) Accepted(l, s reactor.Sock, peer netip.AddrPort) {
	w.stats.accepted.Add(1)
	on := w.listenerOf(l)
	header := on != nil && w.sendsHeader(peer)
	if on == nil || !w.hasRoom() || !header && !w.admitsSource(peer.Addr()) {
		w.stats.refused.Add(1)
		w.r.Abort(s)
		return
	}
	c := w.newConn()
	c.reset(w, s, on, peer)
	w.ends[s.Index()] = c
	w.open++
	c.start()
	if header {
		c.awaitHeader(peer)
	}
	w.r.Receive(s)
}

func (w *worker) newConn() *conn {
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return c
	}
	return new(conn)
}

// AcceptFailed implements reactor.Handler.
func (w *worker) AcceptFailed(_ reactor.Sock, err error) {
	w.stats.acceptFailed.Add(1)
	w.server.log.limited("accept", "accepting: %v: raise the limit of open files (LimitNOFILE, ulimit -n) or lower --max-connections", err)
}

// Connected implements reactor.Handler.
func (w *worker) Connected(s reactor.Sock, err error) {
	if e := w.ends[s.Index()]; e != nil {
		e.connected(err)
	}
}

// Received implements reactor.Handler.
func (w *worker) Received(s reactor.Sock, b []byte, id reactor.BufID) bool {
	if e := w.ends[s.Index()]; e != nil {
		return e.received(b, id)
	}
	return false
}

// ReceiveEnded implements reactor.Handler.
func (w *worker) ReceiveEnded(s reactor.Sock, err error) {
	if e := w.ends[s.Index()]; e != nil {
		e.receiveEnded(err)
	}
}

// Sent implements reactor.Handler.
func (w *worker) Sent(s reactor.Sock, err error) {
	if e := w.ends[s.Index()]; e != nil {
		e.wasSent(err)
	}
}

// FileRead implements reactor.Handler.
func (w *worker) FileRead(s reactor.Sock, n int, err error) {
	if e := w.ends[s.Index()]; e != nil {
		e.fileRead(n, err)
	}
}

// Expired implements reactor.Handler.
func (w *worker) Expired(s reactor.Sock) {
	if e := w.ends[s.Index()]; e != nil {
		e.expired()
	}
}

// Closed implements reactor.Handler.
func (w *worker) Closed(s reactor.Sock) {
	if e := w.ends[s.Index()]; e != nil {
		w.ends[s.Index()] = nil
		e.closed()
	}
}

// TurnEnd implements reactor.Handler: what became ready goes out.
func (w *worker) TurnEnd() {
	w.flush()
	if len(w.waiting) > 0 {
		w.runWaiting()
		w.flush()
	}
	if w.compress != nil && w.runCoders() {
		w.flush()
	}
	if w.freed {
		w.admitWaiting()
	}
	w.slices = 0
}

// flush sends all that became ready.
func (w *worker) flush() {
	for i := 0; i < len(w.dirty); i++ {
		w.dirty[i].flush()
	}
	w.dirty = w.dirty[:0]
	for i := 0; i < len(w.dirtyUps); i++ {
		w.dirtyUps[i].flush()
	}
	w.dirtyUps = w.dirtyUps[:0]
	for _, s := range w.relays {
		s.pump()
	}
	w.relays = w.relays[:0]
	w.feedStarved()
}

// markDirty has c flushed at the end of the turn.
func (w *worker) markDirty(c *conn) {
	if !c.dirty {
		c.dirty = true
		w.dirty = append(w.dirty, c)
	}
}

// starve puts c in line for a buffer.
func (w *worker) starve(c *conn) {
	if !c.starved {
		c.starved = true
		w.stats.starved.Add(1)
		w.starved = append(w.starved, c)
	}
}

// feedStarved lets those in line try again, as long as there is memory.
func (w *worker) feedStarved() {
	i := 0
	for n := len(w.starved); i < n && w.r.Buffers().Available() > w.inputReserve; i++ {
		c := w.starved[i]
		c.starved = false
		if c.stage != stageClosed {
			c.retry()
		}
	}
	w.starved = append(w.starved[:0], w.starved[i:]...)
	if i > 0 {
		w.r.After(0, tagFed) // what they put out is sent at the end of the next turn
	}
}
