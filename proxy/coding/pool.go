package coding

import "edge/proxy/httpmsg"

// Pool has the encoders of one worker: those in use and those that wait to be used
// again are at most max together.
type Pool struct {
	max   int
	inUse int
	idle  [httpmsg.Codings][]*Encoder
	least [httpmsg.Codings]int // idle at any time since the last Trim
}

// NewPool makes a pool of at most max encoders.
func NewPool(max int) *Pool { return &Pool{max: max} }

// Get gives an encoder for one body; nil if all are in use.
func (p *Pool) Get(c httpmsg.Coding) *Encoder {
	if p.inUse == p.max {
		return nil
	}
	e := p.take(c)
	if e == nil {
		p.makeWay()
		e = newEncoder(c)
	}
	p.inUse++
	e.start()
	return e
}

// take takes the idle encoder of c that was used last.
func (p *Pool) take(c httpmsg.Coding) *Encoder {
	idle := p.idle[c]
	n := len(idle) - 1
	if n < 0 {
		return nil
	}
	e := idle[n]
	idle[n] = nil
	p.idle[c] = idle[:n]
	p.least[c] = min(p.least[c], n)
	return e
}

// makeWay lets go of an idle encoder where there are too many with another one.
func (p *Pool) makeWay() {
	if p.inUse+p.Idle() < p.max {
		return
	}
	for c := range httpmsg.Codings {
		if p.take(httpmsg.Coding(c)) != nil {
			return
		}
	}
}

// Put takes an encoder back, wherever in its body it is.
func (p *Pool) Put(e *Encoder) {
	e.coder.Reset(nil)
	p.inUse--
	p.idle[e.coding] = append(p.idle[e.coding], e)
}

// Trim lets go of half of the encoders that had nothing to do since the last Trim.
// It is false when none is idle any more.
func (p *Pool) Trim() (more bool) {
	for c := range p.idle {
		for n := (p.least[c] + 1) / 2; n > 0; n-- {
			p.take(httpmsg.Coding(c))
		}
		p.least[c] = len(p.idle[c])
	}
	return p.Idle() > 0
}

// Idle is how many encoders wait to be used again.
func (p *Pool) Idle() (n int) {
	for c := range p.idle {
		n += len(p.idle[c])
	}
	return n
}

// InUse is how many are out.
func (p *Pool) InUse() int { return p.inUse }
