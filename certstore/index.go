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

// indexer builds the tables. Entries are numbers until all are there, as the
// slice that holds them moves while it grows.
type indexer struct {
	s        *Snapshot
	validity []validity     // of each pair
	rank     []int32        // of each pair among all, 0 the best
	shared   map[string]int // a list of pairs, as bytes, to its entry
	list     []int32        // scratch
	key      []byte         // scratch
}

// index builds the lookup tables over the pairs.
func (s *Snapshot) index(now time.Time) {
	b := &indexer{s: s, shared: make(map[string]int)}
	b.order(now)
	claims := s.claims()
	exact, wildcard := make(map[string]int, len(claims)), make(map[string]int)
	for len(claims) > 0 {
		name, n := claims[0].name, 1
		for n < len(claims) && claims[n].name == name {
			n++
		}
		b.list = b.list[:0]
		b.append(claims[:n])
		if suffix, is := strings.CutPrefix(name, "*."); is {
			wildcard[suffix] = b.entry()
		} else {
			b.appendWildcard(name, wildcard)
			exact[name] = b.entry()
		}
		claims = claims[n:]
	}
	fallback := b.fallback(exact, wildcard)
	s.entries = slices.Clip(s.entries)
	s.exact, s.wildcard = s.resolve(exact), s.resolve(wildcard)
	if fallback >= 0 {
		s.fallback = &s.entries[fallback]
	}
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
func (b *indexer) appendWildcard(name string, wildcard map[string]int) {
	if len(wildcard) == 0 {
		return
	}
	_, suffix, _ := strings.Cut(name, ".")
	at, is := wildcard[suffix]
	if !is {
		return
	}
	for _, p := range b.s.entries[at].Pairs {
		if i := int32(p.Index); !slices.Contains(b.list, i) {
			b.list = append(b.list, i)
		}
	}
	slices.SortStableFunc(b.list, func(x, y int32) int { return cmp.Compare(b.validity[x], b.validity[y]) })
}

// entry returns the entry for the pairs on the list, -1 for none.
func (b *indexer) entry() int {
	if len(b.list) == 0 {
		return -1
	}
	list := b.list[:min(len(b.list), candidatesMax)]
	b.key = b.key[:0]
	for _, i := range list {
		b.key = binary.NativeEndian.AppendUint32(b.key, uint32(i))
	}
	if at, is := b.shared[string(b.key)]; is {
		return at
	}
	pairs := make([]*Pair, len(list))
	for at, i := range list {
		pairs[at] = &b.s.pairs[i]
	}
	at := len(b.s.entries)
	b.s.entries = append(b.s.entries, Entry{Index: at, Pairs: pairs})
	b.shared[string(b.key)] = at
	return at
}

// fallback returns the entry Default describes, -1 for none.
func (b *indexer) fallback(exact, wildcard map[string]int) int {
	var named []claim
	for i := range b.s.pairs {
		if b.s.isDefault(b.s.pairs[i].CertFile) {
			named = append(named, claim{pair: int32(i)})
		}
	}
	b.list = b.list[:0]
	if b.append(named); len(named) > 0 || len(b.s.pairs) == 0 {
		return b.entry()
	}
	first := 0
	for i, v := range b.validity {
		if v < b.validity[first] {
			first = i
		}
	}
	if names := b.s.pairs[first].Names; len(names) > 0 {
		last := names[len(names)-1] // wildcards sort first
		if suffix, is := strings.CutPrefix(last, "*."); is {
			return wildcard[suffix]
		}
		return exact[last]
	}
	b.append([]claim{{pair: int32(first)}})
	return b.entry()
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

// resolve turns entry numbers into entries.
func (s *Snapshot) resolve(numbers map[string]int) map[string]*Entry {
	table := make(map[string]*Entry, len(numbers))
	for name, at := range numbers {
		table[name] = &s.entries[at]
	}
	return table
}
