package gateway

import (
	"net/netip"
	"syscall"
	"time"

	"edge/ech"
	"edge/ech/split"
	"edge/edge/reactor"
	"edge/proxy/relay"
)

// relayed is a connection that is passed on to the server it is meant for: two
// sockets and a pipe each way. The client's first bytes, which were read to find
// out, go first; with split mode it is the inner hello in place of them.
//
//	Accepted ─ hello ─ relayTo ─ startRelay ─ connect ─ connected ─ bytes, FIN ─ end
//	                                             │ next address    │ reset, idle
//	                                             └─ fail           └─ end
//
// What one side does reaches the other as it is: bytes, FIN, reset. A target
// that does not answer looks to the client like a server that is gone.
type relayed struct {
	w     *worker
	to    *relayTarget
	peer  netip.AddrPort
	sides [2]relaySide
	front *split.Front // nil once every byte passes as it is

	untried []netip.Addr    // of the target
	until   reactor.Instant // when it must be connected
	hello   helloKey        // for the loop guard; zero: not entered
	facts   relayFacts      // for the access log

	moved   bool // bytes moved since the idle deadline was set
	refused bool // the client was sent an alert; its end is awaited
	ended   bool
}

const (
	sideClient = 0
	sideTarget = 1
)

// relaySide is one of the two sockets; into holds what is to be sent to it.
type relaySide struct {
	r      *relayed
	sock   reactor.Sock
	into   relay.Pipe
	index  uint8
	open   bool // connected
	paused bool
	dirty  bool // on the worker's list of sides to pump
}

func (s *relaySide) other() *relaySide { return &s.r.sides[1-s.index] }

// relayTo takes the connection away from TLS: the hello is not for us. Its raw
// bytes are all that is needed of it.
func (c *conn) relayTo(to *relayTarget) bool { return c.passTo(to, nil) }

// splitTo has the connection's TLS end at a hidden origin: the inner hello goes
// there in place of the one that came (RFC 9849, 7).
func (c *conn) splitTo(to *relayTarget) bool { return c.passTo(to, split.New(c.tls.ECHContext())) }

// passTo makes the relay of a connection whose hello is known; false: there is no
// memory for it, and the connection is over.
func (c *conn) passTo(to *relayTarget, front *split.Front) bool {
	w := c.w
	r := w.newRelayed()
	r.to, r.peer, r.front = to, c.peer, front
	r.sides[sideClient] = relaySide{r: r, index: sideClient, sock: c.sock, open: true}
	r.sides[sideTarget] = relaySide{r: r, index: sideTarget}
	r.hello = keyOf(c.tls.OuterHello())
	r.facts.take(c, front != nil)
	c.relay = r
	ok := r.giveHeader(c.sock) && (front == nil || r.giveInner(c.tls.Hello().Raw))
	c.leaveGeneration()
	c.tls.Release()
	c.stage = stageRelayed
	if !ok {
		c.abort()
	}
	return ok
}

// startRelay connects to the target once the hello's raw bytes are in c.in, and
// gives the connection's place to the relay. conn itself is not needed any more.
func (c *conn) startRelay() {
	w, r := c.w, c.relay
	c.relay = nil
	w.ends[c.sock.Index()] = &r.sides[sideClient]
	w.stats.relayed.Add(1)
	raw := c.in
	c.in = nil
	behind := raw[c.helloRaw:]
	w.recycle(c)
	ok := true
	if r.front == nil {
		ok = r.sides[sideTarget].into.Push(relay.Chunk{Bytes: raw})
	} else {
		w.stats.split.Add(1)
		ok = r.fromClient(behind)
		w.r.Buffers().Put(raw)
	}
	if !ok {
		r.end(w.r.Abort)
		return
	}
	if err := r.begin(); err != nil {
		r.fail(err)
	}
}

// begin starts connecting to the target.
func (r *relayed) begin() error {
	w := r.w
	if !w.server.loops.enter(r.hello) {
		r.hello = helloKey{}
		return errLoop
	}
	addrs, err := r.to.resolved.Addrs()
	if err != nil {
		return err
	}
	r.untried = addrs
	r.until = w.r.Now().Add(w.server.cfg.Timeouts.Connect)
	return r.connect()
}

// connect starts connecting to the next address that is not ours. The time that
// is left is shared out among the addresses that are.
func (r *relayed) connect() (err error) {
	for len(r.untried) > 0 {
		var at netip.AddrPort
		if at, err = r.nextAddress(); err != nil {
			continue
		}
		var sock reactor.Sock
		if sock, err = r.w.r.Connect(reactor.Address{TCP: at}); err != nil {
			continue
		}
		t := &r.sides[sideTarget]
		t.sock = sock
		r.w.ends[sock.Index()] = t
		share := r.until.Sub(r.w.r.Now()) / time.Duration(len(r.untried)+1)
		r.w.r.SetDeadline(r.sides[sideClient].sock, r.w.r.Now().Add(share))
		return nil
	}
	return err
}

// nextAddress takes the next address off the list. One that leads back to one of
// our own listeners is refused: it would be relayed again, for ever.
func (r *relayed) nextAddress() (netip.AddrPort, error) {
	at := netip.AddrPortFrom(r.untried[0], r.to.target.Port)
	r.untried = r.untried[1:]
	if r.w.server.isOurs(at, r.to.local) {
		return at, &selfError{at}
	}
	return at, nil
}

