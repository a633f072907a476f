package certstore

// This file puts chains in order: the leaf first, each certificate certified by
// the one after it (RFC 9846, 4.4.2).

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
