package gateway

import "edge/bpfvm"

// requestOnly returns the run, nil in another hook than edge/request.
func requestOnly(t *bpfvm.Task) *programRun {
	if r := runOf(t); r.hook == hookRequest {
		return r
	}
	return nil
}

// helpBodyWait: edge_request_body_wait(limit).
func helpBodyWait(t *bpfvm.Task) (uint64, bool) {
	r := requestOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	limit := t.Arg(1)
	if limit > bodyHeldMax {
		return fails(errInvalid)
	}
	x := r.x
	switch {
	case x.bodyTooLong(int(limit)):
		return fails(errTooBig)
	case x.bodyEnd:
		x.holds = true
		return uint64(len(x.held)), true
	}
	x.holdMax = int(limit)
	return 0, false // takeHeldBody gives the result
}

// helpBody: edge_request_body(offset, buffer, size).
func helpBody(t *bpfvm.Task) (uint64, bool) {
	x := runOf(t).x
	switch {
	case x == nil:
		return fails(errPermission)
	case !x.holds || !x.bodyEnd:
		return fails(errNoEntry)
	case t.Arg(1) > uint64(len(x.held)):
		return fails(errInvalid)
	}
	return give(t, x.held[t.Arg(1):], 2)
}

// helpProxy: edge_proxy(url, length).
func helpProxy(t *bpfvm.Task) (uint64, bool) {
	url, ok := argument(t, 1)
	if !ok {
		return 0, true
	}
	r := requestOnly(t)
	if r == nil {
		return fails(errPermission)
	}
	to, err := r.c.w.programTarget(url)
	switch err {
	case nil:
		return r.decide(t, verdict{kind: verdictProxy, upstreams: to})
	case errTargetsMany:
		return fails(errNoSpace)
	}
	return fails(errInvalid)
}
