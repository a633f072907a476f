package http1

import (
	"math"

	"edge/proxy/httpmsg"
)

// The chunked transfer coding (RFC 9112, 7.1):
//
//	chunk          = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
//	chunk-size     = 1*HEXDIG                               at most 16 digits
//	chunk-ext      = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
//	                                                        no blank right behind the size
//	last-chunk     = 1*"0" [ chunk-ext ] CRLF, then the trailer section and CRLF

// nextChunk is Next within a chunked body. It stops behind each piece of data.
func (d *Body) nextChunk(b []byte) (data []byte, consumed int, e *Error) {
	at := 0
	for at < len(b) {
		switch d.state {
		case chunkData:
			n := int(min(d.remaining, int64(len(b)-at)))
			d.remaining -= int64(n)
			if d.remaining == 0 {
				d.state = chunkDataCR
			}
			data = b[at : at+n : at+n]
			at += n
			n, e = d.chunkDataEnd(b[at:])
			return data, at + n, e
		case chunkDataCR, chunkDataLF:
			n, e := d.chunkDataEnd(b[at:])
			if e != nil {
				return nil, 0, e
			}
			at += n
		case chunkTrailer:
			n, e := d.trailer(b[at:])
			return nil, at + n, e
		default:
			n, e := d.chunkLine(b[at:])
			if e != nil {
				return nil, 0, e
			}
			at += n
		}
	}
	return nil, at, nil
}

// chunkDataEnd takes what is there of the CRLF behind the data.
func (d *Body) chunkDataEnd(b []byte) (n int, e *Error) {
	if d.state == chunkDataCR && n < len(b) {
		if b[n] != '\r' {
			return 0, errChunkEnd
		}
		d.state = chunkDataLF
		n++
	}
	if d.state == chunkDataLF && n < len(b) {
		if b[n] != '\n' {
			return 0, errChunkEnd
		}
		d.state, d.digits, d.line = chunkSize, 0, 0
		n++
	}
	return n, nil
}

// chunkLine takes what is there of a chunk size line.
func (d *Body) chunkLine(b []byte) (n int, e *Error) {
	for n < len(b) {
		c := b[n]
		n++
		d.line++
		if d.line > d.limits.ChunkLineBytes {
			return 0, errChunkLine
		}
		if d.state == chunkLineEnd {
			if c != '\n' {
				return 0, errBareCR
			}
			return n, d.chunkBegin()
		}
		if d.state == chunkSize {
			e = d.sizeByte(c)
		} else {
			e = d.extByte(c)
		}
		if e != nil {
			return 0, e
		}
	}
	return n, nil
}

// sizeByte takes one byte of the size, or the one that ends it.
func (d *Body) sizeByte(c byte) *Error {
	if v := hexValue(c); v >= 0 {
		if d.digits == 16 || d.remaining > math.MaxInt64>>4 {
			return errChunkOverflow
		}
		d.digits++
		d.remaining = d.remaining<<4 | int64(v)
		return nil
	}
	switch {
	case d.digits == 0:
		return errChunkSize
	case c == '\r':
		d.state = chunkLineEnd
	case c == ';':
		d.state = chunkExt
	case httpmsg.IsBlank(c):
		return errChunkExt
	case c == '\n':
		return errBareLF
	default:
		return errChunkSize
	}
	return nil
}

// hexValue is the value of a hexadecimal digit, -1 for any other byte.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// chunkBegin acts on a size line that is whole.
func (d *Body) chunkBegin() *Error {
	if d.remaining == 0 {
		d.state, d.scan = chunkTrailer, scanner{}
		return nil
	}
	if d.total > math.MaxInt64-d.remaining {
		return errChunkOverflow
	}
	d.total += d.remaining
	if d.overLimit() {
		return errBodyBytes
	}
	d.state = chunkData
	return nil
}

// trailer parses the trailer section once it is whole (RFC 9112, 7.1.2). The
// fields that this package acts on in a head are framing, routing or connection
// matters, and may not come late (RFC 9110, 6.5.1).
func (d *Body) trailer(b []byte) (int, *Error) {
	most := d.limits.TrailerBytes
	if !d.scan.ready(b, most) {
		return 0, nil
	}
	full := len(b) >= most
	if full {
		b = b[:most]
	}
	d.Trailer.Reset()
	var s semantics
	n, e := parseFields(b, 0, d.limits.Fields, &d.Trailer, &s)
	switch {
	case e != nil:
		return 0, e
	case n == 0 && full:
		return 0, errTrailerBytes
	case n > 0 && s.seen != 0:
		return 0, errTrailerField
	case n > 0:
		d.state = bodyDone
	}
	return n, nil
}
