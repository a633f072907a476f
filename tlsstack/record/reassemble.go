package record

// messageHeaderLen is the length of a handshake message header: type and three
// length bytes (RFC 9846, 4).
const messageHeaderLen = 4

// Reassembler puts handshake messages together from the fragments records carry:
// a message may be split over records and several may share one (RFC 9846, 5.1).
// The zero value is empty.
//
// Its memory is bounded when Next is called after each Add until it returns
// nothing: it then never holds more than the limit given to Next and one record.
type Reassembler struct {
	buf  []byte
	read int // start of the first message not yet taken
}

// Add appends the content of one handshake record.
func (r *Reassembler) Add(fragment []byte) {
	if r.read > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.read:])]
		r.read = 0
	}
	r.buf = append(r.buf, fragment...)
}

// FrontType returns the type of the message at the front, complete or not; false
// when there is none.
func (r *Reassembler) FrontType() (t byte, ok bool) {
	if r.read == len(r.buf) {
		return 0, false
	}
	return r.buf[r.read], true
}

// Next takes the message at the front, header included, if it is complete, and
// returns nil otherwise. The message stays valid until the next Add or Release.
// It fails with MessageTooBig when the message, complete or not, announces more
// than limit bytes, header included.
func (r *Reassembler) Next(limit int) ([]byte, error) {
	b := r.buf[r.read:]
	if len(b) < messageHeaderLen {
		return nil, nil
	}
	size := messageHeaderLen + (int(b[1])<<16 | int(b[2])<<8 | int(b[3]))
	if size > limit {
		return nil, MessageTooBig
	}
	if len(b) < size {
		return nil, nil
	}
	r.read += size
	return b[:size:size], nil
}

// Pending returns the number of bytes that belong to no taken message. A key
// change or another content type is legal only at zero (RFC 9846, 5.1).
func (r *Reassembler) Pending() int { return len(r.buf) - r.read }

// Reset empties the reassembler and keeps its memory for the next message.
func (r *Reassembler) Reset() { r.buf, r.read = r.buf[:0], 0 }

// Release empties the reassembler and gives its memory back.
func (r *Reassembler) Release() { *r = Reassembler{} }

// Shrink empties the reassembler and keeps its memory unless that is more than
// max bytes.
func (r *Reassembler) Shrink(max int) {
	if cap(r.buf) > max {
		r.buf = nil
	}
	r.Reset()
}
