package ech_test

import (
	"bytes"
	"crypto/rand"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"

	"github.com/cloudflare/circl/hpke"
)

// A client that can break every rule: hellos are lists of extensions, and what
// is sealed is whatever the test says.

// extension is one extension of a hello under construction.
type extension struct {
	typ  wire.ExtensionType
	body []byte
}

// Bodies of extensions that most tests use.
var (
	versions13  = extension{wire.ExtSupportedVersions, []byte{2, 3, 4}}
	groups      = extension{wire.ExtSupportedGroups, []byte{0, 2, 0, 0x1d}}
	schemes     = extension{wire.ExtSignatureAlgorithms, []byte{0, 2, 4, 3}}
	keyShare    = extension{wire.ExtKeyShare, append([]byte{0, 36, 0, 0x1d, 0, 32}, bytes.Repeat([]byte{9}, 32)...)}
	innerMarker = extension{wire.ExtEncryptedClientHello, []byte{1}}
)

func serverName(name string) extension {
	n := len(name)
	body := append([]byte{0, byte(n + 3), 0, 0, byte(n)}, name...)
	return extension{wire.ExtServerName, body}
}

// outerExtensions refers to extensions of the outer hello.
func outerExtensions(types ...wire.ExtensionType) extension {
	body := []byte{byte(2 * len(types))}
	for _, t := range types {
		body = append(body, byte(t>>8), byte(t))
	}
	return extension{wire.ExtECHOuterExtensions, body}
}

// hello is a ClientHello under construction.
type hello struct {
	random     byte // all 32 bytes
	sessionID  []byte
	suites     []byte
	extensions []extension
}

// body returns the ClientHello without its header.
func (h *hello) body() []byte {
	b := append([]byte{3, 3}, bytes.Repeat([]byte{h.random}, 32)...)
	b = append(append(b, byte(len(h.sessionID))), h.sessionID...)
	suites := h.suites
	if suites == nil {
		suites = []byte{0x13, 1}
	}
	b = append(append(b, byte(len(suites)>>8), byte(len(suites))), suites...)
	b = append(b, 1, 0)
	var block []byte
	for _, e := range h.extensions {
		block = append(block, byte(e.typ>>8), byte(e.typ), byte(len(e.body)>>8), byte(len(e.body)))
		block = append(block, e.body...)
	}
	return append(append(b, byte(len(block)>>8), byte(len(block))), block...)
}

func (h *hello) message() []byte {
	b := h.body()
	return append([]byte{1, byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
}

// client encrypts hellos to one config.
type client struct {
	id     uint8
	suite  ech.Suite
	enc    []byte
	sealer interface {
		Seal(plaintext, aad []byte) ([]byte, error)
	}
}

func newClient(t testing.TB, c *ech.Config, s ech.Suite) *client {
	t.Helper()
	suite := hpke.NewSuite(hpke.KEM(c.KEM), hpke.KDF(s.KDF), hpke.AEAD(s.AEAD))
	public, err := hpke.KEM(c.KEM).Scheme().UnmarshalBinaryPublicKey(c.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := suite.NewSender(public, append([]byte("tls ech\x00"), c.Raw...))
	if err != nil {
		t.Fatal(err)
	}
	enc, sealer, err := sender.Setup(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &client{c.ID, s, enc, sealer}
}

// seal fills in the encrypted_client_hello of outer, which must have one with a
// nil body, and returns the message. The next one has an empty enc.
func (c *client) seal(t testing.TB, outer *hello, encoded []byte) []byte {
	t.Helper()
	body := []byte{0, byte(c.suite.KDF >> 8), byte(c.suite.KDF), byte(c.suite.AEAD >> 8), byte(c.suite.AEAD), c.id}
	body = append(append(body, byte(len(c.enc)>>8), byte(len(c.enc))), c.enc...)
	n := len(encoded) + 16
	body = append(append(body, byte(n>>8), byte(n)), make([]byte, n)...)
	c.enc = nil
	for i := range outer.extensions {
		if e := &outer.extensions[i]; e.typ == wire.ExtEncryptedClientHello {
			e.body = body
		}
	}
	sealed, err := c.sealer.Seal(encoded, outer.body())
	if err != nil {
		t.Fatal(err)
	}
	copy(body[len(body)-n:], sealed)
	return outer.message()
}

// newOuter returns an outer hello with room for the ECH.
func newOuter() *hello {
	return &hello{random: 1, sessionID: bytes.Repeat([]byte{7}, 32), extensions: []extension{
		serverName("public.example"), versions13, groups, schemes, keyShare,
		{typ: wire.ExtEncryptedClientHello},
	}}
}

// newInner returns an inner hello without a session id, as it is encoded.
func newInner(more ...extension) *hello {
	return &hello{random: 2, extensions: append([]extension{
		serverName("secret.example"), versions13, innerMarker}, more...)}
}

// generate makes a key.
func generate(t testing.TB, p ech.KeyParameters) *ech.Key {
	t.Helper()
	if p.PublicName == "" {
		p.PublicName = "public.example"
	}
	if p.KEM == 0 {
		p.KEM = ech.KEMX25519
	}
	if p.Suites == nil {
		p.Suites = ech.Suites
	}
	key, err := ech.GenerateKey(p, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newSet(t testing.TB, keys ...*ech.Key) *ech.Set {
	t.Helper()
	set, err := ech.NewSet(keys)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
