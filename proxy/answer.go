package proxy

import (
	"bytes"

	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// Response makes the response that the client sees out of the final head of an
// upstream (or its 101). The fields move from head to resp, and borrow what head
// borrowed. What resp says of the body is its length alone: the bytes come from
// the upstream's connection.
func (f *Forwarder) Response(head *http1.ResponseHead, req *httpmsg.Request, resp *httpmsg.Response) error {
	if head.Status == 101 && !switched(head, req) {
		return ErrUpgrade
	}
	if !f.comeBack(&head.Header, head.Status) {
		return ErrOptions
	}
	resp.Reset(head.Status)
	resp.Header, head.Header = head.Header, resp.Header
	resp.ContentLength = head.ContentLength
	resp.NoBody = head.Body == httpmsg.BodyNone
	if head.Body == httpmsg.BodyChunked {
		resp.ContentLength = -1
	}
	return nil
}

// switched says that the upstream switched to the protocol that req asked for.
func switched(head *http1.ResponseHead, req *httpmsg.Request) bool {
	return req.Upgrade && head.Upgrade &&
		bytes.EqualFold(head.Header.Get("upgrade"), req.Header.Get("upgrade"))
}

// comeBack takes out of h what the client does not see. It is false if Connection
// lists too much.
func (f *Forwarder) comeBack(h *httpmsg.Header, status int) bool {
	f.options.count = 0
	if !f.options.gather(h) {
		return false
	}
	h.DelFunc(func(field *httpmsg.Field) bool { return !f.comesBack(field, status) })
	return true
}

// comesBack says whether the client sees a field of the upstream's.
func (f *Forwarder) comesBack(field *httpmsg.Field, status int) bool {
	switch kindOf(field.Name) {
	case hopByHop, connection, te:
		return false
	case upgrade:
		return status == 101
	}
	return f.options.count == 0 || !f.options.has(field.Name)
}

// Trailer takes out of a trailer section what may not go on: in a request (from
// a client) also all that Request would have set itself.
func (f *Forwarder) Trailer(h *httpmsg.Header, request bool) {
	h.DelFunc(func(field *httpmsg.Field) bool {
		switch kindOf(field.Name) {
		case endToEnd:
			return false
		case hopByHop, connection, te, upgrade:
			return true
		}
		return request
	})
}

// Informational says whether a 1xx head of an upstream, but for 101, goes on to
// the client (RFC 9110, 15.2), and takes out of it what the client does not see:
// never to HTTP/1.0, and 100 only to a client that waits for it and was not sent
// one yet.
func (f *Forwarder) Informational(head *http1.ResponseHead, req *httpmsg.Request, continued bool) bool {
	if req.Major == 1 && req.Minor == 0 {
		return false
	}
	if head.Status == 100 && (continued || !req.ExpectContinue) {
		return false
	}
	return f.comeBack(&head.Header, head.Status)
}
