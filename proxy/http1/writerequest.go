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
// dst. It uses Method, Path, Query, Authority, Header, Body, ContentLength,
// KeepAlive and Upgrade, and passes over Host and the framing fields in Header.
// base, an absolute path without a slash at its end, or empty, is put before the
// path. host is sent as Host in place of the authority unless it is empty. dst
// comes back unchanged with an error.
func AppendRequestHead(dst []byte, req *httpmsg.Request, base, host string) ([]byte, Framing, error) {
	if !writable(req) {
		return dst, Framing{}, ErrUnwritable
	}
	dst = append(dst, req.Method...)
	dst = append(dst, ' ')
	if req.Path[0] == '/' {
		dst = append(dst, base...)
	}
	dst = append(dst, req.Path...)
	if req.Query != nil {
		dst = append(dst, '?')
		dst = append(dst, req.Query...)
	}
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	if host != "" {
		dst = append(dst, host...)
	} else {
		dst = append(dst, req.Authority...)
	}
	dst = append(dst, '\r', '\n')
	f := Framing{Body: req.Body, Close: !req.KeepAlive}
	te := false
	for i := range req.Header.Fields {
		field := &req.Header.Fields[i]
		switch {
		case isFraming(field.Name), httpmsg.EqualFold(field.Name, "host"):
			continue
		case !validField(field):
			f.Dropped++
			continue
		case httpmsg.EqualFold(field.Name, "te"):
			te = true
		}
		dst = appendField(dst, field)
	}
	dst = appendRequestFraming(dst, req)
	return appendOptions(dst, req, te), f, nil
}

// writable says that a request line and Host can carry what is in req.
func writable(req *httpmsg.Request) bool {
	return httpmsg.IsToken(req.Method) && validPath(req.Path) && httpmsg.IsTarget(req.Query) &&
		(len(req.Authority) == 0 || httpmsg.CheckAuthority(req.Authority) == nil)
}

// appendRequestFraming: RFC 9112, 6.
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
	return dst
}

// appendOptions appends Connection, which lists TE and Upgrade where they are
// sent (RFC 9110, 7.8 and 10.1.4), and the empty line.
func appendOptions(dst []byte, req *httpmsg.Request, te bool) []byte {
	option := ""
	switch {
	case req.Upgrade:
		option = "upgrade"
	case !req.KeepAlive:
		option = "close"
	}
	switch {
	case te && option != "":
		dst = append(dst, "Connection: te, "...)
		dst = append(dst, option...)
		dst = append(dst, '\r', '\n')
	case te:
		dst = append(dst, "Connection: te\r\n"...)
	case option != "":
		dst = append(dst, "Connection: "...)
		dst = append(dst, option...)
		dst = append(dst, '\r', '\n')
	}
	return append(dst, '\r', '\n')
}

// validPath says that b is an absolute path or "*".
func validPath(b []byte) bool {
	return len(b) > 0 && (b[0] == '/' || string(b) == "*") && httpmsg.IsTarget(b)
}
