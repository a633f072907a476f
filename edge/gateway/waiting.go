package gateway

import (
	"slices"

	"edge/edge/reactor"
	"edge/proxy"
)

// Where connections to an application are limited (--proxy-max-connections), the
// requests beyond wait here: for their route's first free connection, or with a hash
// for one of their own target, first come, first served. At most --proxy-max-waiting
// of a worker wait for one route, none of them longer than --proxy-wait-timeout in
// all; then the answer is 503.
//
//	tryTarget ──all busy──▶ waiting ──Done, TurnEnd──▶ askTarget
//	                           ├── time over ──▶ 503
//	                           └── client gone ──▶ forgotten
type waiting struct {
	c     *conn
	x     *exchange
	fresh bool // it wants a new connection
}

// share is how many of max connections the worker may have. The workers' shares
// differ by one at most, and come to max together; 0 is no limit.
func share(limit, workers, index int) int {
	n := limit / workers
	if index < limit%workers {
		n++
	}
	return n
}

// await has x wait for a target.
func (c *conn) await(x *exchange, fresh bool) {
	u, w := x.routes, c.w
	if len(u.waiting) >= w.server.cfg.Limits.ProxyWaiting {
		w.server.log.limited("proxy-max-waiting", "request for %s refused: worker %d has --proxy-max-waiting %d", u.route.Path, w.index, len(u.waiting))
		c.waitedInVain(x, proxy.PoolFull)
		return
	}
	if x.waitsFrom == 0 {
		x.waitsFrom = w.r.Now()
	}
	x.waits = true
	u.waiting = append(u.waiting, waiting{c, x, fresh})
	if !u.queued {
		u.queued = true
		w.queues = append(w.queues, u)
	}
	if !w.queueTimer {
		w.queueTimer = true
		w.r.After(w.server.cfg.Timeouts.ProxyWait, tagWaiting)
	}
}

// waitedInVain answers a request that got no connection, which is f; if a target
// failed before, it is that which is told.
func (c *conn) waitedInVain(x *exchange, f proxy.Failure) {
	if x.failure != proxy.NotFailed {
		f = x.failure
	}
	c.upstreamFailed(x, f)
}

// stopWaiting takes x out of its queue, if it is in one.
func (x *exchange) stopWaiting() {
	if x.waits {
		x.waits = false
		u := x.routes
		u.waiting = slices.DeleteFunc(u.waiting, func(q waiting) bool { return q.x == x })
	}
}

// done ends what Pick began at target i, and has those that wait go on at the end of
// the turn.
func (u *upstreams) done(w *worker, i int) {
	u.group.Done(i)
	if len(u.waiting) > 0 {
		w.freed = true
	}
}

// admitWaiting gives what became free to those that wait.
func (w *worker) admitWaiting() {
	w.freed = false
	for i := 0; i < len(w.queues); i++ { // more may be added on the way
		w.queues[i].admit(w)
	}
	w.queues = slices.DeleteFunc(w.queues, func(u *upstreams) bool {
		u.queued = len(u.waiting) > 0
		return !u.queued
	})
	w.flush()
	if w.freed {
		w.r.After(0, tagFreed) // one that was let in ended at once: another may follow
	}
}

// admit lets in whom there is a target for.
func (u *upstreams) admit(w *worker) {
	for at := 0; at < len(u.waiting); {
		q := u.waiting[at]
		i, after := u.group.Pick(q.x.key, q.x.tried, w.monotonic())
		if i == proxy.Busy {
			if w.server.balance != proxy.Hash && q.x.tried == 0 {
				return // so it is for the others
			}
			at++
			continue
		}
		q.x.stopWaiting()
		q.c.askTarget(q.x, i, after, q.fresh)
	}
}

// expireWaiting answers those whose time to wait is over, and looks at the others
// again when the first of them is due.
func (w *worker) expireWaiting() {
	w.queueTimer = false
	var next reactor.Instant
	for n := 0; n < len(w.queues); n++ {
		u := w.queues[n]
		for at := 0; at < len(u.waiting); {
			q := u.waiting[at]
			due := q.x.waitsFrom.Add(w.server.cfg.Timeouts.ProxyWait)
			if due <= w.r.Now() {
				q.x.stopWaiting()
				q.c.waitedInVain(q.x, proxy.QueueTimeout)
				continue
			}
			if next == 0 || due < next {
				next = due
			}
			at++
		}
	}
	if next != 0 && !w.queueTimer {
		w.queueTimer = true
		w.r.After(next.Sub(w.r.Now()), tagWaiting)
	}
}
