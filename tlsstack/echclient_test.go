package tlsstack

import (
	"crypto/rand"
	"testing"

	"edge/ech"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"

	"github.com/cloudflare/circl/hpke"
)

// ECH in the hands of a test: a rawClient whose hello is the inner one, and an
// outer one that carries it.

// echSender encrypts the hellos of one connection to a key.
type echSender struct {
	key    *ech.Key
	enc    []byte // of the first hello
	sealer hpke.Sealer
}

func newECHSender(t testing.TB, key *ech.Key) *echSender {
	t.Helper()
	c := &key.Config
	suite := hpke.NewSuite(hpke.KEM(c.KEM), hpke.KDF(c.Suites[0].KDF), hpke.AEAD(c.Suites[0].AEAD))
	public, err := hpke.KEM(c.KEM).Scheme().UnmarshalBinaryPublicKey(c.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := suite.NewSender(public, append([]byte("tls ech\x00"), c.Raw...))
	if err != nil {
		t.Fatal(err)
	}
	s := &echSender{key: key}
	if s.enc, s.sealer, err = sender.Setup(rand.Reader); err != nil {
		t.Fatal(err)
	}
	return s
}

// outerBody is encrypted_client_hello of type outer.
func outerBody(suite ech.Suite, id uint8, enc, payload []byte) []byte {
	b := append([]byte{byte(wire.ECHOuter)}, list16(suite.KDF, suite.AEAD)...)
	return append(append(append(b, id), vec16(enc)...), vec16(payload)...)
}

// seal has outer carry inner, whole and without padding, and returns the message.
func (s *echSender) seal(t testing.TB, outer, inner *rawHello) []byte {
	t.Helper()
	encoded := *inner
	encoded.sessionID = nil
	plain := encoded.marshal()[wire.HeaderBytes:]
	suite, id := s.key.Config.Suites[0], s.key.Config.ID
	outer.set(wire.ExtEncryptedClientHello, outerBody(suite, id, s.enc, make([]byte, len(plain)+16)))
	payload, err := s.sealer.Seal(plain, outer.marshal()[wire.HeaderBytes:])
	if err != nil {
		t.Fatal(err)
	}
	outer.set(wire.ExtEncryptedClientHello, outerBody(suite, id, s.enc, payload))
	s.enc = nil
	return outer.marshal()
}

// newECHClient is a client for testName with an outer hello for publicName.
func newECHClient(t testing.TB, cfg *Config) (c *rawClient, outer *rawHello) {
	t.Helper()
	c = newRawClient(t, cfg, mode{})
	c.hello.set(wire.ExtEncryptedClientHello, []byte{byte(wire.ECHInner)})
	return c, outerFor(c)
}

// outerFor is an outer hello for publicName that offers what the client does.
func outerFor(c *rawClient) *rawHello {
	outer := defaultHello()
	outer.random[0]++
	outer.set(wire.ExtServerName, serverNameBody(publicName))
	outer.set(wire.ExtKeyShare, keyShareBody(c.share()))
	return outer
}

// sendInner sends the message that carries the client's hello.
func (c *rawClient) sendInner(message []byte) error {
	if inner := c.hello.marshal(); c.suite == nil {
		c.start(inner)
	} else {
		c.transcript.Add(inner)
	}
	return c.feed(c.records(record.Handshake, message, 0))
}
