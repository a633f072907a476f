package http1

import (
	"bytes"

	"edge/proxy/httpmsg"
)

// Parser reads the heads of one connection, one after the other. The zero
// value is ready and uses DefaultLimits.
//
// A head is parsed in one pass when it arrives whole, as nearly all do. When it
// does not, the parser remembers how far it has looked for the head's end and
// parses again only where something can come of it: bytes that arrive one at a
// time cost one look each.
type Parser struct {
	Limits *Limits // nil: DefaultLimits

	scan scanner
}

// Reset forgets what was seen of an unfinished head.
func (p *Parser) Reset() { p.scan = scanner{} }

func (p *Parser) limits() *Limits {
	if p.Limits == nil {
		return &DefaultLimits
	}
	return p.Limits
}

// startBytes is how much of a section is parsed however it arrives, so that a
// peer that speaks another protocol is told at once.
const startBytes = 32

// scanner finds the places in a growing section of lines where a parse from
// its start may give a result.
type scanner struct {
	seen  int  // bytes looked at
	lines int  // line ends among them
	tried bool // the section was parsed once
}

// ready says whether to parse b, which is what ready saw last and more. It says
// yes when b is new or short, when one of the first two lines ended, when an
// empty line or a bare LF came, and when b reached most. A fault elsewhere in the
// section comes out when the section ends.
func (s *scanner) ready(b []byte, most int) bool {
	if !s.tried {
		s.tried = true
		return true
	}
	for {
		k := bytes.IndexByte(b[s.seen:], '\n')
		if k < 0 {
			s.seen = len(b)
			return len(b) >= most || len(b) <= startBytes
		}
		at := s.seen + k
		s.seen = at + 1
		s.lines++
		if s.lines <= 2 || b[at-1] != '\r' || b[at-2] == '\n' {
			return true
		}
	}
}

// ParseRequest parses the request head at the start of b into req, which it
// resets. n is the length of the head; the body, if any, starts there. n is 0
// when b holds only a part of the head: call again with the same bytes and more.
// A non-nil err is always an *Error and final. req borrows b.
func (p *Parser) ParseRequest(b []byte, req *httpmsg.Request) (n int, err error) {
	l := p.limits()
	most := l.HeadBytes
	if p.scan.lines == 0 {
		most = min(most, l.RequestLineBytes)
	}
	if !p.scan.ready(b, most) {
		return 0, nil
	}
	n, e := parseRequest(b, l, req)
	if n > 0 || e != nil {
		p.Reset()
	}
	if e != nil {
		return 0, e
	}
	return n, nil
}

// parseRequest is ParseRequest without memory of earlier calls. It reads from
// left to right and looks at no byte behind the limits, so that what it says of
// a part of a head is what it says of the whole.
func parseRequest(b []byte, l *Limits, req *httpmsg.Request) (int, *Error) {
	req.Reset()
	full := len(b) >= l.HeadBytes
	if full {
		b = b[:l.HeadBytes]
	}
	at, e := skipEmptyLine(b)
	if e != nil {
		return 0, e
	}
	at, e = parseRequestLine(b, at, l, req)
	if e != nil {
		return 0, e
	}
	var s semantics
	if at > 0 {
		at, e = parseFields(b, at, l.Fields, &req.Header, &s)
		if e != nil {
			return 0, e
		}
	}
	if at == 0 {
		if full {
			return 0, errHeadBytes
		}
		return 0, nil
	}
	return at, s.finishRequest(req, l)
}

// skipEmptyLine passes over one CRLF before the request line: some clients send
// it after a body (RFC 9112, 2.2). A lone CR at the end of b is passed over too:
// then nothing is left to parse yet.
func skipEmptyLine(b []byte) (at int, e *Error) {
	if len(b) == 0 || b[0] != '\r' && b[0] != '\n' {
		return 0, nil
	}
	if b[0] == '\n' {
		return 0, errBareLF
	}
	if len(b) < 2 {
		return 1, nil
	}
	if b[1] != '\n' {
		return 0, errBareCR
	}
	if len(b) > 2 && (b[2] == '\r' || b[2] == '\n') {
		return 0, errEmptyLine
	}
	return 2, nil
}
