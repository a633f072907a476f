package gateway

import (
	"encoding/hex"
	"net/netip"
	"strconv"
	"time"
	"unicode/utf8"

	"edge/edge/reactor"
	"edge/proxy"
)

// accessLog is one worker's side of the access log: lines are put together here
// and handed over in batches.
type accessLog struct {
	to    *logFile // nil: there is no access log
	batch []byte
	lines int
	due   bool // tagLog was asked for
}

// logDelay is how long a line may wait for its batch.
const logDelay = 100 * time.Millisecond

// logExchange appends the line of a finished exchange.
func (w *worker) logExchange(c *conn, x *exchange) {
	if l := &w.access; l.begin() {
		l.batch = w.appendLine(l.batch, c, x)
		w.endLine()
	}
}

// begin makes a batch to append a line to; false: there is no access log.
func (l *accessLog) begin() bool {
	if l.to == nil {
		return false
	}
	if l.batch == nil {
		l.batch = l.to.batch()
	}
	return true
}

// endLine has the line that was appended to the batch handed over in time.
func (w *worker) endLine() {
	l := &w.access
	l.lines++
	switch {
	case len(l.batch) >= logBatchBytes-logBatchBytes/4:
		l.flush()
	case !l.due:
		l.due = true
		w.r.After(logDelay, tagLog)
	}
}

// flush hands the batch over.
func (l *accessLog) flush() {
	if l.lines > 0 {
		l.to.put(l.batch, l.lines)
		l.batch, l.lines = nil, 0
	}
}

// appendLine appends one JSON object and a newline.
//
//	time      when the request began, RFC 3339, UTC
//	id        of the request, 32 hexadecimal digits; that of a trusted peer if it sent one
//	peer      address and port, or "unix"
//	for       the address of the client, where a trusted peer says that it is another
//	sni, tls, suite, group, resumed   of the connection; left out without TLS
//	ech, inner   none, grease, rejected or accepted (see echKind); sni is the name
//	          that the network saw, inner the one in a hello that was opened. Behind
//	          a client-facing server sni is the hidden name, empty if it may not show
//	ja4, ja4_inner   of the hello that the network saw; of the inner one with ECH
//	client, client_sha256   subject and hash of the client's certificate, if it has shown one
//	host, method, path, proto         of the request; no host with --log-inner-name=false
//	          where ECH was accepted
//	status, bytes   of the answer; bytes of its body that were put out
//	us        from the request's head to the answer's last byte put out, µs
//	cut       true when the answer did not end as it should
func (w *worker) appendLine(b []byte, c *conn, x *exchange) []byte {
	took := w.r.Now().Sub(x.started)
	b = append(b, `{"time":"`...)
	b = w.r.Wall().Add(-took).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	b = append(b, `","id":"`...)
	if c.w.server.trust.Has(c.peer.Addr()) {
		fresh := x.id.append(w.scratch[:0])
		w.scratch = fresh[:0]
		b = append(b, proxy.RequestID(&x.req.Header, true, fresh)...)
	} else {
		b = x.id.append(b)
	}
	b = append(b, `","peer":"`...)
	b = appendPeer(b, c.peer)
	b = append(b, '"')
	if x.client.IsValid() {
		b = append(x.client.AppendTo(append(b, `,"for":"`...)), '"')
	}
	if c.on.tls {
		info := c.tls.Info()
		b = appendField(b, "sni", []byte(c.outerName()))
		b = append(b, `,"tls":"1.3","suite":"`...)
		b = append(append(b, info.Suite.String()...), `","group":"`...)
		b = append(append(b, info.Group.String()...), `","resumed":`...)
		b = strconv.AppendBool(b, info.Resumed)
		b = append(append(append(b, `,"ech":"`...), c.ech.String()...), '"')
		if inner := c.innerName(); inner != "" {
			b = appendField(b, "inner", []byte(inner))
		}
		b = c.prints.appendFields(b)
		b = c.clientFacts().appendFields(b)
	}
	if !c.hidesHost() {
		b = appendField(b, "host", x.req.Authority)
	}
	b = appendField(b, "method", x.req.Method)
	b = appendField(b, "path", x.req.Target)
	b = append(b, `,"proto":"HTTP/1.`...)
	b = strconv.AppendUint(b, uint64(x.req.Minor), 10)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(x.resp.Status), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, x.bodyBytes, 10)
	b = append(b, `,"us":`...)
	b = strconv.AppendInt(b, took.Microseconds(), 10)
	if x.cut {
		b = append(b, `,"cut":true`...)
	}
	return append(b, "}\n"...)
}

// appendPeer appends what a client is called in logs: peers at a unix socket have
// no address.
func appendPeer(b []byte, peer netip.AddrPort) []byte {
	if !peer.IsValid() {
		return append(b, "unix"...)
	}
	return peer.AppendTo(b)
}

// clientName is what the connection's client is called in logs.
func (c *conn) clientName() string { return string(appendPeer(nil, c.peer)) }

// logValueMax is the most bytes of a peer's value in a line.
const logValueMax = 2048

func appendField(b []byte, name string, value []byte) []byte {
	b = append(b, `,"`...)
	b = append(append(b, name...), `":"`...)
	if len(value) > logValueMax {
		value = value[:logValueMax]
	}
	return append(appendJSON(b, value), '"')
}

// appendJSON appends the inside of a JSON string (RFC 8259, 7). Bytes that are
// not UTF-8 stand as the characters of the same number, so that every value can
// be read, if not told apart.
func appendJSON(b, value []byte) []byte {
	for len(value) > 0 {
		c := value[0]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(value)
			if r == utf8.RuneError && size == 1 {
				b = appendEscape(b, c)
			} else {
				b = append(b, value[:size]...)
			}
			value = value[size:]
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = appendEscape(b, c)
		default:
			b = append(b, c)
		}
		value = value[1:]
	}
	return b
}

func appendEscape(b []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// requestID names a request: 8 random bytes of the worker's, then a count.
type requestID struct {
	worker *[8]byte
	count  uint64
}

func (id requestID) append(b []byte) []byte {
	b = hex.AppendEncode(b, id.worker[:])
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[id.count>>shift&15])
	}
	return b
}

// newID gives the next request its name.
func (w *worker) newID() requestID {
	w.requestCount++
	return requestID{&w.idPrefix, w.requestCount}
}

// Fired implements reactor.Handler.
func (w *worker) Fired(tag uint64) {
	switch tag {
	case tagListeners:
		w.closeListeners()
	case tagAcceptAnew:
		w.acceptAnew()
	case tagDrain:
		w.drainIsOver()
	case tagLog:
		w.access.due = false
		w.access.flush()
	case tagWaiting:
		w.expireWaiting()
	case tagTrim:
		w.trimCoders()
	case tagPrograms, tagCoders, tagFed, tagFreed: // TurnEnd goes on with them
	}
}

// Tags of Reactor.After.
const (
	tagListeners = 1 + iota
	tagAcceptAnew
	tagDrain
	tagLog
	tagPrograms
	tagCoders
	tagTrim
	tagFed
	tagWaiting
	tagFreed
)

var _ reactor.Handler = (*worker)(nil)
