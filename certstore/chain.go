package certstore

// This file puts chains in order: the leaf first, each certificate certified by
// the one after it (RFC 9846, 4.5.1).

import (
	"crypto/x509"
	"fmt"
)

// chainMax bounds the certificates of one chain.
const chainMax = 10

// chain is a chain and what was wrong with the file it came from.
type chain struct {
	certs      []*certificate
	misordered bool // the file had them in another order
	extra      int  // certificates of the file that are not part of it
}

// buildChain follows the issuers of leaf through the certificates of its file.
// Order is judged only in a file with one leaf: with several (an ECDSA and an RSA
// certificate in one file) each has its own issuers among the rest.
func buildChain(leaf *certificate, file []*certificate) chain {
	ch := chain{certs: []*certificate{leaf}}
	var rest []*certificate
	others := false
	for i, c := range file {
		switch {
		case contains(file[:i], c): // twice the same does no harm
		case c == leaf:
			ch.misordered = len(rest) > 0
		case c.isCA:
			rest = append(rest, c)
		default:
			others = true
		}
	}
	for cur := leaf; len(rest) > 0 && !cur.isSelfIssued() && len(ch.certs) < chainMax; {
		i := issuerIn(rest, cur)
		if i < 0 {
			break
		}
		ch.misordered = ch.misordered || i > 0
		cur = rest[i]
		ch.certs = append(ch.certs, cur)
		rest = append(rest[:i:i], rest[i+1:]...)
	}
	if ch.extra = len(rest); others {
		ch.misordered, ch.extra = false, 0
	}
	return ch
}

// contains says whether certs has c, or its double.
func contains(certs []*certificate, c *certificate) bool {
	for _, other := range certs {
		if other == c || string(other.der) == string(c.der) {
			return true
		}
	}
	return false
}

// issuerIn returns the place of child's issuer, -1 for none.
func issuerIn(certs []*certificate, child *certificate) int {
	for i, c := range certs {
		if c.certifies(child) {
			return i
		}
	}
	return -1
}

// der returns the chain as it is sent.
func (ch chain) der() [][]byte {
	out := make([][]byte, len(ch.certs))
	for i, c := range ch.certs {
		out[i] = c.der
	}
	return out
}

// CheckSignatures says whether each certificate of the chain was really signed by
// the one after it. Loading goes by names and key identifiers (see
// certificate.certifies); this is for when an operator asks.
func (p *Pair) CheckSignatures() error {
	for i := range len(p.Chain) - 1 {
		child, err := x509.ParseCertificate(p.Chain[i])
		if err != nil {
			return err
		}
		parent, err := x509.ParseCertificate(p.Chain[i+1])
		if err != nil {
			return err
		}
		if err := child.CheckSignatureFrom(parent); err != nil {
			return fmt.Errorf("certificate %d of the chain was not signed by certificate %d (%w)", i+1, i+2, err)
		}
	}
	return nil
}
