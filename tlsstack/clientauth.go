package tlsstack

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"edge/tlsstack/wire"
)

// ClientVerifier decides about client certificates.
type ClientVerifier interface {
	// VerifyClient checks a chain, leaf first, at the time given. The errors of
	// crypto/x509 become the alerts that say what is wrong, a *wire.Error brings
	// its own, and anything else is certificate_unknown.
	VerifyClient(now time.Time, chain []*x509.Certificate) error

	// ResumeClient says whether a client that showed this certificate in an
	// earlier handshake may resume its session now; if not it has to show one
	// again.
	ResumeClient(now time.Time, leaf *x509.Certificate) bool

	// Authorities returns the DER names sent in certificate_authorities; nil
	// sends none. The slice is shared.
	Authorities() [][]byte

	// Digest identifies the policy. A session made under one policy is not
	// resumed under another.
	Digest() [sha256.Size]byte
}

// ClientCAs verifies client certificates against a set of authorities: chain,
// dates, name constraints, and client authentication as a purpose.
type ClientCAs struct {
	pool   *x509.CertPool
	names  [][]byte
	digest [sha256.Size]byte
}

// NewClientCAs reads authorities from PEM; blocks other than CERTIFICATE are
// refused, as is a file without any.
func NewClientCAs(file []byte) (*ClientCAs, error) {
	cas := &ClientCAs{pool: x509.NewCertPool()}
	all := sha256.New()
	for rest := file; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("client CA file holds a %s, only CERTIFICATE is expected", block.Type)
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("client CA file: certificate %d: %w", len(cas.names)+1, err)
		}
		cas.pool.AddCert(ca)
		cas.names = append(cas.names, ca.RawSubject)
		all.Write(ca.Raw)
	}
	if len(cas.names) == 0 {
		return nil, errors.New("client CA file holds no CERTIFICATE block")
	}
	all.Sum(cas.digest[:0])
	return cas, nil
}

// authoritiesBytesMax bounds certificate_authorities, in bytes: with more names
// than that, none are sent, which lets the client choose by itself.
const authoritiesBytesMax = 16 << 10

// Authorities returns the subjects of the authorities.
func (c *ClientCAs) Authorities() [][]byte {
	size := 0
	for _, name := range c.names {
		size += 2 + len(name)
	}
	if size > authoritiesBytesMax {
		return nil
	}
	return c.names
}

// Digest is the hash of the authorities.
func (c *ClientCAs) Digest() [sha256.Size]byte { return c.digest }

