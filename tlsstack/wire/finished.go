package wire

// The short messages: Finished (RFC 9846, 4.5.3), NewSessionTicket (4.7.1) and
// KeyUpdate (4.7.3). EndOfEarlyData is never right here, because early data is
// never accepted.

// AppendFinished appends a Finished to dst.
func AppendFinished(dst, verifyData []byte) []byte {
	dst, message := beginMessage(dst, TypeFinished)
	return end(append(dst, verifyData...), message, 3)
}

// ParseFinished returns the verify_data of a Finished. Its length is not
// checked: one of another length than the hash's is decrypt_error like any
// other wrong value. Fails with *Error.
func ParseFinished(msg []byte) (verifyData []byte, err error) {
	s, err := body(msg, TypeFinished)
	return s, err
}

var (
	errKeyUpdate      = decodeError("KeyUpdate is not one byte (RFC 9846, 4.7.3)")
	errKeyUpdateValue = illegalParameter("KeyUpdate neither asks for an update nor does not (RFC 9846, 4.7.3)")
)

// NewSessionTicket holds what a ticket message says.
type NewSessionTicket struct {
	LifetimeSeconds uint32 // at most 604,800
	AgeAdd          uint32
	Nonce           []byte // up to 255 bytes
	Ticket          []byte // up to 65,535 bytes
}

// Append appends the message to dst.
func (m *NewSessionTicket) Append(dst []byte) []byte {
	dst, message := beginMessage(dst, TypeNewSessionTicket)
	dst = appendUint32(dst, m.LifetimeSeconds)
	dst = appendUint32(dst, m.AgeAdd)
	dst = appendVector(dst, 1, m.Nonce)
	dst = appendVector(dst, 2, m.Ticket)
	return end(append(dst, 0, 0), message, 3) // no extensions: no early data
}

// AppendKeyUpdate appends a KeyUpdate to dst; requested asks the peer to update
// its keys too.
func AppendKeyUpdate(dst []byte, requested bool) []byte {
	dst, message := beginMessage(dst, TypeKeyUpdate)
	request := byte(0)
	if requested {
		request = 1
	}
	return end(append(dst, request), message, 3)
}

// ParseKeyUpdate returns whether the peer asks for an update of our keys. Fails
// with *Error.
func ParseKeyUpdate(msg []byte) (requested bool, err error) {
	s, err := body(msg, TypeKeyUpdate)
	if err != nil {
		return false, err
	}
	var request uint8
	if !s.ReadUint8(&request) || !s.Empty() {
		return false, errKeyUpdate
	}
	if request > 1 {
		return false, errKeyUpdateValue
	}
	return request == 1, nil
}
