package gateway

import (
	"edge/bpfvm"
	"edge/tlsstack/wire"
)

// verdict is what a program has decided, once it has.
type verdict struct {
	kind  verdictKind
	to    *relayTarget // of verdictRelay
	alert wire.Alert   // of verdictRefuse

	upstreams *upstreams // of verdictProxy
}

type verdictKind uint8

const (
	verdictNone verdictKind = iota
	verdictRespond
	verdictProxy
	verdictRelay
	verdictRefuse
	verdictDrop
)

// resultLast is EDGE_LAST of edge.h.
const resultLast = 1

// decide makes v the verdict and ends the program.
func (r *programRun) decide(t *bpfvm.Task, v verdict) (uint64, bool) {
	r.verdict = v
	t.Finish(resultLast)
	return 0, true
}

// helloOnly returns the run, nil in another hook than edge/hello.
func helloOnly(t *bpfvm.Task) *programRun {
	if r := runOf(t); r.hook == hookHello {
		return r
	}
	return nil
}

// helpHelloALPN: edge_hello_alpn(buffer, size).
func helpHelloALPN(t *bpfvm.Task) (uint64, bool) {
	r := helloOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	return give(t, r.c.tls.Hello().ALPN, 1)
}

// helpHelloRelay: edge_hello_relay(name, length).
func helpHelloRelay(t *bpfvm.Task) (uint64, bool) {
	name, ok := argument(t, 1)
	if !ok {
		return 0, true
	}
	r := helloOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	to := r.c.gen.relays[string(name)]
	if to == nil {
		return fails(errNoEntry)
	}
	return r.decide(t, verdict{kind: verdictRelay, to: to})
}

// helpHelloRefuse: edge_hello_refuse(alert).
func helpHelloRefuse(t *bpfvm.Task) (uint64, bool) {
	r := helloOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	n := uint32(t.Arg(1))
	alert := wire.Alert(n)
	if n > 255 || alert == wire.AlertCloseNotify || alert == wire.AlertUserCanceled {
		return fails(errInvalid)
	}
	return r.decide(t, verdict{kind: verdictRefuse, alert: alert})
}

// helpHelloDrop: edge_hello_drop().
func helpHelloDrop(t *bpfvm.Task) (uint64, bool) {
	r := helloOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	return r.decide(t, verdict{kind: verdictDrop})
}

// helpHelloBan: edge_hello_ban(seconds).
func helpHelloBan(t *bpfvm.Task) (uint64, bool) {
	r := helloOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	seconds := t.Arg(1)
	from := r.c.peer.Addr()
	if seconds == 0 || !from.IsValid() {
		return fails(errInvalid)
	}
	if !r.c.w.server.bans.add(from, r.c.w.r.Wall(), seconds) {
		return fails(errNoSpace)
	}
	return r.decide(t, verdict{kind: verdictDrop})
}
