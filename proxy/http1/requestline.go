package http1

import (
	"bytes"

	"edge/proxy/httpmsg"
)

// request-line = method SP request-target SP HTTP-version CRLF (RFC 9112, 3)

const (
	version10 = "HTTP/1.0\r\n"
	version11 = "HTTP/1.1\r\n"
)

// parseRequestLine parses the line at b[at:] and gives the index of the next
// one, or 0 when the line is not whole.
func parseRequestLine(b []byte, at int, l *Limits, req *httpmsg.Request) (int, *Error) {
	full := len(b)-at >= l.RequestLineBytes
	if full {
		b = b[:at+l.RequestLineBytes]
	}
	next, e := parseLineParts(b, at, l, req)
	if e == nil && next == 0 && full {
		e = errLineBytes
	}
	return next, e
}

func parseLineParts(b []byte, at int, l *Limits, req *httpmsg.Request) (int, *Error) {
	start := at
	for at < len(b) && httpmsg.Classes[b[at]]&httpmsg.ClassToken != 0 {
		at++
	}
	if at-start > l.MethodBytes {
		return 0, errMethodBytes
	}
	if at == len(b) {
		return 0, nil
	}
	if b[at] != ' ' || at == start {
		return 0, lineFault(b[at], errMethod)
	}
	req.Method = b[start:at:at]
	at++

	start = at
	for at < len(b) && httpmsg.Classes[b[at]]&httpmsg.ClassTarget != 0 {
		at++
	}
	if at == len(b) {
		return 0, nil
	}
	if b[at] != ' ' || at == start {
		return 0, lineFault(b[at], errTargetBytes)
	}
	req.Target = b[start:at:at]
	at++

	if len(b)-at < len(version11) || string(b[at:at+len(version11)]) != version11 {
		if e := parseOtherVersion(b[at:], req); e != nil || len(b)-at < len(version10) {
			return 0, e
		}
		req.Minor = 0
	} else {
		req.Minor = 1
	}
	req.Major = 1
	if e := parseTarget(req); e != nil {
		return 0, e
	}
	return at + len(version11), nil
}

// lineFault names what is wrong when the byte c ends a part of the line early.
func lineFault(c byte, otherwise *Error) *Error {
	switch c {
	case '\r':
		return errVersionForm
	case '\n':
		return errBareLF
	}
	return otherwise
}

// parseOtherVersion looks at the version and line end in b, which is anything
// but HTTP/1.1 and CRLF. It is nil if b is HTTP/1.0, or a part of either.
func parseOtherVersion(b []byte, req *httpmsg.Request) *Error {
	const form = "HTTP/d.d"
	for i := 0; i < len(form) && i < len(b); i++ {
		ok := b[i] == form[i]
		if form[i] == 'd' {
			ok = httpmsg.Classes[b[i]]&httpmsg.ClassDigit != 0
		}
		if !ok {
			return lineFault(b[i], errVersionForm)
		}
	}
	if len(b) <= len(form) {
		return nil
	}
	switch string(b[:len(form)]) {
	case version10[:len(form)], version11[:len(form)]:
		return versionEnd(b[len(form):])
	case "HTTP/2.0":
		if string(req.Method) == "PRI" && string(req.Target) == "*" {
			return ErrHTTP2Preface
		}
	}
	return errVersion
}

// versionEnd looks at what follows a version: at least one byte.
func versionEnd(b []byte) *Error {
	switch {
	case httpmsg.IsBlank(b[0]):
		return errVersionBlank
	case b[0] != '\r':
		return lineFault(b[0], errVersionForm)
	case len(b) > 1 && b[1] != '\n':
		return errBareCR
	}
	return nil
}

var (
	slash    = []byte("/")
	asterisk = []byte("*")
)

// parseTarget splits the request-target by its form (RFC 9112, 3.2) into
// Scheme, Authority, Path and Query.
func parseTarget(req *httpmsg.Request) *Error {
	t := req.Target
	if string(req.Method) == "CONNECT" {
		return errConnect
	}
	if t[0] == '/' { // origin-form
		req.Path, req.Query = splitQuery(t)
		return nil
	}
	if string(t) == "*" {
		if string(req.Method) != "OPTIONS" {
			return errAsterisk
		}
		req.Path = t
		return nil
	}
	return parseAbsolute(t, req)
}

// parseAbsolute takes apart absolute-form (RFC 9112, 3.2.2).
func parseAbsolute(t []byte, req *httpmsg.Request) *Error {
	colon := bytes.IndexByte(t, ':')
	if colon < 0 || len(t) < colon+3 || t[colon+1] != '/' || t[colon+2] != '/' {
		return errTarget
	}
	req.Scheme = t[:colon:colon]
	if !httpmsg.EqualFold(req.Scheme, "http") && !httpmsg.EqualFold(req.Scheme, "https") {
		return errScheme
	}
	rest := t[colon+3:]
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	req.Authority = rest[:end:end]
	if e := httpmsg.CheckAuthority(req.Authority); e != nil {
		return e
	}
	rest = rest[end:]
	switch {
	case len(rest) == 0 && string(req.Method) == "OPTIONS":
		req.Path = asterisk // RFC 9112, 3.2.4
	case len(rest) == 0:
		req.Path = slash
	case rest[0] == '?':
		req.Path, req.Query = slash, rest[1:]
	default:
		req.Path, req.Query = splitQuery(rest)
	}
	return nil
}

func splitQuery(t []byte) (path, query []byte) {
	q := bytes.IndexByte(t, '?')
	if q < 0 {
		return t, nil
	}
	return t[:q:q], t[q+1:]
}
