package certstore

// This file holds what a reader of the store sees: snapshots, pairs, entries.

import (
	"crypto"
	"sync/atomic"
	"time"
)

// KeyKind is the kind of a pair's key, in the order in which pairs for one name
// are preferred: what every client verifies and we sign cheaply comes first.
type KeyKind uint8

// The kinds of key TLS 1.3 can use here. RSA keys have 2,048 to 8,192 bits.
const (
	KeyUnsupported KeyKind = iota
	KeyECDSAP256
	KeyEd25519
	KeyECDSAP384
	KeyRSA
)

// String returns the kind as an operator would write it.
func (k KeyKind) String() string {
	switch k {
	case KeyECDSAP256:
		return "ECDSA P-256"
	case KeyEd25519:
		return "Ed25519"
	case KeyECDSAP384:
		return "ECDSA P-384"
	case KeyRSA:
		return "RSA"
	}
	return "unsupported"
}

// Pair is one certificate chain with its private key. It is immutable.
type Pair struct {
	// Index is the pair's place in Snapshot.Pairs: dense, from 0.
	Index int
	// PreviousIndex is the place in the snapshot that this one follows (see
	// Snapshot.Follows) of a pair with the very same chain, key and staple, so that
	// what was derived from it can be kept; -1 when there is none.
	PreviousIndex int
	// Kept says that the files no longer make this pair and that it was taken over
	// from the previous snapshot.
	Kept bool

	Chain  [][]byte // DER, leaf first, each certified by the next
	Signer crypto.Signer
	Staple []byte // DER OCSPResponse (RFC 6960), nil for none

	// Names are the server names of the leaf: lower case, A-labels, no trailing
	// dot, a wildcard as "*.example".
	Names     []string
	Kind      KeyKind
	NotBefore time.Time
	NotAfter  time.Time

	CertFile   string
	KeyFile    string
	StapleFile string // empty for none

	leaf   *certificate
	issuer *certificate // nil for a chain of one
	key    *privateKey
	staple *stapleState
}

// Entry is what the store holds for a name: the pairs to choose from, best first.
// Names with the same candidates share one entry.
type Entry struct {
	// Index is the entry's place in Snapshot.Entries: dense, from 0.
	Index int
	// Pairs holds 1 to candidatesMax pairs.
	Pairs []*Pair

	single [1]*Pair // where Pairs lies when it has one, as most have
}

// Snapshot is the state of a certificate directory at one moment. It never
// changes: all its methods may be called from any goroutine.
type Snapshot struct {
	dir      string
	pairs    []Pair
	entries  []*Entry
	exact    map[string]*Entry
	wildcard map[string]*Entry // keyed by what follows "*."
	fallback *Entry
	problems []Problem
	files    []fileRecord // by path; what the next load need not read again
	next     time.Time    // when a validity period begins or ends; zero for never
	unread   bool         // a file could not be read
	number   uint64       // of all snapshots of the process
	follows  uint64       // number of the previous one, 0 for none
}

// numbers counts the snapshots of the process.
var numbers atomic.Uint64

// Dir returns the directory the snapshot was loaded from.
func (s *Snapshot) Dir() string { return s.dir }

// Follows says whether old was the previous snapshot when s was loaded, so that
// PreviousIndex speaks of it.
func (s *Snapshot) Follows(old *Snapshot) bool { return old != nil && s.follows == old.number }

// Len returns the number of pairs.
func (s *Snapshot) Len() int { return len(s.pairs) }

// Pairs returns all pairs in the order of their certificate files. The slice is
// made by the call.
func (s *Snapshot) Pairs() []*Pair {
	all := make([]*Pair, len(s.pairs))
	for i := range s.pairs {
		all[i] = &s.pairs[i]
	}
	return all
}

// Entries returns all distinct candidate lists. The slice is not to be changed.
func (s *Snapshot) Entries() []*Entry { return s.entries }

// Problems returns what is wrong with the directory, in the order of the files.
func (s *Snapshot) Problems() []Problem { return s.problems }

// NameCount returns the number of distinct names, a wildcard counting as one.
func (s *Snapshot) NameCount() int { return len(s.exact) + len(s.wildcard) }

// NextChange returns the next moment at which a certificate or staple becomes
// valid or ends, and the snapshot should be loaded again though no file changed;
// zero when there is none.
func (s *Snapshot) NextChange() time.Time { return s.next }
