package http1

import "edge/proxy/httpmsg"

// Error says why a message is refused. Its values are constants of this package
// and of httpmsg: compare by pointer where it matters, never change one.
type Error = httpmsg.Error

func fault(status int, reason, section string) *Error {
	return &Error{Status: status, Reason: reason, Section: section}
}

// ErrHTTP2Preface is what ParseRequest returns for the start of an HTTP/2
// connection preface (RFC 9113, 3.4): the peer speaks HTTP/2 with prior knowledge.
var ErrHTTP2Preface = fault(505, "HTTP/2 connection preface on an HTTP/1 connection", "RFC 9113, 3.4")

// Faults of the lines themselves.
var (
	errBareLF       = fault(400, "line ends with a bare LF", "RFC 9112, 2.2")
	errBareCR       = fault(400, "CR not followed by LF", "RFC 9112, 2.2")
	errEmptyLine    = fault(400, "more than one empty line before the request line", "RFC 9112, 2.2")
	errHeadBytes    = fault(431, "head longer than max-head-bytes", "RFC 6585, 5")
	errFields       = fault(431, "more fields than max-fields", "RFC 6585, 5")
	errFold         = fault(400, "field line folded or started with a blank", "RFC 9112, 5.2")
	errFieldName    = fault(400, "field name is not a token", "RFC 9112, 5.1")
	errFieldBlank   = fault(400, "blank within or behind a field name", "RFC 9112, 5.1")
	errFieldColon   = fault(400, "field line without a colon", "RFC 9112, 5.1")
	errFieldControl = fault(400, "control byte in a field value", "RFC 9110, 5.5")
)

// Faults of the request line.
var (
	errMethod       = fault(400, "method is not a token", "RFC 9112, 3.1")
	errMethodBytes  = fault(501, "method longer than max-method-bytes", "RFC 9112, 3")
	errLineBytes    = fault(414, "request line longer than max-request-line-bytes", "RFC 9112, 3")
	errTarget       = fault(400, "request-target of no known form", "RFC 9112, 3.2")
	errTargetBytes  = fault(400, "control byte, blank or # in the request-target", "RFC 9112, 3.2")
	errScheme       = fault(400, "absolute-form of another scheme than http or https", "RFC 9112, 3.2.2")
	errAsterisk     = fault(400, "asterisk-form with another method than OPTIONS", "RFC 9112, 3.2.4")
	errConnect      = fault(501, "CONNECT is not offered", "RFC 9110, 9.3.6")
	errVersionForm  = fault(400, "request line does not end in an HTTP version", "RFC 9112, 2.3")
	errVersion      = fault(505, "HTTP version other than 1.0 or 1.1", "RFC 9110, 15.6.6")
	errVersionBlank = fault(400, "blank after the HTTP version", "RFC 9112, 3")
)

// Faults of single fields.
var (
	errHostMissing   = fault(400, "HTTP/1.1 request without Host", "RFC 9112, 3.2")
	errHostRepeated  = fault(400, "more than one Host", "RFC 9112, 3.2")
	errLength        = fault(400, "Content-Length is not a number", "RFC 9110, 8.6")
	errLengthTwice   = fault(400, "more than one Content-Length", "RFC 9112, 6.3")
	errLengthCoding  = fault(400, "Content-Length with Transfer-Encoding", "RFC 9112, 6.3")
	errCodingTwice   = fault(400, "more than one Transfer-Encoding", "RFC 9112, 6.1")
	errCodingVersion = fault(400, "Transfer-Encoding in an HTTP/1.0 message", "RFC 9112, 6.1")
	errCodingForm    = fault(400, "malformed Transfer-Encoding", "RFC 9112, 6.1")
	errCodingOrder   = fault(400, "chunked is not the last transfer coding, once", "RFC 9112, 6.1")
	errCodingUnknown = fault(501, "transfer coding other than chunked", "RFC 9112, 6.1")
	errExpect        = fault(417, "expectation other than 100-continue", "RFC 9110, 10.1.1")
)

// Faults of bodies.
var (
	errBodyBytes     = fault(413, "body longer than max-body-bytes", "RFC 9110, 15.5.14")
	errChunkSize     = fault(400, "chunk size is not a hexadecimal number", "RFC 9112, 7.1")
	errChunkOverflow = fault(400, "chunk size too large", "RFC 9112, 7.1")
	errChunkExt      = fault(400, "malformed chunk extension", "RFC 9112, 7.1.1")
	errChunkLine     = fault(400, "chunk size line longer than max-chunk-line-bytes", "RFC 9112, 7.1.1")
	errChunkEnd      = fault(400, "chunk data not followed by CRLF", "RFC 9112, 7.1")
	errTrailerBytes  = fault(431, "trailer section longer than max-trailer-bytes", "RFC 9112, 7.1.2")
	errTrailerField  = fault(400, "field that may not stand in a trailer section", "RFC 9110, 6.5.1")
	errBodyFailed    = fault(400, "body read on after an error", "RFC 9112, 6")
	errTruncated     = fault(400, "connection ended within the body", "RFC 9112, 8")
)

// Faults of the status line.
var (
	errStatusLine = fault(502, "malformed status line", "RFC 9112, 4")
	errStatusCode = fault(502, "status code outside 100 to 599", "RFC 9110, 15")
	errReason     = fault(502, "control byte in the reason phrase", "RFC 9112, 4")
)

// upstream gives e the status that it has when an upstream is at fault.
func upstream(e *Error) *Error {
	if e.Status == 502 {
		return e
	}
	return &Error{Status: 502, Reason: e.Reason, Section: e.Section}
}
