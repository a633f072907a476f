package http1

import (
	"slices"
	"strconv"

	"edge/proxy/httpmsg"
)

// Framing is how a message whose head was written must go on.
type Framing struct {
	// Body is how the body is to be sent: nothing, as it is (BodyLength,
	// BodyClose) or in chunks.
	Body httpmsg.BodyKind

	// Close: the connection cannot be used after this message.
	Close bool

	// Dropped counts fields that were left out because their name is no token or
	// their value holds a control byte: a fault of whoever made them, worth a
	// line in the log. The message stays well formed without them.
	Dropped int
}

// AppendResponseHead appends the head of the final response resp, or of a 101,
// to dst. minor and keepAlive are those of the request; date is an HTTP date
// (httpmsg.Date), written unless resp has one.
//
// It alone decides the framing: Content-Length, Transfer-Encoding, Connection,
// Keep-Alive and Trailer among resp's fields are passed over. A body of unknown
// length is chunked for HTTP/1.1 and ends with the connection for HTTP/1.0.
func AppendResponseHead(dst []byte, resp *httpmsg.Response, date []byte, minor uint8, keepAlive bool) ([]byte, Framing) {
	f := responseFraming(resp, minor, keepAlive)
	dst = appendStatusLine(dst, resp.Status)
	dated := false
	for i := range resp.Header.Fields {
		field := &resp.Header.Fields[i]
		switch {
		case isFraming(field.Name):
			continue
		case !validField(field):
			f.Dropped++
			continue
		case len(field.Name) == len("date") && httpmsg.EqualFold(field.Name, "date"):
			dated = true
		}
		dst = appendField(dst, field)
	}
	if !dated && len(date) > 0 {
		dst = append(dst, "Date: "...)
		dst = append(dst, date...)
		dst = append(dst, '\r', '\n')
	}
	return appendFraming(dst, resp, f, minor), f
}

// responseFraming: RFC 9112, 6.
func responseFraming(resp *httpmsg.Response, minor uint8, keepAlive bool) Framing {
	f := Framing{Close: resp.Close || !keepAlive}
	switch {
	case resp.Status == 101:
		f.Close = false // the connection goes on, with another protocol
	case resp.Status == 204, resp.Status == 304, resp.NoBody:
	case resp.ContentLength >= 0:
		f.Body = httpmsg.BodyLength
	case minor > 0:
		f.Body = httpmsg.BodyChunked
	default:
		f.Body = httpmsg.BodyClose
		f.Close = true
	}
	return f
}

// appendFraming appends the fields that say how the message ends, and the empty
// line.
func appendFraming(dst []byte, resp *httpmsg.Response, f Framing, minor uint8) []byte {
	switch {
	case resp.Status == 101:
		return append(dst, "Connection: upgrade\r\n\r\n"...)
	case f.Body == httpmsg.BodyChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case resp.Status == 204, resp.Status == 304:
		// RFC 9110, 8.6: never with 204; with 304 it would have to be that of
		// the 200, which is more than the maker of the response may know.
	case resp.ContentLength >= 0:
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, resp.ContentLength, 10)
		dst = append(dst, '\r', '\n')
	}
	switch {
	case f.Close:
		dst = append(dst, "Connection: close\r\n"...)
	case minor == 0: // RFC 9112, 9.3
		dst = append(dst, "Connection: keep-alive\r\n"...)
	}
	return append(dst, '\r', '\n')
}

// AppendInformational appends a whole 1xx response (100, 103...) with the fields
// of h, which may be nil. It must not be sent to HTTP/1.0 clients (RFC 9110, 15.2).
func AppendInformational(dst []byte, status int, h *httpmsg.Header) []byte {
	dst = appendStatusLine(dst, status)
	if h != nil {
		dst, _ = appendFields(dst, h)
	}
	return append(dst, '\r', '\n')
}

// statusLines holds the status line of each status that has a text.
var statusLines = makeStatusLines()

func makeStatusLines() (t [600]string) {
	for status := 100; status < len(t); status++ {
		t[status] = "HTTP/1.1 " + strconv.Itoa(status) + " " + httpmsg.StatusText(status) + "\r\n"
	}
	return t
}

func appendStatusLine(dst []byte, status int) []byte {
	if status < 100 || status > 599 {
		panic("BUG: http1: response with status " + strconv.Itoa(status))
	}
	return append(dst, statusLines[status]...)
}

// appendFields appends the fields of h that are well formed and not framing, and
// counts those that are malformed.
func appendFields(dst []byte, h *httpmsg.Header) ([]byte, int) {
	dropped := 0
	for i := range h.Fields {
		field := &h.Fields[i]
		if isFraming(field.Name) {
			continue
		}
		if !validField(field) {
			dropped++
			continue
		}
		dst = appendField(dst, field)
	}
	return dst, dropped
}

// appendField appends one field line. It grows dst once, for it runs for every
// field of every response.
func appendField(dst []byte, f *httpmsg.Field) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(f.Name)+len(f.Value)+len(": \r\n"))
	dst = dst[:at+len(f.Name)+len(f.Value)+len(": \r\n")]
	at += copy(dst[at:], f.Name)
	dst[at], dst[at+1] = ':', ' '
	at += 2 + copy(dst[at+2:], f.Value)
	dst[at], dst[at+1] = '\r', '\n'
	return dst
}

// validField keeps CR, LF, NUL and their kin out of what we send.
func validField(f *httpmsg.Field) bool {
	return httpmsg.IsToken(f.Name) && httpmsg.IsValue(f.Value)
}

// isFraming says that a field of this name is written by this package alone.
func isFraming(name []byte) bool {
	switch len(name) {
	case len("trailer"):
		return httpmsg.EqualFold(name, "trailer")
	case len("connection"):
		return httpmsg.EqualFold(name, "connection") || httpmsg.EqualFold(name, "keep-alive")
	case len("content-length"):
		return httpmsg.EqualFold(name, "content-length")
	case len("transfer-encoding"):
		return httpmsg.EqualFold(name, "transfer-encoding")
	}
	return false
}
