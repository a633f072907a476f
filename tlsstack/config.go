package tlsstack

import (
	"edge/ech"
	"time"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// ClientAuth says whether clients are asked for a certificate.
type ClientAuth uint8

// The ways to ask.
const (
	ClientAuthNone    ClientAuth = iota // not asked
	ClientAuthRequest                   // asked; none is fine, a bad one is not
	ClientAuthRequire                   // asked and insisted on
)

// Config is what all connections of a generation share. It must not change once
// a connection uses it. Zero limits mean the default given.
type Config struct {
	Certificates CertificateSource // required
	Tickets      *TicketKeys       // nil: tickets are neither made nor taken
	NextProtos   []string          // ALPN, the server's order; empty: ALPN is not answered
	Groups       []wire.Group      // in order of preference; nil: DefaultGroups

	ClientAuth     ClientAuth
	ClientVerifier ClientVerifier         // required unless ClientAuthNone; usually *ClientCAs
	ClientSchemes  []wire.SignatureScheme // accepted from clients; nil: all that are known

	// ECH opens encrypted ClientHellos; nil: their extension is ignored.
	ECH *ech.Set

	// ECHBackend says that the peer is a client-facing server that opens hellos
	// and passes the inner ones on (split mode, RFC 9849, 7.2). ECH is not used
	// then.
	ECHBackend bool

	// StrictSNI refuses a name the source holds no certificate for with
	// unrecognized_name. Without it the default certificate is presented.
	StrictSNI bool

	// Compressors lets a Certificate message be sent compressed to clients that
	// offer one of the algorithms, the first in this order (RFC 8879); nil: never.
	Compressors []Compressor

	HelloBytesMax     int           // largest ClientHello, in bytes; default 64 KiB, the most the codec takes
	ClientChainMax    int           // largest Certificate message of a client, in bytes; default 32 KiB
	EarlyDataSkipMax  int           // ciphertext bytes of refused early data that are skipped; default 16 KiB
	TicketLifetime    time.Duration // default 24 hours, at most 7 days (RFC 9846, 4.7.1)
	TicketsPerSession int           // sent after a full handshake; default 2, one after a resumption
	SendPlaintextMax  int           // most plaintext in a record sent, in bytes; default and most 16,384
	RecordsPerKeyMax  uint64        // records sealed before our own KeyUpdate; default and most the suite's limit

	// KeyLog, when not nil, is given every secret in the form of the NSS key log.
	// Whoever has them reads all traffic: for debugging alone.
	KeyLog func(label string, clientRandom, secret []byte)
}

// Defaults of the limits.
const (
	helloBytesMax    = wire.ClientHelloBytesMax
	clientChainMax   = 32 << 10
	earlyDataSkipMax = 16 << 10
	ticketsPerFull   = 2
	ticketLifetime   = 24 * time.Hour
)

// DefaultGroups is the order of preference when Config.Groups is nil.
var DefaultGroups = []wire.Group{
	wire.GroupX25519MLKEM768, wire.GroupX25519, wire.GroupP256, wire.GroupP384,
}

// RecordOverhead is what SealInPlace adds around n bytes of plaintext:
// RecordPrefix bytes in front and the rest behind.
const (
	RecordPrefix   = record.HeaderLen
	RecordOverhead = record.Overhead

	// KeyUpdateBytes is the record of a KeyUpdate, as it comes between two others.
	KeyUpdateBytes = RecordOverhead + wire.HeaderBytes + 1
	PlaintextMax   = record.PlaintextMax
)

func (c *Config) helloBytesMax() int {
	if c.HelloBytesMax > 0 && c.HelloBytesMax < helloBytesMax {
		return c.HelloBytesMax
	}
	return helloBytesMax
}

func (c *Config) clientChainMax() int {
	if c.ClientChainMax > 0 {
		return c.ClientChainMax
	}
	return clientChainMax
}

func (c *Config) earlyDataSkipMax() int {
	if c.EarlyDataSkipMax > 0 {
		return c.EarlyDataSkipMax
	}
	return earlyDataSkipMax
}

func (c *Config) sendPlaintextMax() int {
	if c.SendPlaintextMax > 0 && c.SendPlaintextMax < PlaintextMax {
		return c.SendPlaintextMax
	}
	return PlaintextMax
}

func (c *Config) groups() []wire.Group {
	if c.Groups != nil {
		return c.Groups
	}
	return DefaultGroups
}

func (c *Config) ticketsPerSession() int {
	if c.TicketsPerSession > 0 {
		return c.TicketsPerSession
	}
	return ticketsPerFull
}

func (c *Config) ticketLifetime() time.Duration {
	if c.TicketLifetime > 0 {
		return min(c.TicketLifetime, sessionLifeMax)
	}
	return ticketLifetime
}
