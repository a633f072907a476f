package gateway

import (
	"crypto/x509"
	"net/netip"

	"edge/bpfvm"
)

// helpClientSubject: edge_client_subject(buffer, size).
func helpClientSubject(t *bpfvm.Task) (uint64, bool) {
	f := clientOf(t)
	if f == nil {
		return fails(errNoEntry)
	}
	return give(t, f.subject, 1)
}

// helpClientIssuer: edge_client_issuer(buffer, size).
func helpClientIssuer(t *bpfvm.Task) (uint64, bool) {
	f := clientOf(t)
	if f == nil {
		return fails(errNoEntry)
	}
	return give(t, f.issuer, 1)
}

// helpClientDigest: edge_client_sha256(buffer, size).
func helpClientDigest(t *bpfvm.Task) (uint64, bool) {
	f := clientOf(t)
	if f == nil {
		return fails(errNoEntry)
	}
	return give(t, f.digest, 1)
}

// helpClientName: edge_client_name(index, buffer, size).
func helpClientName(t *bpfvm.Task) (uint64, bool) {
	c := runOf(t).c
	if clientOf(t) == nil {
		return fails(errNoEntry)
	}
	w := c.w
	t.Charge(chargePeerText)
	name := appendAltName(w.scratch[:0], c.tls.Info().Client.Leaf, t.Arg(1))
	w.scratch = name[:0]
	if len(name) == 0 {
		return fails(errNoEntry)
	}
	return give(t, name, 2)
}

// clientOf is nil for a client that has shown no certificate, and in edge/hello.
func clientOf(t *bpfvm.Task) *clientFacts {
	r := runOf(t)
	if r.hook == hookHello {
		return nil
	}
	return r.c.clientFacts()
}

// appendAltName appends the i-th subject alternative name of a certificate, its kind
// before it; nothing if there are not so many. They are counted by kind: DNS names,
// mail addresses, IP addresses, URIs.
func appendAltName(dst []byte, leaf *x509.Certificate, i uint64) []byte {
	if i < uint64(len(leaf.DNSNames)) {
		return append(append(dst, "DNS:"...), leaf.DNSNames[i]...)
	}
	i -= uint64(len(leaf.DNSNames))
	if i < uint64(len(leaf.EmailAddresses)) {
		return append(append(dst, "email:"...), leaf.EmailAddresses[i]...)
	}
	i -= uint64(len(leaf.EmailAddresses))
	if i < uint64(len(leaf.IPAddresses)) {
		a, _ := netip.AddrFromSlice(leaf.IPAddresses[i]) // x509 gives 4 or 16 bytes
		return a.AppendTo(append(dst, "IP:"...))
	}
	i -= uint64(len(leaf.IPAddresses))
	if i < uint64(len(leaf.URIs)) {
		return append(append(dst, "URI:"...), leaf.URIs[i].String()...)
	}
	return dst
}
