package http1

import "edge/proxy/httpmsg"

// ResponseHead is one response head from an upstream. Every slice is borrowed
// from the buffer it was parsed from.
type ResponseHead struct {
	Minor  uint8 // HTTP/1.Minor
	Status int   // 100 to 599
	Reason []byte

	Header httpmsg.Header

	// Body is how the body ends (RFC 9112, 6.3); BodyNone after HEAD whatever
	// the fields announce.
	Body httpmsg.BodyKind

	// ContentLength is what Content-Length said, also where there is no body
	// (HEAD, 304); -1 without the field.
	ContentLength int64

	KeepAlive bool // the connection may be used again after the body
	Upgrade   bool // Connection lists Upgrade and an Upgrade field is there
}

// Reset makes r empty, keeping its memory.
func (r *ResponseHead) Reset() {
	h := r.Header
	h.Reset()
	*r = ResponseHead{Header: h, ContentLength: -1}
}

// ParseResponse parses the response head at the start of b into resp, which it
// resets; method is that of the request answered. n and err are as in
// ParseRequest; the Status of an error is 502. 1xx heads are returned as any
// other: the caller calls again for the one that follows.
func (p *Parser) ParseResponse(b []byte, resp *ResponseHead, method []byte) (n int, err error) {
	l := p.limits()
	if !p.scan.ready(b, l.HeadBytes) {
		return 0, nil
	}
	n, e := parseResponse(b, l, resp, method)
	if n > 0 || e != nil {
		p.Reset()
	}
	if e != nil {
		return 0, upstream(e)
	}
	return n, nil
}

func parseResponse(b []byte, l *Limits, resp *ResponseHead, method []byte) (int, *Error) {
	resp.Reset()
	full := len(b) >= l.HeadBytes
	if full {
		b = b[:l.HeadBytes]
	}
	at, e := parseStatusLine(b, resp)
	var s semantics
	if e == nil && at > 0 {
		at, e = parseFields(b, at, l.Fields, &resp.Header, &s)
	}
	if e != nil {
		return 0, e
	}
	if at == 0 {
		if full {
			return 0, errHeadBytes
		}
		return 0, nil
	}
	return at, s.finishResponse(resp, method)
}

// parseStatusLine parses the line at the start of b and gives the index of the
// next one, or 0 when the line is not whole.
//
//	status-line = HTTP-version SP status-code SP [ reason-phrase ] CRLF (RFC 9112, 4)
//
// The blank behind the code may be missing: many servers leave it out with the
// phrase.
func parseStatusLine(b []byte, resp *ResponseHead) (int, *Error) {
	const form = "HTTP/1.x ddd"
	for i := 0; i < len(form) && i < len(b); i++ {
		ok := b[i] == form[i]
		switch form[i] {
		case 'x':
			ok = b[i] == '0' || b[i] == '1'
		case 'd':
			ok = httpmsg.Classes[b[i]]&httpmsg.ClassDigit != 0
		}
		if !ok {
			return 0, errStatusLine
		}
	}
	at := len(form)
	if len(b) <= at {
		return 0, nil
	}
	resp.Minor = b[len("HTTP/1.")] - '0'
	resp.Status = int(b[at-3]-'0')*100 + int(b[at-2]-'0')*10 + int(b[at-1]-'0')
	if resp.Status < 100 || resp.Status > 599 {
		return 0, errStatusCode
	}
	if b[at] == ' ' {
		at++
	} else if b[at] != '\r' {
		return 0, errStatusLine
	}
	start := at
	at = httpmsg.ValueEnd(b, at)
	if at < len(b) && b[at] != '\r' {
		return 0, errReason
	}
	if at+1 >= len(b) {
		return 0, nil
	}
	if b[at+1] != '\n' {
		return 0, errBareCR
	}
	resp.Reason = b[start:at:at]
	return at + 2, nil
}

// finishResponse finds the framing (RFC 9112, 6.3, in its order).
func (s *semantics) finishResponse(resp *ResponseHead, method []byte) *Error {
	resp.KeepAlive = s.keepAlive(resp.Minor)
	resp.Upgrade = s.upgrade(resp.Minor)
	if s.seen&seenLength != 0 {
		resp.ContentLength = s.length
	}
	if s.seen&seenCoding != 0 {
		if e := s.codingFault(resp.Minor); e != nil {
			return e
		}
	}
	head := string(method) == "HEAD"
	switch {
	case resp.Status < 200 || resp.Status == 204:
		// A body must not be announced here. Who does may send it as well, and it
		// would be read as the next response.
		if s.seen&seenCoding != 0 || s.length > 0 {
			resp.KeepAlive = false
		}
	case head || resp.Status == 304:
	case s.seen&seenCoding != 0:
		resp.Body = httpmsg.BodyChunked
	case s.seen&seenLength != 0:
		resp.Body = httpmsg.BodyLength
	default:
		resp.Body = httpmsg.BodyClose
		resp.KeepAlive = false
	}
	return nil
}
