package ja4

import (
	"errors"

	"edge/tlsstack/wire"

	"golang.org/x/crypto/cryptobyte"
)

// ErrHello means that the bytes are not a ClientHello whose lists can be found.
var ErrHello = errors.New("ja4: not a whole ClientHello")

// Hello is what JA4 takes from a ClientHello. Reuse one value for many: it keeps
// the memory of its lists, which a hello of wire.ClientHelloBytesMax bounds at
// 112 KiB together with the scratch beside them.
type Hello struct {
	version    uint16 // the highest offered
	serverName bool
	protocol   []byte // first ALPN name, part of the message
	ciphers    []uint16
	extensions []uint16
	schemes    []uint16 // signature_algorithms

	sorted []uint16
	text   []byte
}

// Read takes in a ClientHello message, header included. The message must stay
// unchanged as long as h is used. Fails with ErrHello.
func (h *Hello) Read(msg []byte) error {
	h.reset()
	s := cryptobyte.String(msg)
	var typ uint8
	var body, sessionID, ciphers, compression, block cryptobyte.String
	if len(msg) > wire.ClientHelloBytesMax ||
		!s.ReadUint8(&typ) || wire.HandshakeType(typ) != wire.TypeClientHello ||
		!s.ReadUint24LengthPrefixed(&body) || !s.Empty() ||
		!body.ReadUint16(&h.version) || !body.Skip(32) ||
		!body.ReadUint8LengthPrefixed(&sessionID) ||
		!body.ReadUint16LengthPrefixed(&ciphers) ||
		!body.ReadUint8LengthPrefixed(&compression) {
		return ErrHello
	}
	h.ciphers = appendValues(h.ciphers, ciphers)
	if body.Empty() {
		return nil // no extension block
	}
	if !body.ReadUint16LengthPrefixed(&block) {
		return ErrHello
	}
	return h.readExtensions(block)
}

func (h *Hello) reset() {
	*h = Hello{
		ciphers:    h.ciphers[:0],
		extensions: h.extensions[:0],
		schemes:    h.schemes[:0],
		sorted:     h.sorted[:0],
		text:       h.text[:0],
	}
}

func (h *Hello) readExtensions(block cryptobyte.String) error {
	for !block.Empty() {
		var typ uint16
		var body cryptobyte.String
		if !block.ReadUint16(&typ) || !block.ReadUint16LengthPrefixed(&body) {
			return ErrHello
		}
		if wire.IsGREASE(typ) {
			continue
		}
		h.extensions = append(h.extensions, typ)
		h.readExtension(wire.ExtensionType(typ), body)
	}
	return nil
}

// readExtension looks into the few extensions whose contents matter. What is
// malformed in them is passed over.
func (h *Hello) readExtension(typ wire.ExtensionType, body cryptobyte.String) {
	var list cryptobyte.String
	switch typ {
	case wire.ExtServerName:
		// "If the SNI extension (0x0000) exists, then the destination of the
		// connection is a domain": what it holds does not matter.
		h.serverName = true
	case wire.ExtALPN:
		var first cryptobyte.String
		if body.ReadUint16LengthPrefixed(&list) && list.ReadUint8LengthPrefixed(&first) {
			h.protocol = first
		}
	case wire.ExtSignatureAlgorithms:
		if body.ReadUint16LengthPrefixed(&list) {
			h.schemes = appendValues(h.schemes[:0], list)
		}
	case wire.ExtSupportedVersions:
		body.ReadUint8LengthPrefixed(&list)
		h.version = highestVersion(list)
	}
}

// highestVersion applies "the version is the highest value in the extension.
// Remember to ignore GREASE values". 0, which is unknown, when none is left.
func highestVersion(list cryptobyte.String) uint16 {
	var highest, v uint16
	for list.ReadUint16(&v) {
		if v > highest && !wire.IsGREASE(v) {
			highest = v
		}
	}
	return highest
}

// appendValues appends the 16-bit values of a list. "The program needs to ignore
// GREASE values anywhere it sees them."
func appendValues(dst []uint16, list cryptobyte.String) []uint16 {
	var v uint16
	for list.ReadUint16(&v) {
		if !wire.IsGREASE(v) {
			dst = append(dst, v)
		}
	}
	return dst
}
