package http1

import (
	"bytes"

	"edge/proxy/httpmsg"
)

// semantics gathers what the fields say about the message itself.
type semantics struct {
	host, coding []byte
	length       int64
	seen         uint16 // fields that came, and options that Connection listed
}

// Bits of semantics.seen.
const (
	seenHost = 1 << iota
	seenLength
	seenCoding
	seenContinue
	seenOtherExpect
	seenUpgrade
	optionClose
	optionKeepAlive
	optionUpgrade
)

// note takes in one field. Nearly all fields leave at the switch.
func (s *semantics) note(name, value []byte) *Error {
	switch len(name) {
	case len("host"):
		if httpmsg.EqualFold(name, "host") {
			return s.noteHost(value)
		}
	case len("expect"):
		if httpmsg.EqualFold(name, "expect") {
			s.noteExpect(value)
		}
	case len("upgrade"):
		if httpmsg.EqualFold(name, "upgrade") {
			s.seen |= seenUpgrade
		}
	case len("connection"):
		if httpmsg.EqualFold(name, "connection") {
			s.noteConnection(value)
		}
	case len("content-length"):
		if httpmsg.EqualFold(name, "content-length") {
			return s.noteLength(value)
		}
	case len("transfer-encoding"):
		if httpmsg.EqualFold(name, "transfer-encoding") {
			return s.noteCoding(value)
		}
	}
	return nil
}

func (s *semantics) noteHost(value []byte) *Error {
	if s.seen&seenHost != 0 {
		return errHostRepeated
	}
	s.seen |= seenHost
	s.host = value
	return nil
}

func (s *semantics) noteExpect(value []byte) {
	if httpmsg.EqualFold(value, "100-continue") {
		s.seen |= seenContinue
	} else {
		s.seen |= seenOtherExpect
	}
}

// noteConnection takes the options out of a Connection list (RFC 9110, 7.6.1).
func (s *semantics) noteConnection(value []byte) {
	for len(value) > 0 {
		option := value
		if comma := bytes.IndexByte(value, ','); comma >= 0 {
			option, value = value[:comma], value[comma+1:]
		} else {
			value = nil
		}
		switch option = httpmsg.TrimBlanks(option); {
		case httpmsg.EqualFold(option, "close"):
			s.seen |= optionClose
		case httpmsg.EqualFold(option, "keep-alive"):
			s.seen |= optionKeepAlive
		case httpmsg.EqualFold(option, "upgrade"):
			s.seen |= optionUpgrade
		}
	}
}

// noteLength refuses a second Content-Length even if it is equal to the first:
// RFC 9112, 6.3 allows either, and no honest sender makes two.
func (s *semantics) noteLength(value []byte) *Error {
	if s.seen&seenLength != 0 {
		return errLengthTwice
	}
	s.seen |= seenLength
	n, ok := httpmsg.ParseLength(value)
	if !ok {
		return errLength
	}
	s.length = n
	return nil
}

func (s *semantics) noteCoding(value []byte) *Error {
	if s.seen&seenCoding != 0 {
		return errCodingTwice
	}
	s.seen |= seenCoding
	s.coding = value
	return nil
}

// codingListFault is nil if value is chunked and nothing else (RFC 9112, 6.1 and 7).
func codingListFault(value []byte) *Error {
	if httpmsg.EqualFold(value, "chunked") {
		return nil
	}
	chunked := false
	for rest, more := value, true; more; {
		var coding []byte
		coding, rest, more = bytes.Cut(rest, []byte{','})
		coding = httpmsg.TrimBlanks(coding)
		if !httpmsg.IsToken(coding) {
			return errCodingForm
		}
		if chunked {
			return errCodingOrder
		}
		chunked = httpmsg.EqualFold(coding, "chunked")
	}
	return errCodingUnknown
}

// finishRequest sets what follows from all fields together.
func (s *semantics) finishRequest(req *httpmsg.Request, l *Limits) *Error {
	if e := s.finishHost(req); e != nil {
		return e
	}
	switch {
	case s.seen&seenCoding != 0:
		if e := s.codingFault(req.Minor); e != nil {
			return e
		}
		req.Body = httpmsg.BodyChunked
	case s.seen&seenLength != 0:
		if l.BodyBytes > 0 && s.length > l.BodyBytes {
			return errBodyBytes
		}
		req.Body = httpmsg.BodyLength
		req.ContentLength = s.length
	}
	req.KeepAlive = s.keepAlive(req.Minor)
	req.Upgrade = s.upgrade(req.Minor)
	return s.finishExpect(req)
}

// finishExpect: RFC 9110, 10.1.1. HTTP/1.0 knows no expectations, and who sends
// no body waits for no 100.
func (s *semantics) finishExpect(req *httpmsg.Request) *Error {
	if req.Minor == 0 {
		return nil
	}
	if s.seen&seenOtherExpect != 0 {
		return errExpect
	}
	body := req.Body == httpmsg.BodyChunked || req.ContentLength > 0
	req.ExpectContinue = body && s.seen&seenContinue != 0
	return nil
}

// codingFault checks Transfer-Encoding within the whole message.
func (s *semantics) codingFault(minor uint8) *Error {
	if minor == 0 {
		return errCodingVersion
	}
	if s.seen&seenLength != 0 {
		return errLengthCoding
	}
	return codingListFault(s.coding)
}

// keepAlive: RFC 9112, 9.3.
func (s *semantics) keepAlive(minor uint8) bool {
	if s.seen&optionClose != 0 {
		return false
	}
	return minor > 0 || s.seen&optionKeepAlive != 0
}

// upgrade: the field counts only if Connection lists it, and not in HTTP/1.0
// (RFC 9110, 7.8).
func (s *semantics) upgrade(minor uint8) bool {
	const both = seenUpgrade | optionUpgrade
	return s.seen&both == both && minor > 0
}

// finishHost finds the authority (RFC 9112, 3.2 and 3.3). That of the target
// wins, and takes the place of the Host field so that nobody downstream sees
// another one.
func (s *semantics) finishHost(req *httpmsg.Request) *Error {
	if s.seen&seenHost == 0 {
		if req.Minor > 0 {
			return errHostMissing
		}
		return nil
	}
	if e := httpmsg.CheckAuthority(s.host); e != nil {
		return e
	}
	if req.Authority == nil {
		req.Authority = s.host
		return nil
	}
	for i := range req.Header.Fields {
		if f := &req.Header.Fields[i]; httpmsg.EqualFold(f.Name, "host") {
			f.Value = req.Authority
		}
	}
	return nil
}
