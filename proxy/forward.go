package proxy

import (
	"bytes"
	"errors"
	"net/netip"

	"edge/proxy/httpmsg"
)

// Front is what is known at the front door about the client of a request. Text
// that is empty is not told to the upstream.
type Front struct {
	Peer    netip.Addr // of the connection, or out of its PROXY header; invalid for a unix socket
	Client  netip.Addr // by Trust.Client
	Trusted bool       // by Trust.Has(Peer)
	TLS     bool       // the client came over TLS

	JA4, JA4Inner []byte // of the hello that the network saw, and of the inner one if ECH was accepted
	ECH           []byte // what became of ECH
	ClientCert    []byte // Client-Cert (RFC 9440, 2.2) of a certificate that was verified
	ClientSubject []byte // its subject, and
	ClientDigest  []byte // its SHA-256 in hexadecimal

	RequestID []byte // for a request that brings none to be believed
}

// Forwarder makes the requests that upstreams see out of those that clients sent.
// It belongs to one worker.
type Forwarder struct {
	Via string // our name in Via (RFC 9110, 7.6.3); empty: no Via

	forwardedFor  []byte // the list so far
	forwardedList []byte
	via           []byte
	kept          keptFields
	options       options
}

// keptFields says which fields that may stand once were kept.
type keptFields struct {
	proto, host, requestID, expect bool
}

// ErrOptions: Connection lists more names than anyone needs. The answer is 400.
var ErrOptions = errors.New("proxy: Connection lists too many fields")

// ErrUpgrade: an upstream switched to a protocol that it was not asked for. The
// answer is 502.
var ErrUpgrade = errors.New("proxy: upstream switched protocols unasked")

// Request edits the head of req for an upstream: fields that end here are taken
// out, ours are put in. What depends on the target is not touched. It is called
// once for a request, however often that is sent.
//
// req.Upgrade is cleared where the upgrade does not go on: h2c, which would carry
// requests past us, several protocols at once, and requests with a body.
// req.KeepAlive, which was about the client's connection, is set.
func (f *Forwarder) Request(req *httpmsg.Request, front *Front) error {
	f.forwardedFor, f.forwardedList, f.via = f.forwardedFor[:0], f.forwardedList[:0], f.via[:0]
	f.kept, f.options.count = keptFields{}, 0
	if !f.options.gather(&req.Header) {
		return ErrOptions
	}
	req.KeepAlive = true
	req.Upgrade = req.Upgrade && mayUpgrade(req)
	req.Header.DelFunc(func(field *httpmsg.Field) bool { return !f.goesOn(field, req, front) })
	f.setForwarded(req, front)
	f.setFacts(&req.Header, front)
	return nil
}

// goesOn says whether the upstream sees field, and notes what is needed of those
// that are made anew.
func (f *Forwarder) goesOn(field *httpmsg.Field, req *httpmsg.Request, front *Front) bool {
	kind := kindOf(field.Name)
	switch kind {
	case endToEnd:
		if f.Via != "" && httpmsg.EqualFold(field.Name, "via") {
			f.via = appendList(f.via, field.Value)
			return false
		}
		return f.options.count == 0 || !f.options.has(field.Name)
	case upgrade:
		return req.Upgrade
	case expect: // once: of several, parties have made different things
		again := f.kept.expect
		f.kept.expect = true
		return req.ExpectContinue && !again
	case te:
		// RFC 9110, 10.1.4. Trailers we pass on; codings of the next hop are
		// not the client's business.
		if !listHas(field.Value, "trailers") {
			return false
		}
		field.Value = trailersValue
		return true
	case hopByHop, connection, ours:
		return false
	}
	return front.Trusted && f.trusted(field, kind)
}

var trailersValue = []byte("trailers")

// trusted takes a field of a trusted peer.
func (f *Forwarder) trusted(field *httpmsg.Field, kind fieldKind) bool {
	var kept *bool
	switch kind {
	case forwardedFor:
		f.forwardedFor = appendList(f.forwardedFor, field.Value)
		return false
	case forwardedList:
		if quotesEnd(field.Value) { // else our own element would not be read as one
			f.forwardedList = appendList(f.forwardedList, field.Value)
		}
		return false
	case forwardedAny:
		return true
	case requestID:
		kept = &f.kept.requestID
		if !isRequestID(field.Value) {
			return false
		}
	case forwardedOne:
		if len(field.Name) == len("x-forwarded-host") && httpmsg.EqualFold(field.Name, "x-forwarded-host") {
			kept = &f.kept.host
		} else {
			kept = &f.kept.proto
		}
	}
	first := !*kept && len(field.Value) > 0
	*kept = *kept || first
	return first
}

// appendList appends value to a comma-separated list.
func appendList(list, value []byte) []byte {
	if len(value) == 0 {
		return list
	}
	if len(list) > 0 {
		list = append(list, ',', ' ')
	}
	return append(list, value...)
}

// requestIDBytesMax is the longest request id that is taken from a trusted peer.
const requestIDBytesMax = 128

// isRequestID says that b is fit for logs: visible ASCII, and not long.
func isRequestID(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return len(b) > 0 && len(b) <= requestIDBytesMax
}

// RequestID is the id of a request: that of a trusted peer if it sent one, else
// fresh.
func RequestID(h *httpmsg.Header, trusted bool, fresh []byte) []byte {
	if trusted {
		if id := h.Get("x-request-id"); isRequestID(id) {
			return id
		}
	}
	return fresh
}

// mayUpgrade says that the one protocol asked for may be tunnelled.
func mayUpgrade(req *httpmsg.Request) bool {
	if req.Body == httpmsg.BodyChunked || req.ContentLength > 0 {
		return false
	}
	fields := 0
	for i := range req.Header.Fields {
		if httpmsg.EqualFold(req.Header.Fields[i].Name, "upgrade") {
			fields++
		}
	}
	return fields == 1 && isTunnelled(req.Header.Get("upgrade"))
}

// isTunnelled says that value is one protocol, and not one in which other
// requests could be hidden: HTTP itself (RFC 9110, 7.8) and TLS (RFC 2817).
func isTunnelled(value []byte) bool {
	for _, c := range value {
		if c <= ' ' || c >= 0x7f || c == ',' || c == '"' {
			return false
		}
	}
	for _, name := range []string{"h2c", "h2", "h3", "http", "tls"} {
		if len(value) >= len(name) && httpmsg.EqualFold(value[:len(name)], name) &&
			(len(value) == len(name) || value[len(name)] == '/') {
			return false
		}
	}
	return len(value) > 0
}

// listHas says that a comma-separated list has word, alone or with parameters.
func listHas(list []byte, word string) bool {
	for len(list) > 0 {
		var item []byte
		item, list = cutComma(list)
		if end := bytes.IndexByte(item, ';'); end >= 0 {
			item = httpmsg.TrimBlanks(item[:end])
		}
		if httpmsg.EqualFold(item, word) {
			return true
		}
	}
	return false
}

// cutComma takes the first item off a comma-separated list.
func cutComma(list []byte) (item, rest []byte) {
	if comma := bytes.IndexByte(list, ','); comma >= 0 {
		item, rest = list[:comma], list[comma+1:]
	} else {
		item = list
	}
	return httpmsg.TrimBlanks(item), rest
}
