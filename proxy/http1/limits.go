package http1

// Limits bounds what a peer may send. The kebab-case form of a field's name behind "max-"
// ("max-request-line-bytes") stands in the Reason of the Error that it causes.
type Limits struct {
	// MethodBytes is the longest method. Longer: 501 (RFC 9112, 3). All
	// registered methods are shorter than 18 bytes.
	MethodBytes int

	// RequestLineBytes is the longest request line with its CRLF. Longer: 414.
	RequestLineBytes int

	// HeadBytes is the longest head: start line, fields and the empty line.
	// Longer: 431. It is also what a connection must be able to buffer.
	HeadBytes int

	// Fields is the greatest number of fields in a head, and in a trailer
	// section. More: 431.
	Fields int

	// ChunkLineBytes is the longest chunk size line, extensions and CRLF
	// included. Longer: 400.
	ChunkLineBytes int

	// TrailerBytes is the longest trailer section with the empty line that ends
	// it. Longer: 431. It is also what a connection must be able to buffer while
	// a chunked body ends.
	TrailerBytes int

	// BodyBytes is the longest body, without chunk framing; 0 is no limit.
	// Longer: 413.
	BodyBytes int64
}

// DefaultLimits are the limits of a Parser or a Body that was given none.
var DefaultLimits = Limits{
	MethodBytes:      32,
	RequestLineBytes: 8 << 10,
	HeadBytes:        32 << 10, // four lines of 8 KiB, as nginx takes
	Fields:           100,
	ChunkLineBytes:   256,
	TrailerBytes:     8 << 10,
}
