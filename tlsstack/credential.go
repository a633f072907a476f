package tlsstack

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"

	"edge/tlsstack/wire"

	"golang.org/x/crypto/cryptobyte"
)

// Credential is one certificate chain with its key. It is immutable and shared
// by all connections; build it with NewCredential.
type Credential struct {
	Chain   [][]byte // DER, leaf first
	Signer  crypto.Signer
	Staple  []byte // DER OCSPResponse, nil for none
	SCTList []byte // SignedCertificateTimestampList, nil for none

	schemes    []wire.SignatureScheme // what the key can sign, best first
	issuers    [][]byte               // see WithIssuerMatch
	compressed atomic.Pointer[compressedForms]
}

// NewCredential makes a credential of a chain (DER, leaf first) and the key of
// its leaf; that they belong together is the caller's to have checked. staple is
// a DER OCSPResponse and scts a SignedCertificateTimestampList in wire form;
// either may be nil. It fails when the chain is empty, when it or the staple is
// too long for the protocol, when scts is malformed, and when the key is of a
// kind TLS 1.3 cannot sign with.
func NewCredential(chain [][]byte, signer crypto.Signer, staple, scts []byte) (*Credential, error) {
	if len(chain) == 0 {
		return nil, errors.New("certificate chain is empty")
	}
	if err := checkCertificateSizes(chain, staple); err != nil {
		return nil, err
	}
	if scts != nil && !validSCTList(scts) {
		return nil, errors.New("SCT list is malformed (RFC 6962, 3.3)")
	}
	schemes, err := schemesFor(signer.Public())
	if err != nil {
		return nil, err
	}
	return &Credential{Chain: chain, Signer: signer, Staple: staple, SCTList: scts, schemes: schemes}, nil
}

// credentialBytesMax bounds chain and staple, in bytes: a Certificate message
// has three length bytes, and nobody wants a handshake of megabytes.
const credentialBytesMax = 256 << 10

func checkCertificateSizes(chain [][]byte, staple []byte) error {
	size := len(staple)
	for _, der := range chain {
		if len(der) == 0 {
			return errors.New("certificate chain holds an empty certificate")
		}
		size += len(der)
	}
	if size > credentialBytesMax || len(staple) > 1<<16-8 {
		return fmt.Errorf("certificate chain and staple of %d bytes are more than the %d that are served", size, credentialBytesMax)
	}
	return nil
}

// validSCTList checks the two levels of lengths of a list of SCTs.
func validSCTList(scts []byte) bool {
	s := cryptobyte.String(scts)
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) || !s.Empty() || list.Empty() {
		return false
	}
	for !list.Empty() {
		var sct cryptobyte.String
		if !list.ReadUint16LengthPrefixed(&sct) || sct.Empty() {
			return false
		}
	}
	return true
}

// Schemes returns the signature schemes the key can make, best first. The slice
// is shared.
func (c *Credential) Schemes() []wire.SignatureScheme { return c.schemes }

// WithSchemes returns a copy of c that signs only with the given schemes, in
// that order. Schemes the key cannot make are left out.
func (c *Credential) WithSchemes(order []wire.SignatureScheme) *Credential {
	own := &Credential{Chain: c.Chain, Signer: c.Signer, Staple: c.Staple, SCTList: c.SCTList, issuers: c.issuers}
	for _, want := range order {
		for _, can := range c.schemes {
			if want == can {
				own.schemes = append(own.schemes, want)
			}
		}
	}
	return own
}

// WithIssuerMatch returns a copy of c that is presented only to clients whose
// certificate_authorities name an issuer of its chain (RFC 9846, 4.3.4): a chain
// of a private authority, which other clients cannot verify.
func (c *Credential) WithIssuerMatch() (*Credential, error) {
	own := c.WithSchemes(c.schemes)
	for _, der := range c.Chain {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		own.issuers = append(own.issuers, cert.RawIssuer)
	}
	return own, nil
}

// issuerNamed reports whether the client names one of the issuers, where that
// matters.
func (c *Credential) issuerNamed(names wire.NameList) bool {
	if c.issuers == nil {
		return true
	}
	for {
		name, ok := names.Next()
		if !ok {
			return false
		}
		for _, issuer := range c.issuers {
			if bytes.Equal(name, issuer) {
				return true
			}
		}
	}
}

// choose returns the first scheme of the credential that the client verifies
// (RFC 9846, 4.5.1.2).
func (c *Credential) choose(hello *wire.ClientHello) (wire.SignatureScheme, bool) {
	if !c.issuerNamed(hello.CertificateAuthorities) {
		return 0, false
	}
	for _, s := range c.schemes {
		if hello.SignatureAlgorithms.Contains(uint16(s)) {
			return s, true
		}
	}
	return 0, false
}

var (
	schemesP256    = []wire.SignatureScheme{wire.SchemeECDSAP256SHA256}
	schemesP384    = []wire.SignatureScheme{wire.SchemeECDSAP384SHA384}
	schemesP521    = []wire.SignatureScheme{wire.SchemeECDSAP521SHA512}
	schemesEd25519 = []wire.SignatureScheme{wire.SchemeEd25519}
	schemesRSA     = []wire.SignatureScheme{wire.SchemeRSAPSSSHA256, wire.SchemeRSAPSSSHA384, wire.SchemeRSAPSSSHA512}
)

// schemesFor returns what a key can sign in TLS 1.3 (RFC 9846, 4.3.3): ECDSA with
// the hash that belongs to the curve, RSA only with PSS.
func schemesFor(public crypto.PublicKey) ([]wire.SignatureScheme, error) {
	switch k := public.(type) {
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return schemesP256, nil
		case elliptic.P384():
			return schemesP384, nil
		case elliptic.P521():
			return schemesP521, nil
		}
		return nil, fmt.Errorf("ECDSA key on %s, which TLS 1.3 does not use", k.Curve.Params().Name)
	case ed25519.PublicKey:
		return schemesEd25519, nil
	case *rsa.PublicKey:
		return rsaSchemes(k)
	}
	return nil, fmt.Errorf("key of type %T cannot sign in TLS 1.3", public)
}

// rsaSchemes leaves out the hashes for which the modulus is too short: PSS needs
// hash, salt of the same length, and two bytes (RFC 8017, 9.1.1).
func rsaSchemes(k *rsa.PublicKey) ([]wire.SignatureScheme, error) {
	size := (k.N.BitLen() + 6) / 8
	n := 0
	for _, s := range schemesRSA {
		if size >= 2*schemeParams(s).hash.Size()+2 {
			n++
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("RSA key of %d bits is too short to sign in TLS 1.3", k.N.BitLen())
	}
	return schemesRSA[:n], nil
}
