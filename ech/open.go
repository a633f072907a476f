package ech

import (
	"edge/tlsstack/wire"

	"github.com/cloudflare/circl/hpke"
)

// Outcome is what became of a hello's ECH.
type Outcome uint8

// Outcomes.
const (
	None     Outcome = iota // not offered: serve the hello as it is
	Rejected                // offered, but not to a key of ours: serve the outer hello
	Accepted                // serve the inner hello
)

// String returns the outcome in a word, for logs.
func (o Outcome) String() string { return [...]string{"none", "rejected", "accepted"}[o] }

// Buffers is memory for opening hellos, reused from one to the next: up to
// twice wire.ClientHelloBytesMax. The inner hello lies in it until it is used
// again.
type Buffers struct {
	aad   []byte
	inner []byte
}

// Context is an opened hello's HPKE context, kept for the second hello that
// follows a HelloRetryRequest (RFC 9849, 7.1.1).
type Context struct {
	Key *Key // what the client encrypted to

	opener hpke.Opener
	suite  Suite
}

var (
	errInnerNotInner = malformed(wire.AlertIllegalParameter,
		"ClientHelloInner without an encrypted_client_hello of type inner (RFC 9849, 7.1)")
	errInnerVersion = malformed(wire.AlertIllegalParameter,
		"ClientHelloInner offers TLS 1.2 or older (RFC 9849, 7.1)")
	errSecondMissing = malformed(wire.AlertMissingExtension,
		"second ClientHello without encrypted_client_hello (RFC 9849, 7.1.1)")
	errSecondChanged = malformed(wire.AlertIllegalParameter,
		"second encrypted_client_hello changes suite or config_id, or has an enc (RFC 9849, 7.1.1)")
	errSecondPayload = malformed(wire.AlertDecryptError,
		"second encrypted_client_hello does not decrypt (RFC 9849, 7.1.1)")
)

// Open looks at a first ClientHello that came from the network, parsed or
// scanned, and tries to open its ECH. When it is Accepted, inner is parsed from
// bytes in b, and the Context serves a second hello. A nil Set holds no keys.
// Fails with *wire.Error when the extension or what was encrypted is malformed:
// the connection is then over, whatever else could serve it.
func (s *Set) Open(outer, inner *wire.ClientHello, b *Buffers) (Outcome, *Context, error) {
	e := outer.Find(wire.ExtEncryptedClientHello)
	if e == nil {
		return None, nil, nil
	}
	var ext outerExtension
	if err := parseOuter(e, &ext); err != nil {
		return Rejected, nil, err
	}
	ctx, encoded := s.decrypt(outer, &ext, b)
	if ctx == nil {
		return Rejected, nil, nil
	}
	if err := b.parseInner(encoded, outer, inner); err != nil {
		return Accepted, nil, err
	}
	return Accepted, ctx, nil
}

// decrypt tries the keys whose config_id the client names (RFC 9849, 7.1,
// method 1), and returns the context of the first that opens the payload.
func (s *Set) decrypt(outer *wire.ClientHello, ext *outerExtension, b *Buffers) (*Context, []byte) {
	candidates := s.candidates(ext.configID)
	if len(candidates) == 0 {
		return nil, nil
	}
	b.authenticate(outer, ext)
	for _, key := range candidates {
		opener := key.setup(ext)
		if opener == nil {
			continue
		}
		if encoded, err := opener.Open(ext.payload, b.aad); err == nil {
			return &Context{Key: key, opener: opener, suite: ext.suite}, encoded
		}
	}
	return nil, nil
}

// setup starts an HPKE context for a hello, nil when the client's suite is not
// one of the config's or its enc is no public key.
func (k *Key) setup(ext *outerExtension) hpke.Opener {
	if !suiteSupported(ext.suite) || !k.Config.Offers(ext.suite) {
		return nil
	}
	receiver, err := hpkeSuite(k.Config.KEM, ext.suite).NewReceiver(k.private, k.info)
	if err != nil {
		return nil
	}
	opener, err := receiver.Setup(ext.enc)
	if err != nil {
		return nil
	}
	return opener
}

// authenticate makes the ClientHelloOuterAAD: the outer hello as received,
// without its header, the payload replaced by as many zeros (RFC 9849, 5.2).
func (b *Buffers) authenticate(outer *wire.ClientHello, ext *outerExtension) {
	b.aad = append(b.aad[:0], outer.Raw[wire.HeaderBytes:]...)
	at := ext.payloadOffset - wire.HeaderBytes
	clear(b.aad[at : at+len(ext.payload)])
}

// OpenSecond opens the ClientHello that answers a HelloRetryRequest, after the
// first was accepted. inner is parsed from bytes in b, where the first inner
// hello may have been. Fails with *wire.Error; there is no declining any more.
func (c *Context) OpenSecond(outer, inner *wire.ClientHello, b *Buffers) error {
	e := outer.Find(wire.ExtEncryptedClientHello)
	if e == nil {
		return errSecondMissing
	}
	var ext outerExtension
	if err := parseOuter(e, &ext); err != nil {
		return err
	}
	if ext.suite != c.suite || ext.configID != c.Key.Config.ID || len(ext.enc) != 0 {
		return errSecondChanged
	}
	b.authenticate(outer, &ext)
	encoded, err := c.opener.Open(ext.payload, b.aad)
	if err != nil {
		return errSecondPayload
	}
	return b.parseInner(encoded, outer, inner)
}

// parseInner rebuilds the inner hello, parses it, and checks what RFC 9849, 7.1
// asks of it.
func (b *Buffers) parseInner(encoded []byte, outer, inner *wire.ClientHello) error {
	var err error
	if b.inner, err = appendInner(b.inner[:0], encoded, outer); err != nil {
		return err
	}
	if err = wire.ParseClientHello(b.inner, inner); err != nil {
		return err
	}
	// RFC 9849, 7.1: "the client-facing server checks that the message includes a
	// well-formed "encrypted_client_hello" extension of type inner and that it
	// does not offer TLS 1.2 or below. If either of these checks fails, the
	// client-facing server MUST abort with an "illegal_parameter" alert."
	if len(inner.ECH) != 1 || wire.ECHClientHelloType(inner.ECH[0]) != wire.ECHInner {
		return errInnerNotInner
	}
	return checkInnerVersions(inner)
}

// checkInnerVersions refuses TLS 1.2 and older, which is also what a hello
// without supported_versions offers. Values that are no version (GREASE,
// RFC 8701) are skipped.
func checkInnerVersions(inner *wire.ClientHello) error {
	versions := inner.SupportedVersions
	if versions.Len() == 0 {
		return errInnerVersion
	}
	for i := range versions.Len() {
		if versions.At(i) < wire.VersionTLS13 {
			return errInnerVersion
		}
	}
	return nil
}
