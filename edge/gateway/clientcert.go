package gateway

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"

	"edge/proxy"
)

// clientFacts is what is said of a client's verified certificate, in the access
// log and to upstreams. It is made once for a connection, when it is first asked
// for.
type clientFacts struct {
	subject []byte // RFC 4514, in printable ASCII; empty when too long to pass on
	issuer  []byte // the same
	digest  []byte // SHA-256 of the certificate, in hexadecimal
}

// subjectBytesMax is the longest subject that is passed on, in bytes. One that is
// cut would be the name of somebody else, so a longer one is left out.
const subjectBytesMax = 1024

// clientFacts is nil for a client that has shown no certificate.
func (c *conn) clientFacts() *clientFacts {
	if c.client == nil && c.on.tls {
		if id := c.tls.Info().Client; id != nil {
			c.client = factsOf(id.Leaf)
		}
	}
	return c.client
}

func factsOf(leaf *x509.Certificate) *clientFacts {
	sum := sha256.Sum256(leaf.Raw)
	return &clientFacts{
		subject: appendSubject(nil, leaf.RawSubject),
		issuer:  appendSubject(nil, leaf.RawIssuer),
		digest:  hex.AppendEncode(nil, sum[:]),
	}
}

// appendSubject appends a distinguished name as RFC 4514 writes it, every relative
// name where the certificate has it. What is not printable ASCII stands as a
// backslash and two digits (RFC 4514, 2.4): it goes into header fields and logs.
func appendSubject(dst, der []byte) []byte {
	var name pkix.RDNSequence
	if rest, err := asn1.Unmarshal(der, &name); err != nil || len(rest) > 0 {
		return dst
	}
	start := len(dst)
	for _, b := range []byte(name.String()) {
		if b >= ' ' && b <= '~' {
			dst = append(dst, b)
		} else {
			dst = append(dst, '\\', "0123456789ABCDEF"[b>>4], "0123456789ABCDEF"[b&15])
		}
	}
	if len(dst)-start > subjectBytesMax {
		return dst[:start]
	}
	return dst
}

// frontClient tells an upstream of the client's certificate: the whole of it as
// Client-Cert (RFC 9440, 2.2) has it, a byte sequence of structured fields.
func (c *conn) frontClient(f *proxy.Front) {
	facts := c.clientFacts()
	if facts == nil {
		return
	}
	f.ClientSubject, f.ClientDigest = facts.subject, facts.digest
	b := append(c.w.certText[:0], ':')
	b = base64.StdEncoding.AppendEncode(b, c.tls.Info().Client.Chain[0])
	f.ClientCert = append(b, ':')
	c.w.certText = f.ClientCert
}

// appendFields appends what is known of the client's certificate to a line of the
// access log.
func (f *clientFacts) appendFields(b []byte) []byte {
	if f == nil {
		return b
	}
	b = appendField(b, "client", f.subject)
	return appendField(b, "client_sha256", f.digest)
}