// connectNext gives the address up that is being tried, for err, and tries the
// next one.
func (r *relayed) connectNext(err error) {
	t := &r.sides[sideTarget]
	r.w.ends[t.sock.Index()] = nil
	r.w.r.Close(t.sock)
	t.sock = 0
	if len(r.untried) > 0 {
		err = r.connect()
	}
	if t.sock == 0 {
		r.fail(err)
	}
}

// connected implements endpoint.
func (s *relaySide) connected(err error) {
	r := s.r
	if r.ended || r.refused {
		return
	}
	if err != nil {
		r.connectNext(err)
		return
	}
	s.open = true
	r.startIdle()
	r.w.r.Receive(s.sock)
	s.pump()
}

// receiveEnded implements endpoint: FIN is passed on behind what is on its way,
// a reset at once.
func (s *relaySide) receiveEnded(err error) {
	r := s.r
	switch {
	case r.ended:
		return
	case r.refused && s.index == sideTarget:
		return
	case r.refused:
		r.end(r.w.r.Close)
		return
	case err != nil || s.index == sideClient && !r.endClient():
		r.end(r.w.r.Abort)
		return
	}
	s.other().into.End()
	r.w.markRelay(s.other())
}

// startIdle starts the idle time of an open relay.
func (r *relayed) startIdle() {
	r.moved = false
	r.w.r.SetDeadline(r.sides[sideClient].sock, r.w.r.Now().Add(r.w.server.cfg.Timeouts.RelayIdle))
}

// expired implements endpoint: the target did not answer, or neither side had
// anything to say for a whole idle time.
func (s *relaySide) expired() {
	r := s.r
	switch {
	case r.ended:
	case r.refused:
		r.end(r.w.r.Close)
	case !r.sides[sideTarget].open:
		r.connectNext(syscall.ETIMEDOUT)
	case r.moved:
		r.startIdle()
	default:
		r.w.stats.timeouts.Add(1)
		r.w.server.log.limited("timeout", "relay to %s ended by --relay-idle-timeout; client %s", r.to, appendPeer(nil, r.peer))
		r.end(r.w.r.Close)
	}
}

// fail ends a relay whose target cannot be reached. The client sees a reset, as
// it would from a server that is not there.
func (r *relayed) fail(err error) {
	r.w.stats.relayFailed.Add(1)
	r.w.server.log.limited("relay", "relay to %s: %v; client %s", r.to, err, appendPeer(nil, r.peer))
	r.facts.failed = true
	r.end(r.w.r.Abort)
}

// end closes both sides.
func (r *relayed) end(how func(reactor.Sock)) {
	if r.ended {
		return
	}
	r.ended = true
	r.w.server.loops.leave(r.hello)
	for i := range r.sides {
		if s := &r.sides[i]; s.sock != 0 {
			how(s.sock)
		}
	}
	r.w.logRelay(r)
}

// forsake drops a relay that was not started: its connection is over.
func (r *relayed) forsake() {
	r.dropInto(&r.sides[sideTarget])
	r.w.freeRelayed(r)
}

// fileRead implements endpoint; a relay reads no files.
func (s *relaySide) fileRead(int, error) { panic("BUG: a relay read a file") }

// closed implements endpoint: what is left in the pipe is given back, and the
// client's place is free once its own socket is gone.
func (s *relaySide) closed() {
	r, w := s.r, s.r.w
	r.dropInto(s)
	s.sock = 0
	if s.other().sock == 0 {
		r.dropInto(s.other()) // what never had a socket
		defer w.freeRelayed(r)
	}
	if s.index == sideClient {
		w.leaveBooks(r.peer)
	}
}

// newRelayed gives a relayed to fill in.
func (w *worker) newRelayed() *relayed {
	if n := len(w.idleRelays); n > 0 {
		r := w.idleRelays[n-1]
		w.idleRelays = w.idleRelays[:n-1]
		return r
	}
	return &relayed{w: w}
}

// freeRelayed keeps one that is over to be used again.
func (w *worker) freeRelayed(r *relayed) {
	if !r.sides[sideClient].dirty && !r.sides[sideTarget].dirty && len(w.idleRelays) < idleConnsMax {
		*r = relayed{w: w}
		w.idleRelays = append(w.idleRelays, r)
	}
}

// relayTargetOf is where the connection goes when its hello is not for us: what
// we could not open, for a name that is relayed and that we hold no certificate
// for. nil: it is for us, if only to be refused: malformed ECH is (RFC 9849, 7).
func (c *conn) relayTargetOf() *relayTarget {
	info := c.tls.Info()
	if len(c.gen.relays) == 0 || info.ECH == ech.Accepted || info.ServerName == "" || c.tls.ECHErr() != nil {
		return nil
	}
	var buf nameBuffer
	name := normalName(&buf, []byte(info.ServerName))
	to := c.gen.relays[string(name)]
	if to == nil || c.gen.holds(name) {
		return nil
	}
	return to
}

// originOf is the hidden origin that an opened hello is for; nil: none.
func (c *conn) originOf() *relayTarget {
	info := c.tls.Info()
	if len(c.gen.origins) == 0 || info.ECH != ech.Accepted || c.tls.HelloErr() != nil {
		return nil
	}
	var buf nameBuffer
	return c.gen.origins[string(normalName(&buf, []byte(info.ServerName)))]
}
