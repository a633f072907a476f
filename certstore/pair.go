package certstore

// This file brings certificates and keys together into pairs.

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"
)

// assembly is the making of one snapshot's pairs.
type assembly struct {
	dir      string
	files    []fileRecord
	previous *Snapshot
	now      time.Time

	keys      map[keyID]*keyPlace    // the first file with a key
	keysIn    map[keyInDir]*keyPlace // further files with it
	byLeaf    map[uint64]int32       // places in pairs, by leafHash
	keptFiles map[string]string      // both files of kept pairs to the certificate's
	pairs     []Pair
	aliases   map[*certificate][]string // leaf of a pair to the other files that hold it
	orphans   []orphan
	pool      map[poolKey][]*certificate
	problems  []Problem
}

// keyPlace is a private key and the file it is in.
type keyPlace struct {
	key    *privateKey
	file   string
	isUsed bool // a file has its certificate
}

// keyInDir finds a key within a directory.
type keyInDir struct {
	id  keyID
	dir string
}

// orphan is a certificate without its key.
type orphan struct {
	leaf *certificate
	file string
}

// poolKey finds an authority's certificate within a directory.
type poolKey struct{ dir, subject string }

// newAssembly returns an assembly with room for all that files hold.
func newAssembly(dir string, files []fileRecord, previous *Snapshot, now time.Time) *assembly {
	certs, keys := 0, 0
	for i := range files {
		if c := files[i].content; c != nil {
			certs += min(len(c.certs), 1)
			keys += len(c.keys)
		}
	}
	return &assembly{
		dir: dir, files: files, previous: previous, now: now,
		keys:      make(map[keyID]*keyPlace, keys),
		keysIn:    make(map[keyInDir]*keyPlace),
		byLeaf:    make(map[uint64]int32, certs),
		keptFiles: make(map[string]string),
		pairs:     make([]Pair, 0, certs),
		aliases:   make(map[*certificate][]string),
	}
}

// assemble makes the pairs of all files, and adds those to keep.
func (a *assembly) assemble() {
	for i := range a.files {
		a.fileProblems(&a.files[i])
		a.gatherKeys(&a.files[i])
	}
	for i := range a.files {
		if c := a.files[i].content; c != nil && len(c.certs) > 0 {
			a.pairFile(a.files[i].path, c.certs)
		}
	}
	for i := range a.pairs {
		a.complete(&a.pairs[i])
	}
	a.keep()
	a.orphanProblems()
}

// gatherKeys notes the keys of one file.
func (a *assembly) gatherKeys(f *fileRecord) {
	if f.content == nil {
		return
	}
	for _, k := range f.content.keys {
		place := &keyPlace{key: k, file: f.path}
		if _, is := a.keys[k.id]; !is {
			a.keys[k.id] = place
			continue
		}
		here := keyInDir{k.id, dirOf(f.path)}
		if _, is := a.keysIn[here]; !is {
			a.keysIn[here] = place
		}
	}
}

// keyFor returns the private key of a certificate, the one in the same directory
// if there is one, nil for none, and notes that it has its certificate.
func (a *assembly) keyFor(id keyID, dir string) *keyPlace {
	p := a.keys[id]
	if p == nil {
		return nil
	}
	p.isUsed = true
	if len(a.keysIn) > 0 && dirOf(p.file) != dir {
		if here := a.keysIn[keyInDir{id, dir}]; here != nil {
			return here
		}
	}
	return p
}

// pairFile makes the pairs of one file.
func (a *assembly) pairFile(path string, certs []*certificate) {
	for i, leaf := range certs {
		switch {
		case contains(certs[:i], leaf):
		case leaf.challenge:
			a.keyFor(leaf.id, dirOf(path))
			a.fault(path, &fault{"a tls-alpn-01 challenge certificate (RFC 8737)", "remove it: it is not for serving"})
		case !leaf.isLeaf():
			a.authorityKey(path, leaf)
		case leaf.kind == KeyUnsupported:
			a.fault(path, unsupportedKey("certificate with a public key"))
		default:
			a.pairLeaf(path, leaf, certs)
		}
	}
}

// authorityKey reports the private key of an authority: it should not lie here.
func (a *assembly) authorityKey(path string, c *certificate) {
	if a.keyFor(c.id, dirOf(path)) == nil {
		return
	}
	a.warn(path, "an authority's certificate with its private key, not served", "keep an authority's key elsewhere")
}

