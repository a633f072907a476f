package tlsstack

import (
	"slices"

	"edge/tlsstack/wire"
)

// rawHello is a ClientHello that tests can break in any way.
type rawHello struct {
	version     uint16
	random      [32]byte
	sessionID   []byte
	suites      []uint16
	compression []byte
	extensions  []rawExtension
}

type rawExtension struct {
	typ  wire.ExtensionType
	body []byte
}

func u16(v int) []byte { return []byte{byte(v >> 8), byte(v)} }

// vec8, vec16 and vec24 put a length in front.
func vec8(b []byte) []byte  { return append([]byte{byte(len(b))}, b...) }
func vec16(b []byte) []byte { return append(u16(len(b)), b...) }
func vec24(b []byte) []byte { return append(append([]byte{byte(len(b) >> 16)}, u16(len(b))...), b...) }

// list16 encodes 16-bit values one after the other.
func list16[T ~uint16](values ...T) []byte {
	var b []byte
	for _, v := range values {
		b = append(b, u16(int(v))...)
	}
	return b
}

// handshakeMessage frames a body.
func handshakeMessage(typ wire.HandshakeType, body []byte) []byte {
	return append([]byte{byte(typ)}, vec24(body)...)
}

// set replaces an extension or adds it at the end.
func (h *rawHello) set(typ wire.ExtensionType, body []byte) {
	if i := h.index(typ); i >= 0 {
		h.extensions[i].body = body
		return
	}
	h.extensions = append(h.extensions, rawExtension{typ, body})
}

// drop removes an extension.
func (h *rawHello) drop(typ wire.ExtensionType) {
	if i := h.index(typ); i >= 0 {
		h.extensions = slices.Delete(h.extensions, i, i+1)
	}
}

func (h *rawHello) index(typ wire.ExtensionType) int {
	return slices.IndexFunc(h.extensions, func(e rawExtension) bool { return e.typ == typ })
}

func (h *rawHello) marshal() []byte {
	b := append(u16(int(h.version)), h.random[:]...)
	b = append(b, vec8(h.sessionID)...)
	b = append(b, vec16(list16(h.suites...))...)
	b = append(b, vec8(h.compression)...)
	var block []byte
	for _, e := range h.extensions {
		block = append(append(block, u16(int(e.typ))...), vec16(e.body)...)
	}
	return handshakeMessage(wire.TypeClientHello, append(b, vec16(block)...))
}

// Extension bodies.

func serverNameBody(name string) []byte {
	return vec16(append([]byte{0}, vec16([]byte(name))...))
}

func keyShareBody(shares ...wire.KeyShare) []byte {
	var b []byte
	for _, s := range shares {
		b = append(append(b, u16(int(s.Group))...), vec16(s.Data)...)
	}
	return vec16(b)
}

func alpnBody(protos ...string) []byte {
	var b []byte
	for _, p := range protos {
		b = append(b, vec8([]byte(p))...)
	}
	return vec16(b)
}

// defaultHello offers what a usual client does.
func defaultHello() *rawHello {
	h := &rawHello{
		version: wire.VersionTLS12, sessionID: make([]byte, 32), compression: []byte{0},
		suites: []uint16{0x1301, 0x1302, 0x1303},
	}
	for i := range h.random {
		h.random[i] = byte(i)
	}
	h.set(wire.ExtServerName, serverNameBody(testName))
	h.set(wire.ExtSupportedVersions, vec8(list16(wire.VersionTLS13)))
	h.set(wire.ExtSupportedGroups, vec16(list16(wire.GroupX25519, wire.GroupP256)))
	h.set(wire.ExtSignatureAlgorithms, vec16(list16(clientSchemes...)))
	h.set(wire.ExtALPN, alpnBody("http/1.1"))
	h.set(wire.ExtPSKKeyExchangeModes, vec8([]byte{wire.PSKModeDHEKE}))
	return h
}
