package http1

import (
	"errors"
	"strconv"

	"edge/proxy/httpmsg"
)

// ErrUnwritable: the method, path, query or authority of a request holds bytes
// that a request line or Host cannot carry. Only whoever changed the request
// after it was parsed can have put them there.
var ErrUnwritable = errors.New("http1: request with a malformed method, target or authority")

// AppendRequestHead appends the head of req, as HTTP/1.1 and in origin-form, to
// dst. It uses Method, Path, Query, Authority (as Host), Header, Body,
// ContentLength, KeepAlive and Upgrade, and passes over Host and the framing
// fields in Header. dst comes back unchanged with an error.
func AppendRequestHead(dst []byte, req *httpmsg.Request) ([]byte, Framing, error) {
	if !isToken(req.Method) || !validPath(req.Path) || !isTarget(req.Query) ||
		len(req.Authority) > 0 && checkAuthority(req.Authority) != nil {
		return dst, Framing{}, ErrUnwritable
	}
	dst = append(dst, req.Method...)
	dst = append(dst, ' ')
	dst = append(dst, req.Path...)
	if req.Query != nil {
		dst = append(dst, '?')
		dst = append(dst, req.Query...)
	}
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, req.Authority...)
	dst = append(dst, '\r', '\n')
	f := Framing{Body: req.Body, Close: !req.KeepAlive}
	for i := range req.Header.Fields {
		field := &req.Header.Fields[i]
		if isFraming(field.Name) || httpmsg.EqualFold(field.Name, "host") {
			continue
		}
		if !validField(field) {
			f.Dropped++
			continue
		}
		dst = appendField(dst, field)
	}
	return appendRequestFraming(dst, req), f, nil
}

func appendRequestFraming(dst []byte, req *httpmsg.Request) []byte {
	switch req.Body {
	case httpmsg.BodyChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case httpmsg.BodyLength:
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, req.ContentLength, 10)
		dst = append(dst, '\r', '\n')
	case httpmsg.BodyClose:
		panic("BUG: http1: request body that ends with the connection")
	}
	switch {
	case req.Upgrade:
		dst = append(dst, "Connection: upgrade\r\n"...)
	case !req.KeepAlive:
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, '\r', '\n')
}

// validPath says that b is an absolute path or "*".
func validPath(b []byte) bool {
	return len(b) > 0 && (b[0] == '/' || string(b) == "*") && isTarget(b)
}

func isTarget(b []byte) bool {
	for _, c := range b {
		if classes[c]&classTarget == 0 {
			return false
		}
	}
	return true
}
