package certstore

// This file builds the lookup tables of a snapshot: which pairs serve a name, and
// in which order they are tried.

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// candidatesMax bounds the pairs of one entry; the worst beyond it are left out.
const candidatesMax = 16

// claim says that a pair serves a name.
type claim struct {
	name string
	pair int32
}

// indexer builds the tables.
type indexer struct {
	s        *Snapshot
	validity []validity        // of each pair
	rank     []int32           // of each pair among all, 0 the best
	alone    []*Entry          // the entries of one pair, by pair
	shared   map[string]*Entry // the others, by the list of their pairs as bytes
	list     []int32           // scratch
	key      []byte            // scratch
}

// index builds the lookup tables over the pairs.
func (s *Snapshot) index(now time.Time) {
	b := &indexer{s: s, alone: make([]*Entry, len(s.pairs)), shared: make(map[string]*Entry)}
	b.order(now)
	claims := s.claims()
	s.exact, s.wildcard = make(map[string]*Entry, len(claims)), make(map[string]*Entry)
	for len(claims) > 0 {
		name, n := claims[0].name, 1
		for n < len(claims) && claims[n].name == name {
			n++
		}
		b.list = b.list[:0]
		b.append(claims[:n])
		if suffix, is := strings.CutPrefix(name, "*."); is {
			s.wildcard[suffix] = b.entry()
		} else {
			b.appendWildcard(name)
			s.exact[name] = b.entry()
		}
		claims = claims[n:]
	}
	s.fallback = b.fallback()
}

// claims returns all names with their pairs, sorted by name. Wildcards come
// before all else, as '*' sorts before what host names are made of: so they are
// known when the names they cover come.
func (s *Snapshot) claims() []claim {
	n := 0
	for i := range s.pairs {
		n += len(s.pairs[i].Names)
	}
	claims := make([]claim, 0, n)
	for i := range s.pairs {
		for _, name := range s.pairs[i].Names {
			claims = append(claims, claim{name, int32(i)})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int { return strings.Compare(a.name, b.name) })
	return claims
}

// order ranks the pairs by preference.
func (b *indexer) order(now time.Time) {
	pairs := b.s.pairs
	b.validity = make([]validity, len(pairs))
	b.rank = make([]int32, len(pairs))
	best := make([]int32, len(pairs))
	for i := range pairs {
		b.validity[i] = pairs[i].validity(now)
		best[i] = int32(i)
	}
	slices.SortFunc(best, func(x, y int32) int {
		p, q := &pairs[x], &pairs[y]
		return cmp.Or(
			cmp.Compare(b.validity[x], b.validity[y]),
			cmp.Compare(p.Kind, q.Kind),
			q.NotAfter.Compare(p.NotAfter),
			q.NotBefore.Compare(p.NotBefore),
			cmp.Compare(x, y),
		)
	})
	for at, pair := range best {
		b.rank[pair] = int32(at)
	}
}

// validity is where a moment lies against a validity period, the best first.
type validity int8

const (
	valid validity = iota
	notYetValid
	expired
)

// validity returns where now lies against the leaf's validity period.
func (p *Pair) validity(now time.Time) validity {
	switch {
	case p.leaf.ended(now):
		return expired
	case !p.leaf.begun(now):
		return notYetValid
	}
	return valid
}

// append puts the claims' pairs on the list, the best first.
func (b *indexer) append(claims []claim) {
	from := len(b.list)
	for _, c := range claims {
		b.list = append(b.list, c.pair)
	}
	slices.SortFunc(b.list[from:], func(x, y int32) int { return cmp.Compare(b.rank[x], b.rank[y]) })
}

// appendWildcard puts the pairs of the wildcard that covers a name behind the
// name's own, except that what has expired goes behind what is valid.
func (b *indexer) appendWildcard(name string) {
	if len(b.s.wildcard) == 0 {
		return
	}
	_, suffix, _ := strings.Cut(name, ".")
	wild := b.s.wildcard[suffix]
	if wild == nil {
		return
	}
	for _, p := range wild.Pairs {
		if i := int32(p.Index); !slices.Contains(b.list, i) {
			b.list = append(b.list, i)
		}
	}
	slices.SortStableFunc(b.list, func(x, y int32) int { return cmp.Compare(b.validity[x], b.validity[y]) })
}

// entry returns the entry for the pairs on the list, nil for none.
func (b *indexer) entry() *Entry {
	switch len(b.list) {
	case 0:
		return nil
	case 1:
		i := b.list[0]
		if b.alone[i] == nil {
			b.alone[i] = b.newEntry()
			b.alone[i].single[0] = &b.s.pairs[i]
			b.alone[i].Pairs = b.alone[i].single[:]
		}
		return b.alone[i]
	}
	list := b.list[:min(len(b.list), candidatesMax)]
	b.key = b.key[:0]
	for _, i := range list {
		b.key = binary.NativeEndian.AppendUint32(b.key, uint32(i))
	}
	e := b.shared[string(b.key)]
	if e == nil {
		e = b.newEntry()
		for _, i := range list {
			e.Pairs = append(e.Pairs, &b.s.pairs[i])
		}
		b.shared[string(b.key)] = e
	}
	return e
}

// newEntry adds an entry without pairs.
func (b *indexer) newEntry() *Entry {
	e := &Entry{Index: len(b.s.entries)}
	b.s.entries = append(b.s.entries, e)
	return e
}

// fallback returns the entry Default describes, nil for none.
func (b *indexer) fallback() *Entry {
	b.list = b.list[:0]
	if len(b.s.pairs) == 0 {
		return nil
	}
	var named []claim
	for i := range b.s.pairs {
		if b.s.isDefault(b.s.pairs[i].CertFile) {
			named = append(named, claim{pair: int32(i)})
		}
	}
	if len(named) > 0 {
		b.append(named)
		return b.entry()
	}
	first := 0
	for i, v := range b.validity {
		if v < b.validity[first] {
			first = i
		}
	}
	if names := b.s.pairs[first].Names; len(names) > 0 {
		return b.s.lookup(names[len(names)-1]) // wildcards sort first
	}
	b.append([]claim{{pair: int32(first)}})
	return b.entry()
}

// lookup returns the entry of a name as it stands in Pair.Names.
func (s *Snapshot) lookup(name string) *Entry {
	if suffix, is := strings.CutPrefix(name, "*."); is {
		return s.wildcard[suffix]
	}
	return s.exact[name]
}

// isDefault says whether a part of a file's path below the root begins with
// "default".
func (s *Snapshot) isDefault(file string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(file, s.dir), "/") {
		if strings.HasPrefix(part, "default") {
			return true
		}
	}
	return false
}