// pairLeaf makes the pair of one leaf of a file.
func (a *assembly) pairLeaf(path string, leaf *certificate, certs []*certificate) {
	place := a.keyFor(leaf.id, dirOf(path))
	if place == nil {
		a.orphans = append(a.orphans, orphan{leaf, path})
		return
	}
	ch := buildChain(leaf, certs)
	if ch.misordered {
		a.warn(path, "the chain is out of order (it is sent in order)", "put the server's certificate first, each issuer behind what it issued")
	}
	if ch.extra > 0 {
		a.warn(path, fmt.Sprintf("certificates that are not part of the chain, and not sent: %d", ch.extra), "remove them, or put the missing issuer in")
	}
	p := Pair{
		Chain: ch.der(), Signer: place.key.signer,
		Names: leaf.names, Kind: leaf.kind,
		NotBefore: time.Unix(leaf.begins, 0).UTC(), NotAfter: time.Unix(leaf.ends, 0).UTC(),
		CertFile: path, KeyFile: place.file,
		leaf: leaf, key: place.key,
	}
	if len(ch.certs) > 1 {
		p.issuer = ch.certs[1]
	}
	a.add(p)
}

// add adds a pair. Of several with the same leaf (certbot's cert.pem and
// fullchain.pem) the one with the longest chain stays, the first if equal.
func (a *assembly) add(p Pair) {
	hash := leafHash(p.Chain[0])
	at, is := a.byLeaf[hash]
	if !is || !bytes.Equal(a.pairs[at].Chain[0], p.Chain[0]) {
		a.byLeaf[hash] = int32(len(a.pairs))
		a.pairs = append(a.pairs, p)
		return
	}
	q := &a.pairs[at]
	other, names := p.CertFile, a.aliases[q.leaf]
	if len(p.Chain) > len(q.Chain) {
		other = q.CertFile
		delete(a.aliases, q.leaf)
		*q = p
	}
	a.aliases[q.leaf] = append(names, other)
}

// leafSeed is that of leafHash in this process.
var leafSeed = maphash.MakeSeed()

// leafHash returns a hash of a certificate by which to find it. Keys do not do:
// a hoster may use one for all.
func leafHash(der []byte) uint64 { return maphash.Bytes(leafSeed, der) }

// complete adds the issuers that lie beside a lone certificate in files of their
// own (chain.pem, ca.cer, NAME.issuer.crt).
func (a *assembly) complete(p *Pair) {
	if len(p.Chain) > 1 {
		return
	}
	for cur := p.leaf; !cur.isSelfIssued() && len(p.Chain) < chainMax; {
		beside := a.authorities()[poolKey{dirOf(p.CertFile), string(cur.issuer)}]
		i := issuerIn(beside, cur)
		if i < 0 || slices.ContainsFunc(p.Chain, func(der []byte) bool { return bytes.Equal(der, beside[i].der) }) {
			return
		}
		cur = beside[i]
		p.Chain = append(p.Chain, cur.der)
		p.issuer = cmp.Or(p.issuer, cur)
	}
}

// authorities returns the authorities' certificates by directory and subject.
func (a *assembly) authorities() map[poolKey][]*certificate {
	if a.pool != nil {
		return a.pool
	}
	a.pool = make(map[poolKey][]*certificate)
	for i := range a.files {
		if a.files[i].content == nil {
			continue
		}
		for _, c := range a.files[i].content.certs {
			if c.isCA {
				k := poolKey{dirOf(a.files[i].path), string(c.subject)}
				a.pool[k] = append(a.pool[k], c)
			}
		}
	}
	return a.pool
}

// finish staples, reports on each pair, sorts and numbers them.
func (a *assembly) finish() []Pair {
	slices.SortStableFunc(a.pairs, func(p, q Pair) int { return strings.Compare(p.CertFile, q.CertFile) })
	before := make(map[uint64]*Pair, len(a.previous.pairs))
	for i := range a.previous.pairs {
		before[leafHash(a.previous.pairs[i].Chain[0])] = &a.previous.pairs[i]
	}
	st := a.newStapler()
	for i := range a.pairs {
		p := &a.pairs[i]
		was := before[leafHash(p.Chain[0])]
		st.staple(p, was)
		a.pairProblems(p)
		p.Index, p.PreviousIndex = i, -1
		if was != nil && p.equal(was) {
			p.PreviousIndex = was.Index
		}
	}
	st.leftOver()
	return slices.Clip(a.pairs)
}

// equal says whether two pairs send the same.
func (p *Pair) equal(q *Pair) bool {
	return p.key.id == q.key.id && bytes.Equal(p.Staple, q.Staple) && slices.EqualFunc(p.Chain, q.Chain, bytes.Equal)
}

// dirOf returns the directory part of a path as scan makes them.
func dirOf(path string) string {
	switch i := strings.LastIndexByte(path, '/'); i {
	case -1:
		return "."
	case 0:
		return "/"
	default:
		return path[:i]
	}
}

// sortedProblems returns the problems in the order of files.
func (a *assembly) sortedProblems() []Problem {
	slices.SortStableFunc(a.problems, func(p, q Problem) int {
		return cmp.Or(strings.Compare(p.File, q.File), strings.Compare(p.What, q.What))
	})
	return slices.Compact(a.problems)
}
