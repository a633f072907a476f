package gateway

import (
	"fmt"
	"net/netip"
	"sync/atomic"

	"edge/certstore"
	"edge/edge/site"
	"edge/proxy"
	"edge/tlsstack"
)

// generation is what requests are served from: site and certificates, loaded
// together and never changed. A reload makes another and swaps one pointer.
//
// Its users are the server, while it is the current one, and each worker with
// a connection or an exchange that started on it. The last one closes it.
type generation struct {
	number  int64      // counts from 1
	site    *site.Site // of shared; nil: none, a page says what to do
	certs   *certificates
	tls     *tlsstack.Config
	relays  targets // by the name in the (outer) hello
	origins targets // by the name in an opened hello

	fronts     proxy.Trust      // client-facing servers that send us inner hellos
	tlsOfFront *tlsstack.Config // for connections from them

	shared *openSite
	users  atomic.Int64

	programs *programs // nil: none

	// What they were made from; see signatureOf.
	siteChanged, keysChanged, clientsChanged string
}

// openSite is a site with the generations that serve it: one that differs in
// its certificates alone has the site of the one before.
type openSite struct {
	*site.Site
	failures    failurePages
	generations atomic.Int64
}

// close closes a site that no generation serves; nil is none.
func (s *openSite) close() {
	if s != nil {
		s.Close() // nothing is to be done about an error of a read-only file
	}
}

// serve has g serve the site s; nil for none.
func (g *generation) serve(s *openSite) {
	if s != nil {
		s.generations.Add(1)
		g.shared, g.site = s, s.Site
	}
}

func (g *generation) take() { g.users.Add(1) }

func (g *generation) drop() {
	n := g.users.Add(-1)
	if n == 0 {
		g.dropPrograms()
	}
	switch {
	case n < 0:
		panic("BUG: generation dropped once too often")
	case n == 0 && g.shared != nil && g.shared.generations.Add(-1) == 0:
		g.site.Close() // nothing is to be done about an error of a read-only file
	}
}

// localGen is one worker's share of a generation: a count that needs no atomic
// operation per request.
type localGen struct {
	*generation
	holders int // connections and exchanges of this worker
}

// tlsFor is the TLS side for a neighbour.
func (g *generation) tlsFor(neighbour netip.Addr) *tlsstack.Config {
	if g.tlsOfFront != nil && g.fronts.Has(neighbour) {
		return g.tlsOfFront
	}
	return g.tls
}

// relaysAny says whether some hellos are passed on: their raw bytes are kept.
func (g *generation) relaysAny() bool { return len(g.relays)+len(g.origins) > 0 }

// holds says whether there is a certificate for a name.
func (g *generation) holds(name []byte) bool {
	return len(g.certs.Credentials(name)) > 0
}

// certificates lets the handshake choose from a snapshot. The credentials stand
// in parallel to the snapshot's entries.
type certificates struct {
	snapshot *certstore.Snapshot // nil: there are no certificates, all is relayed
	byPair   []*tlsstack.Credential
	byEntry  [][]*tlsstack.Credential
	fallback []*tlsstack.Credential // for names that are not held
}

// newCertificates precomputes a credential for each pair, once, and the list of
// candidates of each entry. What before has of the very same pair is taken over,
// if its snapshot is the one that snap was made after. A pair that TLS cannot use
// is left out, and refused says why: it is told when it is new, not each time.
func newCertificates(snap *certstore.Snapshot, before *certificates) (c *certificates, refused []error) {
	pairs := snap.Pairs()
	follows := snap.Follows(before.snapshot)
	c = &certificates{snapshot: snap, byPair: make([]*tlsstack.Credential, len(pairs))}
	for i, p := range pairs {
		if follows && p.PreviousIndex >= 0 {
			c.byPair[i] = before.byPair[p.PreviousIndex]
			continue
		}
		cred, err := tlsstack.NewCredential(p.Chain, p.Signer, p.Staple, nil)
		if err != nil {
			refused = append(refused, fmt.Errorf("%s is not served: %w", p.CertFile, err))
			continue
		}
		c.byPair[i] = cred
	}
	c.byEntry = make([][]*tlsstack.Credential, len(snap.Entries()))
	for i, e := range snap.Entries() {
		for _, p := range e.Pairs {
			if cred := c.byPair[p.Index]; cred != nil {
				c.byEntry[i] = append(c.byEntry[i], cred)
			}
		}
	}
	c.fallback = c.of(snap.Default())
	for i := 0; len(c.fallback) == 0 && i < len(c.byEntry); i++ {
		c.fallback = c.byEntry[i]
	}
	return c, refused
}

// Credentials implements tlsstack.CertificateSource.
func (c *certificates) Credentials(name []byte) []*tlsstack.Credential {
	if c.snapshot == nil {
		return nil
	}
	var buf nameBuffer
	normal := normalName(&buf, name)
	if normal == nil {
		return nil
	}
	return c.of(c.snapshot.Match(normal))
}

// Default implements tlsstack.CertificateSource.
func (c *certificates) Default() []*tlsstack.Credential { return c.fallback }

func (c *certificates) of(e *certstore.Entry) []*tlsstack.Credential {
	if e == nil {
		return nil
	}
	return c.byEntry[e.Index]
}
