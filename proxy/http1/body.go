package http1

import "edge/proxy/httpmsg"

// Body reads the framing of one message body (RFC 9112, 6 and 7). It holds no
// bytes: Next gives slices of what it is handed. The zero value is a body that
// is done.
//
//	length:   data until remaining is 0                     → done
//	close:    data until the caller says End                → done
//	chunked:  size [ext] CRLF → data → CRLF → size … 0 CRLF → trailers CRLF → done
type Body struct {
	// Trailer holds the trailer fields once a chunked body is done. It borrows
	// the bytes handed to that call of Next.
	Trailer httpmsg.Header

	limits    *Limits
	state     bodyState
	digits    uint8 // of the chunk size
	line      int   // bytes of the chunk line so far
	remaining int64 // of the body (length) or of the chunk
	total     int64 // data bytes announced so far
	scan      scanner
}

type bodyState uint8

const (
	bodyDone bodyState = iota
	bodyFailed
	bodyLength
	bodyClose
	chunkSize // hexadecimal digits
	chunkExt  // behind ";"
	chunkExtName
	chunkExtNameEnd // in the blanks behind a name
	chunkExtValue   // behind "="
	chunkExtToken
	chunkExtQuoted
	chunkExtEscape // behind a backslash in a quoted string
	chunkExtQuotedEnd
	chunkExtEnd  // in blanks that only ";" can end
	chunkLineEnd // LF of the size line
	chunkData
	chunkDataCR
	chunkDataLF
	chunkTrailer
)

// Start begins a body of the given kind; length is that of BodyLength. A nil l
// means DefaultLimits.
func (d *Body) Start(kind httpmsg.BodyKind, length int64, l *Limits) {
	t := d.Trailer
	t.Reset()
	if l == nil {
		l = &DefaultLimits
	}
	*d = Body{Trailer: t, limits: l}
	switch kind {
	case httpmsg.BodyLength:
		if length > 0 {
			d.state, d.remaining = bodyLength, length
		}
	case httpmsg.BodyChunked:
		d.state = chunkSize
	case httpmsg.BodyClose:
		d.state = bodyClose
	}
}

// Done says that the body was read to its end.
func (d *Body) Done() bool { return d.state == bodyDone }

// Remaining is the number of data bytes still announced: of the whole body if
// its length is known, else of the chunk being read.
func (d *Body) Remaining() int64 {
	if d.state == bodyLength || d.state == chunkData {
		return d.remaining
	}
	return 0
}

// Next reads on in b: the bytes that follow those consumed before. data is the
// piece of the body that it found, a part of b; consumed is how many bytes of b
// are used up, framing included; done says that the body is over and that the
// rest of b belongs to the next message.
//
// Call it until it consumes nothing. What it does not consume must be handed to
// it again with more bytes behind: never more than TrailerBytes, for it keeps
// back only an unfinished trailer section.
//
// A non-nil err is always an *Error and final; its Status is for a request body.
func (d *Body) Next(b []byte) (data []byte, consumed int, done bool, err error) {
	var e *Error
	switch d.state {
	case bodyDone:
		return nil, 0, true, nil
	case bodyLength:
		n := int(min(d.remaining, int64(len(b))))
		d.remaining -= int64(n)
		if d.remaining == 0 {
			d.state = bodyDone
		}
		return b[:n:n], n, d.state == bodyDone, nil
	case bodyClose:
		data, e = d.untilClose(b)
		consumed = len(data)
	case bodyFailed:
		e = errBodyFailed
	default:
		data, consumed, e = d.nextChunk(b)
	}
	if e != nil {
		d.state = bodyFailed
		return nil, 0, false, e
	}
	return data, consumed, d.state == bodyDone, nil
}

// untilClose passes everything on, within the limit.
func (d *Body) untilClose(b []byte) ([]byte, *Error) {
	d.total += int64(len(b))
	if d.overLimit() {
		return nil, errBodyBytes
	}
	return b[:len(b):len(b)], nil
}

func (d *Body) overLimit() bool {
	return d.limits.BodyBytes > 0 && d.total > d.limits.BodyBytes
}

// End is told that the peer will send nothing more. It is nil if the body is
// whole (RFC 9112, 8), and ends a body that lasts until the connection closes.
func (d *Body) End() error {
	if d.state == bodyClose {
		d.state = bodyDone
	}
	if d.state != bodyDone {
		d.state = bodyFailed
		return errTruncated
	}
	return nil
}
