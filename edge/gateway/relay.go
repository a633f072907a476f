package gateway

import (
	"net/netip"
	"syscall"

	"edge/edge/reactor"
	"edge/proxy/proxyproto"
	"edge/proxy/relay"
)

// relayed is a connection that is passed on to the server it is meant for, byte
// for byte: two sockets and a pipe each way. The client's first bytes, which
// were read to find out, go first.
//
// What one side does reaches the other as it is: bytes, FIN, reset. A target
// that does not answer looks to the client like a server that is gone.
type relayed struct {
	w     *worker
	peer  netip.AddrPort
	to    *relayTarget
	sides [2]relaySide
	moved bool // bytes moved since the idle deadline was set
	ended bool
}

const (
	sideClient = 0
	sideTarget = 1
)

// relaySide is one of the two sockets; into holds what is to be sent to it.
type relaySide struct {
	r      *relayed
	index  int
	sock   reactor.Sock
	into   relay.Pipe
	open   bool // connected
	paused bool
	dirty  bool // on the worker's list of sides to pump
}

func (s *relaySide) other() *relaySide { return &s.r.sides[1-s.index] }

// relayTo takes the connection away from TLS: the hello is not for us.
func (c *conn) relayTo(to *relayTarget) {
	c.leaveGeneration()
	c.tls.Release()
	c.stage = stageRelayed
	c.to = to
}

// startRelay connects to the target once all raw bytes are in c.in, and gives
// the connection's place to the relay. conn itself is not needed any more.
func (c *conn) startRelay() {
	w := c.w
	r := &relayed{w: w, peer: c.peer, to: c.to}
	r.sides[sideClient] = relaySide{r: r, index: sideClient, sock: c.sock, open: true}
	r.sides[sideTarget] = relaySide{r: r, index: sideTarget}
	first := c.in
	c.in = nil
	w.ends[c.sock.Index()] = &r.sides[sideClient]
	w.recycle(c)
	w.stats.relayed.Add(1)
	address, err := r.to.address(w.server)
	if err == nil {
		err = r.connect(address)
	}
	if err != nil {
		w.r.Buffers().Put(first)
		r.fail(err)
		return
	}
	into := &r.sides[sideTarget].into
	if r.to.proxyProtocol {
		into.Push(relay.Chunk{Bytes: proxyproto.AppendV2(nil, r.peer, w.localOf(c.sock), nil)})
	}
	into.Push(relay.Chunk{Bytes: first})
	w.r.SetDeadline(c.sock, w.r.Now().Add(w.server.cfg.Timeouts.Connect))
}

func (r *relayed) connect(address netip.AddrPort) error {
	sock, err := r.w.r.Connect(reactor.Address{TCP: address})
	if err != nil {
		return err
	}
	t := &r.sides[sideTarget]
	t.sock = sock
	r.w.ends[sock.Index()] = t
	return nil
}

// localOf is the address the client connected to.
func (w *worker) localOf(s reactor.Sock) netip.AddrPort {
	if fd := w.r.FD(s); fd >= 0 {
		if a, err := netip.ParseAddrPort(reactor.LocalAddr(fd)); err == nil {
			return a
		}
	}
	return netip.AddrPort{}
}

// connected implements endpoint.
func (s *relaySide) connected(err error) {
	if s.r.ended {
		return
	}
	if err != nil {
		s.r.fail(err)
		return
	}
	s.open = true
	s.r.startIdle()
	s.r.w.r.Receive(s.sock)
	s.pump()
}

// received implements endpoint: bytes go into the pipe to the other side, in the
// buffer they came in.
func (s *relaySide) received(b []byte, id reactor.BufID) (kept bool) {
	if s.r.ended {
		return false
	}
	to := s.other()
	if !to.into.Push(relay.Chunk{Bytes: b, ID: uint32(id), Owned: true}) {
		s.r.end(s.r.w.r.Abort) // more than a paused source may send: a BUG of the reactor
		return false
	}
	s.r.moved = true
	if to.into.Full() && !s.paused {
		s.paused = true
		s.r.w.r.PauseReceive(s.sock)
	}
	s.r.w.markRelay(to)
	return true
}

// receiveEnded implements endpoint: FIN is passed on behind what is on its way,
// a reset at once.
func (s *relaySide) receiveEnded(err error) {
	if s.r.ended {
		return
	}
	if err != nil {
		s.r.end(s.r.w.r.Abort)
		return
	}
	s.other().into.End()
	s.r.w.markRelay(s.other())
}

// wasSent implements endpoint.
func (s *relaySide) wasSent(err error) {
	s.r.giveBack(s.into.Sent())
	if s.r.ended {
		return
	}
	if err != nil {
		s.r.end(s.r.w.r.Abort)
		return
	}
	s.r.moved = true
	s.pump()
}

// pump sends the next chunk, passes FIN on, and has a paused source go on.
func (s *relaySide) pump() {
	s.dirty = false
	if s.r.ended || !s.open {
		return
	}
	if c, ok := s.into.Next(); ok {
		s.r.w.r.Send(s.sock, c.Bytes)
	}
	if s.into.FinDue() {
		s.r.w.r.ShutdownWrite(s.sock)
	}
	if from := s.other(); from.paused && s.into.Low() {
		from.paused = false
		s.r.w.r.Receive(from.sock)
	}
	if s.into.Done() && s.other().into.Done() {
		s.r.end(s.r.w.r.Close)
	}
}

// markRelay has a side pumped at the end of the turn.
func (w *worker) markRelay(s *relaySide) {
	if !s.dirty {
		s.dirty = true
		w.relays = append(w.relays, s)
	}
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
	case !r.sides[sideTarget].open:
		r.fail(syscall.ETIMEDOUT)
	case r.moved:
		r.startIdle()
	default:
		r.w.stats.timeouts.Add(1)
		r.end(r.w.r.Close)
	}
}

// fail ends a relay whose target cannot be reached. The client sees a reset, as
// it would from a server that is not there.
func (r *relayed) fail(err error) {
	r.w.stats.relayFailed.Add(1)
	r.w.server.log.limited("relay", "relay to %s: %v; client %s", r.to, err, r.peer)
	r.end(r.w.r.Abort)
}

// end closes both sides.
func (r *relayed) end(how func(reactor.Sock)) {
	if r.ended {
		return
	}
	r.ended = true
	for i := range r.sides {
		if s := &r.sides[i]; s.sock != 0 {
			how(s.sock)
		}
	}
	r.w.stats.relayBytes.Add(r.sides[0].into.Total() + r.sides[1].into.Total())
}

// giveBack returns a buffer to its owner.
func (r *relayed) giveBack(c relay.Chunk) {
	switch {
	case c.Owned:
		r.w.r.Recycle(reactor.BufID(c.ID))
	case r.w.r.Buffers().Holds(c.Bytes):
		r.w.r.Buffers().Put(c.Bytes)
	}
}

// fileRead implements endpoint; a relay reads no files.
func (s *relaySide) fileRead(int, error) { panic("BUG: a relay read a file") }

// closed implements endpoint: what is left in the pipe is given back, and the
// client's place is free once its own socket is gone.
func (s *relaySide) closed() {
	for {
		c, ok := s.into.Drop()
		if !ok {
			break
		}
		s.r.giveBack(c)
	}
	s.sock = 0
	if s.index == sideClient {
		s.r.w.leaveBooks(s.r.peer)
	}
}
