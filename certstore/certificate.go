package certstore

// This file reads certificates (RFC 5280) and keeps of them only what serving
// needs: a parsed x509.Certificate is several times the size of its DER.

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	oidTLSFeature     = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24} // RFC 7633
	oidACMEIdentifier = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 31} // RFC 8737, 6.1
)

// certificate is what is kept of one certificate. Its slices point into der.
type certificate struct {
	der        []byte
	subject    []byte // DER Name
	issuer     []byte // DER Name
	subjectKey []byte // SubjectKeyIdentifier, nil for none
	issuerKey  []byte // AuthorityKeyIdentifier's keyIdentifier, nil for none
	id         keyID
	names      []string // normal forms, wildcards as "*.example"
	badName    string   // a dNSName that is no host name; empty for none
	begins     int64    // s since 1970
	ends       int64    // s since 1970
	kind       KeyKind

	isCA       bool
	signsCerts bool // keyUsage keyCertSign
	hasNames   bool // a subjectAltName of any type
	fromCommon bool // names holds the common name
	mustStaple bool
	challenge  bool // for tls-alpn-01
	hasParent  bool // says where its issuer's certificate is to be had
}

// readCertificate reads a certificate from DER, which it keeps.
func readCertificate(der []byte) (*certificate, *fault) {
	x, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, &fault{fmt.Sprintf("unreadable certificate (%v)", err), "copy it again"}
	}
	c := &certificate{
		der: der, subject: x.RawSubject, issuer: x.RawIssuer,
		subjectKey: x.SubjectKeyId, issuerKey: x.AuthorityKeyId,
		id:     sha256.Sum256(x.RawSubjectPublicKeyInfo),
		begins: x.NotBefore.Unix(), ends: x.NotAfter.Unix(),
		kind: kindOfKey(x.PublicKey),
		isCA: x.BasicConstraintsValid && x.IsCA, signsCerts: x.KeyUsage&x509.KeyUsageCertSign != 0,
		hasNames:  len(x.DNSNames)+len(x.IPAddresses)+len(x.EmailAddresses)+len(x.URIs) > 0,
		hasParent: len(x.IssuingCertificateURL) > 0,
	}
	for _, e := range x.Extensions {
		c.mustStaple = c.mustStaple || e.Id.Equal(oidTLSFeature)
		c.challenge = c.challenge || e.Id.Equal(oidACMEIdentifier)
	}
	c.readNames(x)
	return c, nil
}

// readNames fills in the server names.
func (c *certificate) readNames(x *x509.Certificate) {
	from := x.DNSNames
	if !c.hasNames && x.Subject.CommonName != "" {
		from = []string{x.Subject.CommonName}
		c.fromCommon = true
	}
	names := make([]string, 0, len(from))
	for _, raw := range from {
		name, err := certName(raw)
		switch {
		case err == nil:
			names = append(names, name)
		case c.fromCommon:
			c.fromCommon = false // a person's or an authority's name
		case c.badName == "":
			c.badName = raw
		}
	}
	slices.Sort(names)
	c.names = slices.Compact(names)
}

// certName returns the normal form of a name in a certificate: a host name, or
// "*." and one, the only place RFC 9525, 6.3 leaves for a wildcard.
func certName(raw string) (string, error) {
	var scratch [NameBytesMax]byte
	host, isWildcard := strings.CutPrefix(raw, "*.")
	name, err := AppendName(scratch[:0], []byte(host))
	if err != nil {
		return "", err
	}
	if isWildcard {
		return "*." + string(name), nil
	}
	return string(name), nil
}

// isSelfIssued says whether subject and issuer are the same name.
func (c *certificate) isSelfIssued() bool { return bytes.Equal(c.subject, c.issuer) }

// isLeaf says whether a certificate is meant for a server. An authority's is not;
// but "openssl req -x509" marks what it makes for a server as an authority too,
// so one that names a host is let through, by common name only if it was not made
// to sign certificates.
func (c *certificate) isLeaf() bool {
	return !c.isCA || len(c.names) > 0 && (c.hasNames || !c.signsCerts)
}

// begun and ended say where a moment lies in the validity period, whose both ends
// belong to it (RFC 5280, 4.1.2.5).
func (c *certificate) begun(now time.Time) bool { return now.Unix() >= c.begins }
func (c *certificate) ended(now time.Time) bool { return now.Unix() > c.ends }

// certifies says whether c can be the issuer of child. The key identifiers stand
// for the signature when both have them: checking it would cost 40 to 300 µs per
// certificate, and a chain that fails it is the authority's mistake, not one
// that is made when files are put in place.
func (c *certificate) certifies(child *certificate) bool {
	if !bytes.Equal(c.subject, child.issuer) || !c.isCA {
		return false
	}
	if len(c.subjectKey) > 0 && len(child.issuerKey) > 0 {
		return bytes.Equal(c.subjectKey, child.issuerKey)
	}
	return c.signed(child)
}

// signed says whether c's key made child's signature.
func (c *certificate) signed(child *certificate) bool {
	parent, err := x509.ParseCertificate(c.der)
	if err != nil {
		return false
	}
	x, err := x509.ParseCertificate(child.der)
	return err == nil && x.CheckSignatureFrom(parent) == nil
}
