package dev

// This file makes the certificates (RFC 5280).

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"
)

// makeAuthority makes an authority that can certify s, and the local names, only.
func makeAuthority(s subject, now time.Time) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "edge development authority " + now.UTC().Format("2006-01-02 15:04:05")},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife - clockSkew),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,

		PermittedDNSDomainsCritical: true, // RFC 5280, 4.2.1.10: "MUST"
		PermittedDNSDomains:         s.domains(),
		PermittedIPRanges:           s.ranges(),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return der, key, err
}

// makeLeaf makes a server certificate for s.
func makeLeaf(ca *issuer, s subject, now time.Time) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "edge development server"},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(leafLife - clockSkew),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              s.hosts,
		IPAddresses:           s.ips(),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	return der, key, err
}

// newSerial returns a serial number of 127 random bits: positive, and at most 20
// octets (RFC 5280, 4.1.2.2).
func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

// domains returns the hosts as constraints, each of which permits what lies below
// it as well.
func (s subject) domains() []string {
	var out []string
	for _, host := range s.hosts {
		out = append(out, strings.TrimPrefix(host, "*."))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ranges returns the addresses as constraints of one address each.
func (s subject) ranges() []*net.IPNet {
	var out []*net.IPNet
	for _, ip := range s.ips() {
		if four := ip.To4(); four != nil {
			ip = four
		}
		out = append(out, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
	}
	return out
}

// permits says whether an authority's constraints leave room for s.
func permits(ca *x509.Certificate, s subject) bool {
	for _, domain := range s.domains() {
		if !slices.ContainsFunc(ca.PermittedDNSDomains, func(p string) bool {
			return domain == p || strings.HasSuffix(domain, "."+p)
		}) {
			return false
		}
	}
	for _, ip := range s.ips() {
		if !slices.ContainsFunc(ca.PermittedIPRanges, func(n *net.IPNet) bool { return n.Contains(ip) }) {
			return false
		}
	}
	return true
}
