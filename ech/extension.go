package ech

import (
	"edge/tlsstack/wire"

	"golang.org/x/crypto/cryptobyte"
)

// The encrypted_client_hello extension of a ClientHello (RFC 9849, 5):
//
//	type  kdf  aead  config_id  enc           payload
//	+----+----+-----+----------+--+- - - - - +--+- - - - - - - - -
//	| 0  | 2  | 2   | 1        |2 | 0..      |2 | 1..                 outer
//	+----+----+-----+----------+--+- - - - - +--+- - - - - - - - -
//	| 1  |                                                           inner
//	+----+

// outerExtension is the outer form. Slices are parts of the hello.
type outerExtension struct {
	suite         Suite
	configID      uint8
	enc           []byte
	payload       []byte
	payloadOffset int // in ClientHello.Raw
}

func malformed(alert wire.Alert, reason string) *wire.Error {
	return &wire.Error{Alert: alert, Reason: reason}
}

var (
	errExtension = malformed(wire.AlertDecodeError,
		"encrypted_client_hello malformed (RFC 9849, 5)")
	errTypeUnknown = malformed(wire.AlertIllegalParameter,
		"encrypted_client_hello of unknown type (RFC 9849, 7)")
	errTypeInner = malformed(wire.AlertIllegalParameter,
		"encrypted_client_hello of type inner straight from a client (RFC 9849, 7)")
	errTypeOuter = malformed(wire.AlertIllegalParameter,
		"encrypted_client_hello of type outer sent to a backend server (RFC 9849, 7)")
)

// parseOuter reads the extension of a hello that came from the network.
func parseOuter(e *wire.Extension, out *outerExtension) error {
	s := cryptobyte.String(e.Body)
	var typ uint8
	if !s.ReadUint8(&typ) {
		return errExtension
	}
	switch wire.ECHClientHelloType(typ) {
	case wire.ECHOuter:
	case wire.ECHInner:
		return errTypeInner
	default:
		return errTypeUnknown
	}
	if !s.ReadUint16(&out.suite.KDF) || !s.ReadUint16(&out.suite.AEAD) || !s.ReadUint8(&out.configID) ||
		!s.ReadUint16LengthPrefixed((*cryptobyte.String)(&out.enc)) ||
		!s.ReadUint16LengthPrefixed((*cryptobyte.String)(&out.payload)) ||
		!s.Empty() || len(out.payload) == 0 {
		return errExtension
	}
	out.payloadOffset = e.Offset + len(e.Body) - len(out.payload)
	return nil
}

// IsInner is for a backend server in split mode: it reports whether a hello is
// a ClientHelloInner that a client-facing server opened and passed on, so that
// acceptance is to be confirmed. The caller must know that the peer is such a
// server. Fails with *wire.Error: the outer form, or an unknown one, is
// illegal_parameter (RFC 9849, 7), a malformed one decode_error.
func IsInner(hello *wire.ClientHello) (bool, error) {
	e := hello.Find(wire.ExtEncryptedClientHello)
	if e == nil {
		return false, nil
	}
	if len(e.Body) == 0 {
		return false, errExtension
	}
	switch wire.ECHClientHelloType(e.Body[0]) {
	case wire.ECHInner:
		if len(e.Body) != 1 {
			return false, errExtension
		}
		return true, nil
	case wire.ECHOuter:
		return false, errTypeOuter
	}
	return false, errTypeUnknown
}
