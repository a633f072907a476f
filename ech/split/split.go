// Package split is the client-facing server's part in split mode (RFC 9849, 3.1
// and 7): the inner ClientHello goes to a backend server as a message of its own,
// and so does the second one when the backend asks for it; all other bytes pass
// as they are.
//
//	client ── outer hello ──▶ opened ── AppendHello ──▶ backend
//	       ◀───────────── FromBackend: passed on, looked at ──
//	       ── FromClient: passed on, a second hello opened ──▶
//
// A Front looks at records only until it is Done: when the backend has sent its
// ServerHello, or after the second hello that followed a HelloRetryRequest.
//
// The package owns no socket; it is bytes in, bytes out. It does not choose the
// backend, and the acceptance signal is the backend's to give.
package split

import (
	"bytes"

	"edge/ech"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// AppendHello appends the records of an inner hello for the backend: a
// ClientHello like any other, whose encrypted_client_hello is of type inner.
func AppendHello(dst, inner []byte) []byte {
	return record.AppendPlaintext(dst, record.Handshake, inner, record.PlaintextMax)
}

// AppendAlert appends the record of the alert that ends a client's connection
// after FromClient has failed: there are no keys yet.
func AppendAlert(dst []byte, alert wire.Alert) []byte {
	const fatal = 2 // AlertLevel (RFC 9846, 6)
	return record.AppendPlaintext(dst, record.Alert, []byte{fatal, byte(alert)}, record.PlaintextMax)
}

// state is what a Front waits for.
type state uint8

const (
	serverHello state = iota // the first message of the backend
	secondHello              // the client's answer to a HelloRetryRequest
	done                     // the end: nothing is looked at any more
)

// Front is the state of one connection.
type Front struct {
	context *ech.Context
	state   state

	backend framer
	start   []byte // of the backend's first message, at most startBytes

	client  framer
	hello   record.Reassembler
	outer   wire.ClientHello
	inner   wire.ClientHello
	buffers ech.Buffers
}

// New makes a Front for a connection whose first hello was opened with context.
func New(context *ech.Context) *Front { return &Front{context: context} }

// Done reports whether all bytes pass as they are from now on, and none is held
// back.
func (f *Front) Done() bool { return f.state == done && !f.client.unsent }

// startBytes is the part of a ServerHello that tells a HelloRetryRequest: header,
// legacy_version, random (RFC 9846, 4.2.3).
const startBytes = wire.HeaderBytes + 2 + len(wire.HelloRetryRequestRandom)

// FromBackend looks at bytes on their way to the client.
func (f *Front) FromBackend(b []byte) {
	for f.state == serverHello && len(b) > 0 {
		part, n := f.backend.next(b)
		b = b[n:]
		switch {
		case f.backend.broken || f.backend.whole() && f.backend.kind() != record.Handshake:
			f.state = done // no TLS, or an alert: nothing to open follows
		case part == payload:
			f.addStart(f.backend.piece)
		}
	}
}

// addStart takes a piece of the backend's first message.
func (f *Front) addStart(piece []byte) {
	f.start = append(f.start, piece[:min(len(piece), startBytes-len(f.start))]...)
	if len(f.start) < startBytes {
		return
	}
	f.state = done
	if wire.HandshakeType(f.start[0]) == wire.TypeServerHello &&
		bytes.Equal(f.start[wire.HeaderBytes+2:], wire.HelloRetryRequestRandom[:]) {
		f.state = secondHello
	}
	f.start = nil
}

// FromClient appends what goes to the backend of the client's bytes b. It holds
// back the header of a record until it is whole, and a second hello. Fails with
// *wire.Error when that hello cannot be opened: the connection is then over, and
// the client is sent the alert (RFC 9849, 7.1.1).
func (f *Front) FromClient(dst, b []byte) ([]byte, error) {
	for len(b) > 0 && f.state != done {
		part, n := f.client.next(b)
		b = b[n:]
		if f.client.broken {
			f.state = done
			break
		}
		second := f.state == secondHello && f.client.whole() && f.client.kind() == record.Handshake
		switch {
		case part == header && !second:
			dst = f.client.flush(dst)
		case part == payload && second:
			var err error
			if dst, err = f.addSecond(dst, f.client.piece); err != nil {
				return dst, err
			}
		case part == payload:
			dst = append(dst, f.client.piece...)
		}
	}
	if len(b) > 0 || f.client.broken {
		dst = f.client.flush(dst)
	}
	return append(dst, b...), nil
}

// End appends what FromClient held back of a stream that has ended.
func (f *Front) End(dst []byte) []byte { return f.client.flush(dst) }

var (
	errSecondType = &wire.Error{Alert: wire.AlertUnexpectedMessage,
		Reason: "another message than a ClientHello after HelloRetryRequest (RFC 9846, 4.2.2)"}
	errSecondLong = &wire.Error{Alert: wire.AlertDecodeError,
		Reason: "second ClientHello longer than ClientHelloBytesMax"}
	errSecondFollowed = &wire.Error{Alert: wire.AlertUnexpectedMessage,
		Reason: "handshake bytes behind the second ClientHello (RFC 9846, 5.1)"}
)

// addSecond takes a piece of the second hello, and appends the inner one once it
// is whole.
func (f *Front) addSecond(dst, piece []byte) ([]byte, error) {
	f.hello.Add(piece)
	if t, ok := f.hello.FrontType(); ok && wire.HandshakeType(t) != wire.TypeClientHello {
		return dst, errSecondType
	}
	message, err := f.hello.Next(wire.ClientHelloBytesMax)
	switch {
	case err != nil:
		return dst, errSecondLong
	case message == nil:
		return dst, nil
	case f.hello.Pending() > 0 || f.client.left > 0:
		return dst, errSecondFollowed
	}
	if err := wire.ParseClientHello(message, &f.outer); err != nil {
		return dst, err
	}
	if err := f.context.OpenSecond(&f.outer, &f.inner, &f.buffers); err != nil {
		return dst, err
	}
	f.state = done
	f.client.forget()
	return AppendHello(dst, f.inner.Raw), nil
}