// VerifyClient checks the chain.
func (c *ClientCAs) VerifyClient(now time.Time, chain []*x509.Certificate) error {
	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots:         c.pool,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// ResumeClient checks the dates of the leaf.
func (c *ClientCAs) ResumeClient(now time.Time, leaf *x509.Certificate) bool {
	return !now.Before(leaf.NotBefore) && !now.After(leaf.NotAfter)
}

// clientSchemes are the signature schemes accepted from clients.
var clientSchemes = []wire.SignatureScheme{
	wire.SchemeECDSAP256SHA256, wire.SchemeRSAPSSSHA256, wire.SchemeEd25519,
	wire.SchemeECDSAP384SHA384, wire.SchemeRSAPSSSHA384,
	wire.SchemeECDSAP521SHA512, wire.SchemeRSAPSSSHA512,
}

// certificateSchemes are the ones accepted in the certificates of a chain.
var certificateSchemes = append(slices.Clone(clientSchemes),
	wire.SchemeRSAPKCS1SHA256, wire.SchemeRSAPKCS1SHA384, wire.SchemeRSAPKCS1SHA512)

func (c *Config) clientSchemes() []wire.SignatureScheme {
	if c.ClientSchemes != nil {
		return c.ClientSchemes
	}
	return clientSchemes
}

// appendCertificateRequest asks for a client certificate (RFC 9846, 4.4.2).
func (c *Conn) appendCertificateRequest(dst []byte) []byte {
	m := wire.CertificateRequest{
		SignatureAlgorithms:     c.cfg.clientSchemes(),
		SignatureAlgorithmsCert: certificateSchemes,
		CertificateAuthorities:  c.cfg.ClientVerifier.Authorities(),
	}
	return m.Append(dst)
}

// clientCertificate takes the client's Certificate: it may be empty where none
// is insisted on.
func (c *Conn) clientCertificate(now time.Time, msg []byte) *Error {
	hs := c.hs
	if err := wire.ParseCertificate(msg, &hs.chain); err != nil {
		return refuseMessage(err)
	}
	if len(hs.chain.Chain) == 0 {
		// RFC 9846, 4.5.1.3: certificate_required.
		if c.cfg.ClientAuth == ClientAuthRequire {
			return refuse(ReasonClientCertMissing)
		}
		hs.transcript.Add(msg)
		c.state = stateFinished
		return nil
	}
	identity, e := c.identify(now, hs.chain.Chain)
	if e != nil {
		return e
	}
	hs.identity = identity
	hs.transcript.Add(msg)
	c.state = stateVerify
	return nil
}

// clientRSABitsMax is the longest RSA key taken of a client, its authorities' included:
// checking a signature takes some 3 ms with it, and seconds with the longest that fits
// into a chain.
const clientRSABitsMax = 8192

// identify parses and verifies a chain, and copies it out of the message.
func (c *Conn) identify(now time.Time, chain [][]byte) (*ClientIdentity, *Error) {
	identity := &ClientIdentity{Chain: make([][]byte, len(chain))}
	parsed := make([]*x509.Certificate, len(chain))
	for i, der := range chain {
		cert, err := x509.ParseCertificate(bytes.Clone(der)) // what is parsed aliases it
		if err != nil {
			return nil, refuseCause(ReasonClientCertMalformed, err)
		}
		if k, ok := cert.PublicKey.(*rsa.PublicKey); ok && k.N.BitLen() > clientRSABitsMax {
			return nil, refuse(ReasonClientCertKeyLong)
		}
		parsed[i], identity.Chain[i] = cert, cert.Raw
	}
	identity.Leaf = parsed[0]
	if _, err := schemesFor(identity.Leaf.PublicKey); err != nil {
		return nil, refuseCause(ReasonClientCertUnsupported, err)
	}
	// RFC 9846, 4.5.1.2: "the digitalSignature bit MUST be set if the Key Usage
	// extension is present".
	if usage := identity.Leaf.KeyUsage; usage != 0 && usage&x509.KeyUsageDigitalSignature == 0 {
		return nil, refuse(ReasonClientCertUsage)
	}
	if err := c.cfg.ClientVerifier.VerifyClient(now, parsed); err != nil {
		return nil, refuseChain(err, parsed)
	}
	return identity, nil
}

// refuseChain turns what a verifier says into an error.
func refuseChain(err error, chain []*x509.Certificate) *Error {
	reason := chainReason(err)
	if reason == ReasonClientCertUnknownCA && weaklySigned(chain) {
		// RFC 9846, 4.5.1.3: "MUST abort the handshake with a "bad_certificate" alert".
		reason = ReasonClientCertWeak
	}
	e := refuseCause(reason, err)
	var w *wire.Error
	if errors.As(err, &w) {
		e.Alert = w.Alert
	}
	return e
}

// weaklySigned reports whether a chain needs a signature over MD5 or SHA-1, which
// crypto/x509 does not verify. A certificate that signed itself needs none.
func weaklySigned(chain []*x509.Certificate) bool {
	for _, cert := range chain {
		switch cert.SignatureAlgorithm {
		case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
			if !bytes.Equal(cert.RawIssuer, cert.RawSubject) {
				return true
			}
		}
	}
	return false
}

// chainReason names what is wrong with a chain.
func chainReason(err error) Reason {
	var invalid x509.CertificateInvalidError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &authority):
		return ReasonClientCertUnknownCA
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ReasonClientCertExpired
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return ReasonClientCertUnsupported
	}
	return ReasonClientCertRefused
}

// clientVerify takes the client's CertificateVerify (RFC 9846, 4.5.2).
func (c *Conn) clientVerify(msg []byte) *Error {
	hs := c.hs
	scheme, signature, err := wire.ParseCertificateVerify(msg)
	if err != nil {
		return refuseMessage(err)
	}
	if !slices.Contains(c.cfg.clientSchemes(), scheme) {
		return refuse(ReasonClientScheme)
	}
	hs.verify = appendVerifyContent(hs.verify[:0], clientContext, hs.transcript.Sum())
	if e := verifySignature(hs.identity.Leaf.PublicKey, scheme, hs.verify, signature); e != nil {
		return e
	}
	hs.identity.Scheme = scheme
	hs.transcript.Add(msg)
	c.state = stateFinished
	return nil
}
