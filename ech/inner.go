package ech

import (
	"edge/tlsstack/wire"

	"golang.org/x/crypto/cryptobyte"
)

// From the decrypted EncodedClientHelloInner back to the ClientHelloInner
// (RFC 9849, 5.1), in one pass over each of the two hellos:
//
//	encoded:  version random 0 suites compression | A  outer_extensions(B, C)  D | 0 0 0 …
//	outer:    header … session_id …               | B  x  C  encrypted_client_hello
//	inner:    header … session_id …               | A  B  C  D
//
// The references are looked up by one cursor that only moves forward through the
// outer extensions, which is both the rule about their order and what keeps a
// crafted hello from costing more than linear time (10.12.4). It also bounds the
// result: all of it is copied from the payload, the session id and extensions of
// the outer hello, no byte of which is copied twice, so that an inner hello is
// shorter than the outer one it came in.

var (
	errInnerCut = malformed(wire.AlertDecodeError,
		"EncodedClientHelloInner cut short (RFC 9849, 5.1)")
	errInnerSessionID = malformed(wire.AlertIllegalParameter,
		"EncodedClientHelloInner has a legacy_session_id (RFC 9849, 5.1)")
	errInnerPadding = malformed(wire.AlertIllegalParameter,
		"EncodedClientHelloInner is padded with other bytes than zeros (RFC 9849, 5.1)")
	errReferences = malformed(wire.AlertDecodeError,
		"ech_outer_extensions malformed (RFC 9849, 5.1)")
	errReferencesTwice = malformed(wire.AlertIllegalParameter,
		"ech_outer_extensions twice in one hello (RFC 9849, 5.1)")
	errReferenceECH = malformed(wire.AlertIllegalParameter,
		"ech_outer_extensions refers to encrypted_client_hello (RFC 9849, 5.1)")
	errReferenceMissing = malformed(wire.AlertIllegalParameter,
		"ech_outer_extensions refers to an extension that the outer hello lacks, or out of order, or twice (RFC 9849, 5.1)")
)

// appendInner appends the ClientHelloInner message that encoded stands for.
// Fails with *wire.Error.
func appendInner(dst, encoded []byte, outer *wire.ClientHello) ([]byte, error) {
	s := cryptobyte.String(encoded)
	var sessionID, suites, compression, extensions cryptobyte.String
	var fixed []byte // legacy_version and random
	if !s.ReadBytes(&fixed, 2+32) || !s.ReadUint8LengthPrefixed(&sessionID) {
		return dst, errInnerCut
	}
	afterSessionID := []byte(s)
	if !s.ReadUint16LengthPrefixed(&suites) || !s.ReadUint8LengthPrefixed(&compression) {
		return dst, errInnerCut
	}
	offers := afterSessionID[:len(afterSessionID)-len(s)] // suites and compression with their lengths
	if !s.ReadUint16LengthPrefixed(&extensions) {
		return dst, errInnerCut
	}
	if !sessionID.Empty() {
		return dst, errInnerSessionID
	}
	if !allZero(s) {
		return dst, errInnerPadding
	}
	start := len(dst)
	dst = append(dst, byte(wire.TypeClientHello), 0, 0, 0)
	dst = append(dst, fixed...)
	dst = append(append(dst, byte(len(outer.SessionID))), outer.SessionID...)
	dst = append(append(dst, offers...), 0, 0)
	block := len(dst)
	dst, err := appendInnerExtensions(dst, extensions, outer)
	if err != nil {
		return dst, err
	}
	putLength(dst[block-2:block], len(dst)-block)
	putLength(dst[start+1:start+wire.HeaderBytes], len(dst)-start-wire.HeaderBytes)
	return dst, nil
}

// appendInnerExtensions copies the extensions and puts those of the outer hello
// in the place of their references.
func appendInnerExtensions(dst []byte, s cryptobyte.String, outer *wire.ClientHello) ([]byte, error) {
	expanded := false
	for !s.Empty() {
		before := []byte(s)
		var typ uint16
		var body cryptobyte.String
		if !s.ReadUint16(&typ) || !s.ReadUint16LengthPrefixed(&body) {
			return dst, errInnerCut
		}
		if wire.ExtensionType(typ) != wire.ExtECHOuterExtensions {
			dst = append(dst, before[:len(before)-len(s)]...)
			continue
		}
		if expanded {
			return dst, errReferencesTwice
		}
		expanded = true
		var err error
		if dst, err = appendReferenced(dst, body, outer); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendReferenced copies the extensions of the outer hello that an
// ech_outer_extensions body refers to.
func appendReferenced(dst []byte, body cryptobyte.String, outer *wire.ClientHello) ([]byte, error) {
	var list cryptobyte.String
	if !body.ReadUint8LengthPrefixed(&list) || !body.Empty() || list.Empty() || len(list)%2 != 0 {
		return dst, errReferences
	}
	rest := outer.Extensions
	for !list.Empty() {
		var typ uint16
		if !list.ReadUint16(&typ) {
			return dst, errReferences
		}
		if wire.ExtensionType(typ) == wire.ExtEncryptedClientHello {
			return dst, errReferenceECH
		}
		for len(rest) > 0 && rest[0].Type != wire.ExtensionType(typ) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return dst, errReferenceMissing
		}
		body := rest[0].Body
		dst = append(dst, byte(typ>>8), byte(typ), byte(len(body)>>8), byte(len(body)))
		dst = append(dst, body...)
		rest = rest[1:]
	}
	return dst, nil
}

// putLength writes n in big-endian order over all of b.
func putLength(b []byte, n int) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
}

func allZero(b []byte) bool {
	var or byte
	for _, c := range b {
		or |= c
	}
	return or == 0
}
