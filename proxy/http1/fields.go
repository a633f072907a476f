package http1

import "edge/proxy/httpmsg"

// parseFields appends the field lines at b[at:] to h, up to the empty line that
// ends them. It gives the index behind that, or 0 when it has not come yet.
// Fields that this package must understand are noted in s.
//
//	field-line = field-name ":" OWS field-value OWS CRLF (RFC 9112, 5)
func parseFields(b []byte, at, most int, h *httpmsg.Header, s *semantics) (int, *Error) {
	fields := h.Fields
	for {
		start := at
		for at < len(b) && httpmsg.Classes[b[at]]&httpmsg.ClassToken != 0 {
			at++
		}
		if at == len(b) {
			return 0, nil
		}
		if b[at] != ':' || at == start {
			if b[at] == '\r' && at == start {
				h.Fields = fields
				return fieldsEnd(b, at)
			}
			return 0, nameFault(b, at, start)
		}
		name := b[start:at:at]
		at++
		for at < len(b) && httpmsg.IsBlank(b[at]) {
			at++
		}
		start = at
		at = httpmsg.ValueEnd(b, at)
		if at+1 >= len(b) {
			return 0, valueCut(b, at)
		}
		if b[at] != '\r' || b[at+1] != '\n' {
			return 0, valueFault(b[at])
		}
		end := at
		for end > start && httpmsg.IsBlank(b[end-1]) {
			end--
		}
		value := b[start:end:end]
		at += len("\r\n")
		if len(fields) >= most {
			return 0, errFields
		}
		fields = append(fields, httpmsg.Field{Name: name, Value: value})
		if e := s.note(name, value); e != nil {
			return 0, e
		}
	}
}

// fieldsEnd looks at the CR that starts the empty line.
func fieldsEnd(b []byte, at int) (int, *Error) {
	if at+1 == len(b) {
		return 0, nil
	}
	if b[at+1] != '\n' {
		return 0, errBareCR
	}
	return at + 2, nil
}

// nameFault says why the byte at ends the field name that began at start.
func nameFault(b []byte, at, start int) *Error {
	switch c := b[at]; {
	case c == '\n':
		return errBareLF
	case httpmsg.IsBlank(c) && at == start:
		return errFold
	case httpmsg.IsBlank(c):
		return errFieldBlank
	case c == '\r':
		return errFieldColon
	}
	return errFieldName
}

// valueCut is the fault of a value whose end is the end of b, if there is one
// already.
func valueCut(b []byte, at int) *Error {
	if at < len(b) && b[at] != '\r' {
		return valueFault(b[at])
	}
	return nil
}

// valueFault says why c, then anything but CRLF, may not stand in a value.
func valueFault(c byte) *Error {
	switch c {
	case '\r':
		return errBareCR
	case '\n':
		return errBareLF
	}
	return errFieldControl
}
