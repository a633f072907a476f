package tlsstack

import (
	"encoding/binary"
	"time"

	"edge/tlsstack/keys"
	"edge/tlsstack/wire"

	"golang.org/x/crypto/cryptobyte"
)

// session is what a ticket holds: enough to resume without any state of ours.
//
//	version 1 | suite 2 | sealed 8 | started 8 | PSK 1+n | name 1+n | ALPN 1+n
//	policy 1+n | client scheme 2 | chain 3+(3+n)…
//
// times are Unix seconds; started is when the client and we last did a whole
// handshake. policy is empty unless client certificates are asked for.
type session struct {
	index   uint16 // of the identity in the ClientHello
	suite   wire.CipherSuite
	sealed  int64
	started int64
	psk     keys.Secret
	name    []byte // parts of the opened ticket from here on
	alpn    string
	policy  []byte
	scheme  wire.SignatureScheme // of the client's CertificateVerify
	chain   [][]byte             // the client's certificates, leaf first
}

const sessionVersion = 1

// ticketChainBytesMax bounds the client chain in a ticket: a ClientHello with it
// must stay well under its limit. A client with a longer one gets no ticket.
const ticketChainBytesMax = 8 << 10

// sessionLifeMax is how long a session may be resumed, counted from the whole
// handshake (RFC 9846, 4.7.1: "MUST NOT use any value greater than 604800
// seconds").
const sessionLifeMax = 7 * 24 * time.Hour

// append writes the ticket's content; false when it would be too long.
func (s *session) append(dst []byte) ([]byte, bool) {
	size := 0
	for _, der := range s.chain {
		size += len(der)
	}
	if size > ticketChainBytesMax || len(s.name) > 255 || len(s.alpn) > 255 {
		return dst, false
	}
	dst = append(dst, sessionVersion)
	dst = binary.BigEndian.AppendUint16(dst, uint16(s.suite))
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.sealed))
	dst = binary.BigEndian.AppendUint64(dst, uint64(s.started))
	dst = appendField(dst, s.psk.Bytes())
	dst = appendField(dst, s.name)
	dst = append(append(dst, byte(len(s.alpn))), s.alpn...)
	dst = appendField(dst, s.policy)
	dst = binary.BigEndian.AppendUint16(dst, uint16(s.scheme))
	dst = appendUint24(dst, size+3*len(s.chain))
	for _, der := range s.chain {
		dst = append(appendUint24(dst, len(der)), der...)
	}
	return dst, true
}

// appendField appends a length of one byte and the field.
func appendField(dst, field []byte) []byte {
	return append(append(dst, byte(len(field))), field...)
}

func appendUint24(dst []byte, n int) []byte {
	return append(dst, byte(n>>16), byte(n>>8), byte(n))
}

// parse reads a ticket's content; false when it is of another version.
func (s *session) parse(plain []byte) bool {
	in := cryptobyte.String(plain)
	var version uint8
	var suite, scheme uint16
	var sealed, started uint64
	var psk, name, alpn, policy, chain cryptobyte.String
	if !in.ReadUint8(&version) || version != sessionVersion ||
		!in.ReadUint16(&suite) || !in.ReadUint64(&sealed) || !in.ReadUint64(&started) ||
		!in.ReadUint8LengthPrefixed(&psk) || !in.ReadUint8LengthPrefixed(&name) ||
		!in.ReadUint8LengthPrefixed(&alpn) || !in.ReadUint8LengthPrefixed(&policy) ||
		!in.ReadUint16(&scheme) || !in.ReadUint24LengthPrefixed(&chain) || !in.Empty() {
		return false
	}
	s.suite, s.sealed, s.started = wire.CipherSuite(suite), int64(sealed), int64(started)
	s.name, s.alpn, s.policy, s.chain = name, string(alpn), policy, nil
	s.scheme = wire.SignatureScheme(scheme)
	for !chain.Empty() {
		var der cryptobyte.String
		if !chain.ReadUint24LengthPrefixed(&der) {
			return false
		}
		s.chain = append(s.chain, der)
	}
	return s.psk.Set(psk)
}
