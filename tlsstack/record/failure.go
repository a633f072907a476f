package record

// Failure is a reason for which a record is refused. It implements error and
// allocates nothing.
type Failure uint8

// The failures, with the alert RFC 9846 names for each.
const (
	UnknownType   Failure = iota + 1 // 5: unexpected_message
	NotTLS                           // 5.1: protocol_version
	Overflow                         // 5.1, 5.2: record_overflow
	BadMAC                           // 5.2: bad_record_mac
	NoContentType                    // 5.4: unexpected_message
	SequenceSpent                    // 5.3: the receiving key has opened all it may
	MessageTooBig                    // 4: a handshake message over the limit, decode_error
)

var failureText = [...]string{
	UnknownType:   "record of an unknown type",
	NotTLS:        "not a TLS record",
	Overflow:      "record longer than the protocol allows",
	BadMAC:        "record does not authenticate",
	NoContentType: "protected record holds padding alone",
	SequenceSpent: "too many records under one key",
	MessageTooBig: "handshake message longer than the limit",
}

// Error returns the reason in words.
func (f Failure) Error() string {
	if int(f) < len(failureText) && f != 0 {
		return failureText[f]
	}
	return "unknown record failure"
}
