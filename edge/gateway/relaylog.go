package gateway

import (
	"strconv"

	"edge/edge/reactor"
)

// relayFacts is what the access log says of a relayed connection.
type relayFacts struct {
	started reactor.Instant // when its hello was there
	sni     string          // the name that the network saw
	inner   string          // the name in the hello that was opened, in split mode
	prints  prints
	ech     string
	failed  bool // the target was not reached
}

// take notes what is known of the connection while its hello is there.
func (f *relayFacts) take(c *conn, opened bool) {
	*f = relayFacts{started: c.w.r.Now(), sni: c.outerName(), prints: c.prints, ech: "relayed"}
	if opened {
		f.ech, f.inner = c.ech.String(), c.innerName()
	}
}

// logRelay counts a relay that is over, and appends its line to the access log:
//
//	time         when its hello was there
//	peer         address and port, or "unix"
//	sni, ech, inner, ja4   as for a request; ech is relayed unless the hello was
//	             opened and went to a hidden origin
//	relay        where the connection went
//	in, out      bytes to there, and to the client
//	us           until its end, µs
//	failed       true when the target was not reached
func (w *worker) logRelay(r *relayed) {
	in, out := r.sides[sideTarget].into.Total(), r.sides[sideClient].into.Total()
	w.stats.relayBytes.Add(in + out)
	l, f := &w.access, &r.facts
	if !l.begin() {
		return
	}
	took := w.r.Now().Sub(f.started)
	b := append(l.batch, `{"time":"`...)
	b = w.r.Wall().Add(-took).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, `","peer":"`...)
	b = append(appendPeer(b, r.peer), '"')
	b = appendField(b, "sni", []byte(f.sni))
	b = appendField(b, "ech", []byte(f.ech))
	if f.inner != "" {
		b = appendField(b, "inner", []byte(f.inner))
	}
	b = f.prints.appendFields(b)
	b = appendField(b, "relay", []byte(r.to.String()))
	b = strconv.AppendInt(append(b, `,"in":`...), in, 10)
	b = strconv.AppendInt(append(b, `,"out":`...), out, 10)
	b = strconv.AppendInt(append(b, `,"us":`...), took.Microseconds(), 10)
	if f.failed {
		b = append(b, `,"failed":true`...)
	}
	l.batch = append(b, "}\n"...)
	w.endLine()
}
