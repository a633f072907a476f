package gateway

import (
	"fmt"
	"sync/atomic"

	"edge/certstore"
	"edge/edge/site"
	"edge/tlsstack"
)

// generation is what requests are served from: site and certificates, loaded
// together and never changed. A reload makes another and swaps one pointer.
//
// Its users are the server, while it is the current one, and each worker with
// a connection or an exchange that started on it. The last one closes it.
type generation struct {
	number int64      // counts from 1
	site   *site.Site // nil: none, a page says what to do
	certs  *certificates
	tls    *tlsstack.Config
	users  atomic.Int64
	closed func() // called once, after the last user; nil for none
}

func (g *generation) take() { g.users.Add(1) }

func (g *generation) drop() {
	if n := g.users.Add(-1); n == 0 {
		if g.site != nil {
			g.site.Close() // nothing is to be done about an error of a read-only file
		}
		if g.closed != nil {
			g.closed()
		}
	} else if n < 0 {
		panic("BUG: generation dropped once too often")
	}
}

// localGen is one worker's share of a generation: a count that needs no atomic
// operation per request.
type localGen struct {
	*generation
	holders int // connections and exchanges of this worker
}

// holds says whether there is a certificate for a name in normal form.
func (g *generation) holds(name []byte) bool { return g.certs.snapshot.Match(name) != nil }

// certificates lets the handshake choose from a snapshot. The credentials stand
// in parallel to the snapshot's entries.
type certificates struct {
	snapshot *certstore.Snapshot
	byEntry  [][]*tlsstack.Credential
}

// newCertificates precomputes a credential for each pair, once, and the list of
// candidates of each entry.
func newCertificates(snap *certstore.Snapshot) (*certificates, error) {
	pairs := snap.Pairs()
	byPair := make([]*tlsstack.Credential, len(pairs))
	for i, p := range pairs {
		cred, err := tlsstack.NewCredential(p.Chain, p.Signer, p.Staple, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.CertFile, err)
		}
		byPair[i] = cred
	}
	entries := snap.Entries()
	c := &certificates{snapshot: snap, byEntry: make([][]*tlsstack.Credential, len(entries))}
	for i, e := range entries {
		list := make([]*tlsstack.Credential, len(e.Pairs))
		for j, p := range e.Pairs {
			list[j] = byPair[p.Index]
		}
		c.byEntry[i] = list
	}
	return c, nil
}

// Credentials implements tlsstack.CertificateSource.
func (c *certificates) Credentials(name []byte) []*tlsstack.Credential {
	return c.of(c.snapshot.Match(name))
}

// Default implements tlsstack.CertificateSource.
func (c *certificates) Default() []*tlsstack.Credential { return c.of(c.snapshot.Default()) }

func (c *certificates) of(e *certstore.Entry) []*tlsstack.Credential {
	if e == nil {
		return nil
	}
	return c.byEntry[e.Index]
}
