// Package httpmsg holds HTTP requests and responses as the data path sees
// them: slices of the bytes that were received, and bodies as descriptions of
// where the bytes are. It parses and writes nothing (http1, http2 do) and owns
// no socket.
package httpmsg

// BodyKind says how the end of a body is known (RFC 9112, 6.3).
type BodyKind uint8

const (
	BodyNone    BodyKind = iota // no body
	BodyLength                  // Content-Length bytes
	BodyChunked                 // chunked transfer coding
	BodyClose                   // until the connection closes (responses only)
)

// Request is one request head. Every slice is borrowed from the buffer it was
// parsed from, and valid as long as that is.
type Request struct {
	Method    []byte
	Target    []byte // request-target as received
	Scheme    []byte // of an absolute-form target or of :scheme; else nil
	Authority []byte // host[:port]: the target's authority, else Host; may be empty for HTTP/1.0
	Path      []byte // as received, still percent-encoded; "*" for asterisk-form
	Query     []byte // after '?', without it; nil when there is no '?'
	Minor     uint8  // HTTP/1.Minor; HTTP/2 sets Major
	Major     uint8  // 1 or 2

	Header Header

	Body          BodyKind
	ContentLength int64 // of BodyLength

	KeepAlive      bool // the connection may be used again after the response
	ExpectContinue bool // Expect: 100-continue
	Upgrade        bool // Connection lists Upgrade and an Upgrade field is there
}

// Reset makes r an empty request, keeping its memory.
func (r *Request) Reset() {
	h := r.Header
	h.Reset()
	*r = Request{Header: h}
}

// Response is one response head and a description of its body.
type Response struct {
	Status int
	Header Header

	// Exactly one of these describes the body. All nil and File -1: no body.
	// With Parts (empty otherwise) File is the descriptor they are read from.
	Bytes []byte // in memory, immutable
	File  int    // descriptor to read from by offset, -1 for none
	Off   int64  // of the body in File
	Parts []Part // several pieces, one after the other (multipart/byteranges)

	// Entry names what the body is the whole content of, to the source that
	// filled the response in: a sender that has read all of File hands the bytes
	// to that source under this number. -1: not wanted.
	Entry int

	// ContentLength is the number of body bytes; -1: not known yet (the writer
	// chooses chunked or close).
	ContentLength int64

	// NoBody: the head is all there is, whatever ContentLength says (HEAD, 304).
	NoBody bool

	// Close: the connection ends after this response.
	Close bool
}

// Part is one piece of a body: Bytes when they are not nil, else Length bytes at
// Off of the response's File.
type Part struct {
	Bytes       []byte
	Off, Length int64
}

// Reset makes r an empty response with the given status, keeping its memory.
func (r *Response) Reset(status int) {
	h := r.Header
	h.Reset()
	clear(r.Parts)
	*r = Response{Status: status, Header: h, File: -1, Parts: r.Parts[:0], Entry: -1}
}
