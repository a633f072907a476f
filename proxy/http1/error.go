package http1

// Error says why a message is refused. Its values are constants of this
// package: compare by pointer where it matters, never change one.
type Error struct {
	Status  int    // the answer to a client; 502 when an upstream is at fault
	Reason  string // in words, for the log; names the limit if it was one
	Section string // the governing text, as in "RFC 9112, 5.1"
}

// Error gives the reason and the section that asks for it.
func (e *Error) Error() string {
	if e.Section == "" {
		return e.Reason
	}
	return e.Reason + " (" + e.Section + ")"
}

// ErrHTTP2Preface is what ParseRequest returns for the start of an HTTP/2
// connection preface (RFC 9113, 3.4): the peer speaks HTTP/2 with prior knowledge.
var ErrHTTP2Preface = &Error{505, "HTTP/2 connection preface on an HTTP/1 connection", "RFC 9113, 3.4"}

// Faults of the lines themselves.
var (
	errBareLF       = &Error{400, "line ends with a bare LF", "RFC 9112, 2.2"}
	errBareCR       = &Error{400, "CR not followed by LF", "RFC 9112, 2.2"}
	errEmptyLine    = &Error{400, "more than one empty line before the request line", "RFC 9112, 2.2"}
	errHeadBytes    = &Error{431, "head longer than head-bytes", "RFC 6585, 5"}
	errFields       = &Error{431, "more fields than fields", "RFC 6585, 5"}
	errFold         = &Error{400, "field line folded or started with a blank", "RFC 9112, 5.2"}
	errFieldName    = &Error{400, "field name is not a token", "RFC 9112, 5.1"}
	errFieldBlank   = &Error{400, "blank within or behind a field name", "RFC 9112, 5.1"}
	errFieldColon   = &Error{400, "field line without a colon", "RFC 9112, 5.1"}
	errFieldControl = &Error{400, "control byte in a field value", "RFC 9110, 5.5"}
)

// Faults of the request line.
var (
	errMethod       = &Error{400, "method is not a token", "RFC 9112, 3.1"}
	errMethodBytes  = &Error{501, "method longer than method-bytes", "RFC 9112, 3"}
	errLineBytes    = &Error{414, "request line longer than request-line-bytes", "RFC 9112, 3"}
	errTarget       = &Error{400, "request-target of no known form", "RFC 9112, 3.2"}
	errTargetBytes  = &Error{400, "control byte, blank or # in the request-target", "RFC 9112, 3.2"}
	errScheme       = &Error{400, "absolute-form of another scheme than http or https", "RFC 9112, 3.2.2"}
	errAsterisk     = &Error{400, "asterisk-form with another method than OPTIONS", "RFC 9112, 3.2.4"}
	errConnect      = &Error{501, "CONNECT is not offered", "RFC 9110, 9.3.6"}
	errVersionForm  = &Error{400, "request line does not end in an HTTP version", "RFC 9112, 2.3"}
	errVersion      = &Error{505, "HTTP version other than 1.0 or 1.1", "RFC 9110, 15.6.6"}
	errVersionBlank = &Error{400, "blank after the HTTP version", "RFC 9112, 3"}
)

// Faults of single fields.
var (
	errHostMissing   = &Error{400, "HTTP/1.1 request without Host", "RFC 9112, 3.2"}
	errHostRepeated  = &Error{400, "more than one Host", "RFC 9112, 3.2"}
	errHostEmpty     = &Error{400, "empty host", "RFC 9110, 4.2.1"}
	errHostName      = &Error{400, "invalid character in host", "RFC 9110, 7.2"}
	errHostUserinfo  = &Error{400, "userinfo in host", "RFC 9110, 4.2.4"}
	errHostLiteral   = &Error{400, "invalid IP literal in host", "RFC 3986, 3.2.2"}
	errHostPort      = &Error{400, "invalid port in host", "RFC 9110, 7.2"}
	errLength        = &Error{400, "Content-Length is not a number", "RFC 9110, 8.6"}
	errLengthTwice   = &Error{400, "more than one Content-Length", "RFC 9112, 6.3"}
	errLengthCoding  = &Error{400, "Content-Length with Transfer-Encoding", "RFC 9112, 6.3"}
	errCodingTwice   = &Error{400, "more than one Transfer-Encoding", "RFC 9112, 6.1"}
	errCodingVersion = &Error{400, "Transfer-Encoding in an HTTP/1.0 message", "RFC 9112, 6.1"}
	errCodingForm    = &Error{400, "malformed Transfer-Encoding", "RFC 9112, 6.1"}
	errCodingOrder   = &Error{400, "chunked is not the last transfer coding, once", "RFC 9112, 6.1"}
	errCodingUnknown = &Error{501, "transfer coding other than chunked", "RFC 9112, 6.1"}
	errExpect        = &Error{417, "expectation other than 100-continue", "RFC 9110, 10.1.1"}
)

// Faults of bodies.
var (
	errBodyBytes     = &Error{413, "body longer than body-bytes", "RFC 9110, 15.5.14"}
	errChunkSize     = &Error{400, "chunk size is not a hexadecimal number", "RFC 9112, 7.1"}
	errChunkOverflow = &Error{400, "chunk size too large", "RFC 9112, 7.1"}
	errChunkExt      = &Error{400, "malformed chunk extension", "RFC 9112, 7.1.1"}
	errChunkLine     = &Error{400, "chunk size line longer than chunk-line-bytes", "RFC 9112, 7.1.1"}
	errChunkEnd      = &Error{400, "chunk data not followed by CRLF", "RFC 9112, 7.1"}
	errTrailerBytes  = &Error{431, "trailer section longer than trailer-bytes", "RFC 9112, 7.1.2"}
	errTrailerField  = &Error{400, "field that may not stand in a trailer section", "RFC 9110, 6.5.1"}
	errBodyFailed    = &Error{400, "body read on after an error", "RFC 9112, 6"}
	errTruncated     = &Error{400, "connection ended within the body", "RFC 9112, 8"}
)

// Faults of the status line.
var (
	errStatusLine = &Error{502, "malformed status line", "RFC 9112, 4"}
	errStatusCode = &Error{502, "status code outside 100 to 599", "RFC 9110, 15"}
	errReason     = &Error{502, "control byte in the reason phrase", "RFC 9112, 4"}
)

// upstream gives e the status that it has when an upstream is at fault.
func (e *Error) upstream() *Error {
	if e.Status == 502 {
		return e
	}
	return &Error{502, e.Reason, e.Section}
}
