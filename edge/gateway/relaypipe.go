package gateway

import (
	"errors"
	"net/netip"

	"edge/ech/split"
	"edge/edge/reactor"
	"edge/proxy/proxyproto"
	"edge/proxy/relay"
	"edge/tlsstack/wire"
)

// How bytes get through a relay. They stay in the receive buffer they came in
// until they are sent: copied in by the kernel and out by the kernel, and never
// between. There are few of those buffers, so bytes move to memory of the pool
//
//   - when they would be one more small piece behind others that wait,
//   - when relays hold their share of receive buffers already.
//
// Moving them by splice(2) was measured as well: through a pipe no byte is copied
// at all, but each step is a system call of its own, and the 100 KB answer of the
// benchmark cost as much as before, or more.

const (
	// Relays may hold a quarter of the receive buffers, and leave a quarter of the
	// pool alone: those whose targets do not read starve nobody.
	relayShare = 4

	// dripBytesMax is the largest piece that is worth a copy to save a buffer, and
	// dripBufferBytes the buffer that collects such pieces.
	dripBytesMax    = 4 << 10
	dripBufferBytes = 16 << 10
)

// received implements endpoint.
func (s *relaySide) received(b []byte, id reactor.BufID) (kept bool) {
	r, to := s.r, s.other()
	if r.ended || r.refused {
		return false
	}
	r.moved = true
	ok := true
	switch {
	case r.front == nil:
		kept, ok = r.w.passOn(&to.into, b, id)
	case s.index == sideTarget:
		r.front.FromBackend(b)
		kept, ok = r.w.passOn(&to.into, b, id)
	default:
		ok = r.fromClient(b)
	}
	if !ok {
		r.end(r.w.r.Abort)
	}
	if r.ended || r.refused {
		return kept
	}
	if !s.paused && (to.into.Full() || r.w.relaysHoldMuch()) {
		s.paused = true
		r.w.r.PauseReceive(s.sock)
	}
	r.w.markRelay(to)
	return kept
}

// passOn puts received bytes into a pipe; ok is false when there is no memory
// left for them. kept says that they stay in their receive buffer.
func (w *worker) passOn(to *relay.Pipe, b []byte, id reactor.BufID) (kept, ok bool) {
	drip := to.Waiting() && len(b) <= dripBytesMax
	switch {
	case drip && to.Append(b):
		return false, true
	case !drip && w.relayKept < w.relayKeptMax:
		w.relayKept++
		return true, to.Push(relay.Chunk{Bytes: b, ID: uint32(id), Owned: true})
	}
	room := len(b)
	if drip {
		room = dripBufferBytes
	}
	return false, w.copyOn(to, b, room)
}

// copyOn puts a copy of b into a pipe, in a buffer with room for so many bytes.
func (w *worker) copyOn(to *relay.Pipe, b []byte, room int) bool {
	buf := w.r.Buffers().Get(max(room, len(b)))
	if buf == nil {
		w.stats.noBuffer.Add(1)
		return false
	}
	return to.Push(relay.Chunk{Bytes: append(buf, b...)})
}

// relaysHoldMuch says that a relay with bytes on their way is to read no more.
func (w *worker) relaysHoldMuch() bool {
	return w.relayKept >= w.relayKeptMax || w.r.Buffers().Available() <= w.relayReserve
}

// giveHeader puts a PROXY header in front, if the target wants one.
func (r *relayed) giveHeader(client reactor.Sock) bool {
	if !r.to.proxyProtocol {
		return true
	}
	local := r.w.localOf(client)
	return r.w.copyOn(&r.sides[sideTarget].into, proxyproto.AppendV2(r.w.scratch[:0], r.peer, local, nil), 0)
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

// fromClient puts into the way to the origin what the split has it get of the
// client's bytes.
func (r *relayed) fromClient(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	out, err := r.front.FromClient(r.w.scratch[:0], b)
	r.w.scratch = out[:0]
	if r.front.Done() {
		r.front = nil
	}
	to := &r.sides[sideTarget].into
	if err != nil {
		r.refuse(err)
		return true
	}
	return len(out) == 0 || to.Append(out) || r.w.copyOn(to, out, 0)
}

// endClient passes on what the split holds back of a client that has ended.
func (r *relayed) endClient() bool {
	if r.front == nil {
		return true
	}
	out := r.front.End(r.w.scratch[:0])
	r.front = nil
	return len(out) == 0 || r.w.copyOn(&r.sides[sideTarget].into, out, 0)
}

// refuse ends a split whose second hello cannot be opened: the alert is the last
// the client gets (RFC 9849, 7.1.1), and what it still sends is dropped until it
// has seen it; the origin sees a reset.
func (r *relayed) refuse(err error) {
	w := r.w
	w.stats.tlsFailed.Add(1)
	w.server.log.limited("tls", "tls: %v; client %s", err, appendPeer(nil, r.peer))
	alert := wire.AlertInternalError
	var known *wire.Error
	if errors.As(err, &known) {
		alert = known.Alert
	}
	client, target := &r.sides[sideClient], &r.sides[sideTarget]
	r.refused = true
	w.r.Abort(target.sock)
	w.r.SetDeadline(client.sock, w.r.Now().Add(lingerTime))
	w.copyOn(&client.into, split.AppendAlert(w.scratch[:0], alert), 0)
	client.into.End()
	w.markRelay(client)
}

// giveInner puts the inner hello first.
func (r *relayed) giveInner(hello []byte) bool {
	r.w.scratch = split.AppendHello(r.w.scratch[:0], hello)
	return r.w.copyOn(&r.sides[sideTarget].into, r.w.scratch, 0)
}

// wasSent implements endpoint.
func (s *relaySide) wasSent(err error) {
	for c, more := s.into.Sent(); more; c, more = s.into.Sent() {
		s.r.giveBack(c)
	}
	r := s.r
	if r.ended || r.refused && s.index == sideTarget {
		return
	}
	if err != nil {
		r.end(r.w.r.Abort)
		return
	}
	r.moved = true
	s.pump()
}

// pump sends what waits, passes FIN on, and has a paused source go on.
func (s *relaySide) pump() {
	s.dirty = false
	r, w := s.r, s.r.w
	if r.ended || !s.open || r.refused && s.index == sideTarget {
		return
	}
	if w.iov = s.into.Next(w.iov[:0]); len(w.iov) > 0 {
		w.r.SendVec(s.sock, w.iov)
	}
	from := s.other()
	if s.into.FinDue() {
		s.into.Fin()
		if from.into.Done() {
			r.end(w.r.Close) // FIN goes out with it
			return
		}
		w.r.ShutdownWrite(s.sock)
	}
	if from.paused && s.into.Low() && (s.into.Empty() || !w.relaysHoldMuch()) {
		from.paused = false
		w.r.Receive(from.sock)
	}
}

// markRelay has a side pumped at the end of the turn.
func (w *worker) markRelay(s *relaySide) {
	if !s.dirty {
		s.dirty = true
		w.relays = append(w.relays, s)
	}
}

// giveBack returns a buffer to its owner.
func (r *relayed) giveBack(c relay.Chunk) {
	if c.Owned {
		r.w.relayKept--
		r.w.r.Recycle(reactor.BufID(c.ID))
		return
	}
	r.w.r.Buffers().Put(c.Bytes)
}

// dropInto gives back what is left on the way to a side.
func (r *relayed) dropInto(s *relaySide) {
	for c, more := s.into.Drop(); more; c, more = s.into.Drop() {
		r.giveBack(c)
	}
}
