package gateway

import "edge/proxy"

// This file is how an exchange with an upstream ends, and its connection.

// stale says that what came over a connection that was kept was there before its
// next request went out: the target cannot have seen any of that.
func (u *upstream) stale() bool { return u.pooled && !u.asked }

// giveUpStale has the request go out on another connection, with what waited here to
// be sent of its body.
func (u *upstream) giveUpStale() {
	if x := u.x; x.bodyTaken {
		x.unsent = x.unsent[:0]
		if u.w.growBuffer(&x.unsent, u.out[u.headEnd:]) {
			x.bodyTaken = false
		}
	}
	u.fail(proxy.NotConnected)
}

// behind says that bytes wait behind those that are being consumed: behind held, or
// behind the first of queue.
func (u *upstream) behind() bool {
	return len(u.queue) > 1 || len(u.queue) > 0 && len(u.held) > 0
}

// unbind takes the exchange off the connection.
func (u *upstream) unbind() {
	x := u.x
	if x == nil {
		return
	}
	x.routes.done(u.w, x.target)
	if !x.reported {
		x.routes.group.Report(x.target, proxy.GivenUp, u.w.monotonic())
		x.reported = true
	}
	x.up = nil
	u.c, u.x = nil, nil
	for _, k := range u.queue {
		u.w.r.Recycle(k.id)
	}
	u.queue = u.queue[:0]
	u.release(&u.held)
}

// fail ends the exchange's attempt, and the connection.
func (u *upstream) fail(f proxy.Failure) {
	c, x := u.c, u.x
	if x == nil {
		u.pool.drop(u)
		u.close()
		return
	}
	attempt := proxy.Attempt{Failure: f, Pooled: u.pooled, Body: x.bodyTaken}
	ageing := u.pooled && (f == proxy.Closed || f == proxy.NotConnected) // as kept connections do
	if f.Blames() && !ageing && !x.reported {
		x.routes.group.Report(x.target, proxy.Failed, u.w.monotonic())
		x.reported = true
	}
	u.unbind()
	u.close()
	c.attemptFailed(x, attempt)
}

// receiveEnded implements endpoint.
func (u *upstream) receiveEnded(err error) {
	switch {
	case u.gone:
	case u.c == nil:
		u.pool.drop(u)
		u.close()
	case !u.open:
		u.fail(proxy.NotConnected)
	case u.stale():
		u.giveUpStale()
	default:
		u.ended, u.reset = true, err != nil
		if !u.waits() {
			u.inputEnded()
		}
	}
}

// failRead ends an exchange whose upstream was reset.
func (u *upstream) failRead() {
	switch {
	case u.gotHead:
		u.fail(proxy.BadBody)
	case u.spoke:
		u.fail(proxy.BadHead)
	default:
		u.fail(proxy.Closed)
	}
}

// inputEnded handles FIN once everything before it was consumed: the end of a
// body that lasts until it, or of one that is cut short. A tunnel that was cut off
// ends so for the client, too.
func (u *upstream) inputEnded() {
	if u.x.headHeld {
		return // pump comes back to it
	}
	if !u.gotHead || u.reset || u.body.End() != nil {
		u.failRead()
		return
	}
	c := u.c
	if u.cutOff() {
		if !u.x.tunnel {
			u.fail(proxy.CutOff)
			return
		}
		c.notified = true // no close_notify
	}
	u.finish(false)
	c.streamed()
}

// expired implements endpoint.
func (u *upstream) expired() {
	switch {
	case u.gone:
	case u.c == nil:
		u.pool.drop(u)
		u.close()
	case !u.open:
		u.fail(proxy.ConnectTimeout)
	case u.expecting:
		u.expecting = false
		u.c.putContinue()
		u.wait()
		u.c.waitProxied()
	case !u.gotHead:
		u.fail(proxy.AnswerTimeout)
	case u.x.tunnel:
		u.c.finish()
	default:
		u.fail(proxy.BodyTimeout)
	}
}

// close gives the connection up.
func (u *upstream) close() {
	if !u.gone {
		u.gone = true
		if u.link != nil {
			u.link.Leave()
		}
		u.w.r.Close(u.sock)
	}
}

// cancel gives the connection up because the client is gone.
func (u *upstream) cancel() {
	u.unbind()
	u.close()
}

// closed implements endpoint.
func (u *upstream) closed() {
	u.release(&u.in)
	u.release(&u.out)
	u.release(&u.sending)
}
