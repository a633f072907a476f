package gateway

import (
	"encoding/binary"
	"time"

	"edge/bpfvm"
)

// programRun is the programs of one request, or of one ClientHello, on their way.
// It holds what they share: the key-value map, the changes to the answer, the
// answer itself if they gave one.
//
//	begin ──► run ──► outcome: passed, verdict │ failed │ stopped
//	           │ ▲
//	    waits  ▼ │ a later turn          asks: heldBody, until it is there
//	      worker.waiting
//
// A program that has used up its slice waits for a later turn: the worker's other
// connections come first.
type programRun struct {
	c *conn     // nil: nobody waits for the outcome any more
	x *exchange // nil: it is a ClientHello's

	hook    hook
	chain   []chained
	at      int // in chain
	task    bpfvm.Task
	context [contextBytes]byte
	used    time.Duration // by slices that this request has used up
	listed  bool          // among worker.waiting

	verdict verdict
	values  keyValues
	changes headerChanges
	body    []byte // of edge_respond
}

// outcome is what a run came to.
type outcome uint8

const (
	runWaits   outcome = iota // its slice is used up
	runPassed                 // all programs have run, or one was the last word
	runFailed                 // a program did what it may not
	runStopped                // the time of the request is used up
	runAsks                   // a program waits for the request's body
)

// contextBytes is the size of struct edge_ctx in edge.h.
const contextBytes = 48

// newRun takes a run for a connection's request, or for its hello.
func (w *worker) newRun(c *conn, x *exchange) *programRun {
	var r *programRun
	if n := len(w.runs); n > 0 {
		r = w.runs[n-1]
		w.runs = w.runs[:n-1]
	} else {
		r = new(programRun)
		r.task.User = r
	}
	r.c, r.x = c, x
	return r
}

// endRun gives a run back. A program in the middle is stopped.
func (w *worker) endRun(r *programRun) {
	r.task.Stop()
	r.c, r.x = nil, nil
	if !r.listed {
		w.keepRun(r)
	}
}

// keepRun keeps r to be used again, without what only this run needed much of.
func (w *worker) keepRun(r *programRun) {
	r.chain, r.used, r.verdict = nil, 0, verdict{}
	r.values.reset()
	r.changes.reset()
	if cap(r.body) > bodyKeptMax {
		r.body = nil
	}
	if len(w.runs) < idleConnsMax {
		w.runs = append(w.runs, r)
	}
}

// bodyKeptMax is how much memory for an answer a run that waits for its next use
// may keep.
const bodyKeptMax = 16 << 10

// begin starts the programs of a hook, which there are.
func (r *programRun) begin(h hook, p *programs) {
	r.hook, r.chain, r.at = h, p.chains[h], 0
	r.fillContext()
}

// fillContext writes struct edge_ctx.
func (r *programRun) fillContext() {
	c, b := r.c, &r.context
	le := binary.LittleEndian
	*b = [contextBytes]byte{}
	le.PutUint32(b[0:], contextBytes)
	le.PutUint32(b[4:], uint32(r.hook))
	le.PutUint64(b[8:], uint64(c.w.r.Wall().UnixNano()))
	if client := c.clientOf(r.x); client.IsValid() {
		a := client.Addr()
		bytes := a.As16()
		copy(b[16:], bytes[:])
		le.PutUint16(b[32:], client.Port())
		b[34] = 6
		if a.Unmap().Is4() {
			b[34] = 4
		}
	}
	if c.on.tls {
		info := c.tls.Info()
		b[35] = 1
		b[38] = byte(info.ECH)
		if r.hook != hookHello {
			le.PutUint16(b[36:], uint16(info.Suite))
			if info.Resumed {
				b[39] = 1
			}
		}
	}
	if x := r.x; x != nil {
		if r.hook == hookResponse {
			le.PutUint16(b[40:], uint16(x.resp.Status))
		}
		b[42], b[43] = x.req.Major, x.req.Minor
	}
}

// run goes on until the chain is through or a slice is used up.
func (r *programRun) run(instances []*bpfvm.Instance) outcome {
	for ; r.at < len(r.chain); r.at++ {
		e := &r.chain[r.at]
		if !r.task.Active() {
			if err := r.task.Start(instances[e.object], e.program, r.context[:]); err != nil {
				panic("BUG: " + err.Error()) // the context is as large as objects were told
			}
		}
		slice := r.slice()
		switch exit := r.task.Run(e.slice * int64(slice) / int64(sliceTime)); exit {
		case bpfvm.Budget:
			return r.sliceUsed(slice)
		case bpfvm.Trap:
			r.tell("%v; client %s", r.task.Trap(), r.c.clientName())
			return runFailed
		case bpfvm.Done:
			if result := int32(r.task.Result()); result < 0 {
				r.tell("%s: program %s returned %d; client %s", e.file, e.program.Name(), result, r.c.clientName())
				return runFailed
			} else if result != resultNext || r.verdict.kind != verdictNone {
				return runPassed
			}
		case bpfvm.Helper:
			return runAsks
		}
	}
	return runPassed
}

// resultNext is EDGE_NEXT of edge.h.
const resultNext = 0

// sliceTime is about what bpfvm's slices take. Time is counted in them, so that a
// program is stopped at the same instruction however busy the machine is.
const sliceTime = 50 * time.Microsecond

// slice is how long r may run now: what is left to the request, a slice at most. If
// programs have used up a slice in this turn already it is a part of one: enough for
// a program that is soon done, while a crowd of others adds up to little.
func (r *programRun) slice() time.Duration {
	slice := sliceTime
	if r.c.w.slices > 0 {
		slice /= crowdedPart
	}
	return min(slice, max(r.c.w.server.cfg.Timeouts.Script-r.used, 1))
}

// crowdedPart is the part of a slice, as a divisor, that a program has when others
// have kept the worker long enough in its turn.
const crowdedPart = 8

// sliceUsed decides whether there will be another one.
func (r *programRun) sliceUsed(slice time.Duration) outcome {
	r.c.w.slices++
	r.used += slice
	e := &r.chain[r.at]
	if limit := r.c.w.server.cfg.Timeouts.Script; r.used >= limit {
		r.task.Stop()
		r.tell("%s: program %s took longer than --script-time %v and was stopped; client %s", e.file, e.program.Name(), limit, r.c.clientName())
		return runStopped
	}
	return runWaits
}

// tell writes a line about a program that failed, one a second at most for each
// hook.
func (r *programRun) tell(format string, args ...any) {
	r.c.w.server.log.limitedTo(1, hookSections[r.hook], format, args...)
}

// wait puts r in line for its next slice.
func (w *worker) wait(r *programRun) {
	r.listed = true
	w.waiting = append(w.waiting, r)
}

// runWaiting gives the one first in line a slice: one a turn, so that whoever comes
// meanwhile is kept waiting for that long and no longer. What the turn has sent
// already is on its way.
func (w *worker) runWaiting() {
	w.r.Flush()
	w.slices = 0
	r := w.waiting[0]
	w.waiting = append(w.waiting[:0], w.waiting[1:]...)
	r.listed = false
	switch {
	case r.c == nil:
		w.keepRun(r)
	case r.x == nil:
		r.c.helloGoesOn()
	default:
		r.c.requestGoesOn(r.x)
	}
	if len(w.waiting) > 0 {
		w.r.After(0, tagPrograms) // the next turn must not sleep
	}
}
