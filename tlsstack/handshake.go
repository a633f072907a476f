package tlsstack

import (
	"sync"

	"edge/tlsstack/keys"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// handshake is what a connection needs until it is established. It is pooled:
// release wipes the secrets and keeps the buffers.
type handshake struct {
	hello    wire.ClientHello // parsed; aliases the connection's message buffer
	helloErr error            // what is wrong with hello, told when it is answered
	name     []byte           // normalised SNI host, for lookups

	first  wire.ClientHello   // the first ClientHello once a second is awaited
	buffer record.Reassembler // the connection's message buffer, while it is not lent
	other  record.Reassembler // in a retry, the one with the first ClientHello
	chain  wire.Certificate   // the client's Certificate

	ech        encrypted
	params     parameters
	transcript keys.Transcript
	client     keys.Traffic // of the client's handshake traffic secret
	server     keys.Traffic // of the server's
	traffic    keys.Traffic // of any other secret, one after the other
	early      keys.Early
	secrets    keys.Handshake
	master     keys.Master
	exchange   keys.Exchange

	clientSecret keys.Secret // client handshake traffic
	serverSecret keys.Secret // server handshake traffic
	clientApp    keys.Secret // client application traffic, used after Finished
	resumption   keys.Secret

	random       [32]byte // client random, for the key log
	serverRandom [32]byte
	small        [4]byte // a nonce or ticket_age_add
	scratch      []byte  // messages of the flight
	verify       []byte  // what CertificateVerify signs
	ticket       []byte  // opened or sealed
	resumed      session // accepted ticket; aliases ticket
	identity     *ClientIdentity

	sessionOffered bool // the first of two hellos has a session that could be resumed
	requested      bool // a CertificateRequest was sent
	ccsSent        bool
	skipping       bool // records that do not open are early data
	tickets        bool // the client can use tickets (psk_dhe_ke)
	skipped        int  // ciphertext bytes of early data
}

// keepBytesMax is the largest buffer that goes back to the pool, in bytes.
const keepBytesMax = 16 << 10

var handshakePool = sync.Pool{New: func() any { return new(handshake) }}

func newHandshake() *handshake { return handshakePool.Get().(*handshake) }

// release wipes hs and returns it to the pool. The buffers and the hash are kept
// for the next handshake, everything else starts from zero.
func (hs *handshake) release() {
	hs.buffer.Shrink(keepBytesMax)
	hs.other.Shrink(keepBytesMax)
	keep := handshake{
		name:    hs.name[:0],
		buffer:  hs.buffer,
		other:   hs.other,
		scratch: keepBytes(hs.scratch),
		verify:  keepBytes(hs.verify),
		ticket:  keepBytes(hs.ticket),
	}
	keep.hello.Extensions = wipeExtensions(hs.hello.Extensions)
	keep.first.Extensions = wipeExtensions(hs.first.Extensions)
	if len(hs.hello.Raw) <= keepBytesMax && len(hs.ech.outer.Raw) <= keepBytesMax {
		keep.ech.buffers = hs.ech.buffers
	}
	keep.ech.outer.Extensions = wipeExtensions(hs.ech.outer.Extensions)
	keep.transcript = hs.transcript
	*hs = keep
	handshakePool.Put(hs)
}

func keepBytes(b []byte) []byte {
	if cap(b) > keepBytesMax {
		return nil
	}
	return b[:0]
}

// wipeExtensions drops the references into message buffers.
func wipeExtensions(e []wire.Extension) []wire.Extension {
	clear(e[:cap(e)])
	return e[:0]
}
