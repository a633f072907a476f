// The index: entries, and from a path to its entry.

package site

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"time"
)

// entry is one file. Its path lies in index.names, its header values in
// index.values.
type entry struct {
	off, size int64
	mod       int64 // seconds since 1970
	name      uint32
	nameLen   uint16
	media     uint8
	flags     uint8
	coded     [codings]int32 // entries with the same content compressed, plus 1; 0: none
}

const (
	flagGone    = 1 << iota // something that is not served took its name
	flagHidden              // a name that begins with "."
	flagNoDate              // mod makes no date
	flagVaries              // there are compressed siblings
	flagClamped             // mod was later than the archive
)

// Ways a path leads to an entry. Those after whole are there for the sake of
// lookups: the path is the entry's name less an ending.
const (
	matchWhole    = iota // /a/b.html
	matchIndex           // /a/ for /a/index.html
	matchRedirect        // /a  for /a/index.html
	matchHTML            // /a  for /a.html
)

const indexName = "index.html"

// endings is what each match leaves away.
var endings = [...]int{
	matchWhole:    0,
	matchIndex:    len(indexName),
	matchRedirect: len("/" + indexName),
	matchHTML:     len(".html"),
}

const (
	etagBytes = 24 // "22 base64url digits of 128 bits"
	dateBytes = len(timeFormat)

	timeFormat = "Mon, 02 Jan 2006 15:04:05 GMT" // IMF-fixdate (RFC 9110, 5.6.7)
)

// index is built once and then only read.
type index struct {
	names   []byte
	entries []entry
	values  []byte // etagBytes and dateBytes per entry
	table   table
	files   int // entries that are served to somebody
}

func (x *index) path(i int) []byte {
	e := &x.entries[i]
	return x.names[e.name:][:e.nameLen]
}

func (x *index) etag(i int) []byte {
	return x.values[i*(etagBytes+dateBytes):][:etagBytes]
}

func (x *index) lastModified(i int) []byte {
	return x.values[i*(etagBytes+dateBytes)+etagBytes:][:dateBytes]
}

// find looks path up, which must be clean. It does not allocate.
func (x *index) find(path []byte) (i, match int, ok bool) {
	t := &x.table
	for at := t.home(path); ; at = (at + 1) & (len(t.slots) - 1) {
		slot := t.slots[at]
		if slot == 0 {
			return 0, 0, false
		}
		i, match = slot.entry(), slot.match()
		if name := x.path(i); len(name)-endings[match] == len(path) && string(name[:len(path)]) == string(path) {
			return i, match, true
		}
	}
}

// A slot is 0 when free, else entry and match.
type slot uint32

func makeSlot(i, match int) slot { return slot(i<<2|match) + 1 }
func (s slot) entry() int        { return int((s - 1) >> 2) }
func (s slot) match() int        { return int((s - 1) & 3) }

// table is a hash table with open addressing; its keys are the names of the
// entries, less the ending of the match.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two of them, at least a quarter free
	used  int
}

func (t *table) home(path []byte) int {
	return int(maphash.Bytes(t.seed, path)) & (len(t.slots) - 1)
}

// insert adds a slot whose key is not there yet.
func (x *index) insert(i, match int) {
	if 4*(x.table.used+1) > 3*len(x.table.slots) {
		x.grow()
	}
	x.table.place(x.key(i, match), makeSlot(i, match))
	x.table.used++
}

func (x *index) key(i, match int) []byte {
	name := x.path(i)
	return name[:len(name)-endings[match]]
}

func (t *table) place(key []byte, s slot) {
	at := t.home(key)
	for t.slots[at] != 0 {
		at = (at + 1) & (len(t.slots) - 1)
	}
	t.slots[at] = s
}

func (x *index) grow() {
	old := x.table.slots
	x.table.slots = make([]slot, max(64, 2*len(old)))
	for _, s := range old {
		if s != 0 {
			x.table.place(x.key(s.entry(), s.match()), s)
		}
	}
}

// builder makes an index from the members of an archive.
type builder struct {
	index
	filesMax int
	identity []byte // of the archive, for the entity tags of content without a digest
	modMax   int64  // no content is newer than this
	skipped  func(name, why string)
	path     []byte // scratch
}

// buildIndex walks the archive. skipped, if not nil, hears of each entry that is
// left out and not a directory.
func buildIndex(file io.ReaderAt, size int64, identity []byte, modMax int64, opts *Options) (*index, error) {
	b := &builder{filesMax: opts.FilesMax, identity: identity, modMax: modMax, skipped: opts.Skipped}
	b.table.seed = maphash.MakeSeed()
	b.grow()
	w := newWalker(file, size)
	for {
		var m member
		switch err := w.step(&m); err {
		case nil:
		case io.EOF:
			b.finish(opts.HTMLFallback)
			return &b.index, nil
		default:
			return nil, err
		}
		if err := b.add(&m); err != nil {
			return nil, &tarError{offset: m.header, name: m.name, err: err}
		}
	}
}

// add takes one member in, or leaves it out.
func (b *builder) add(m *member) error {
	path, why := archivePath(b.path[:0], m.name)
	b.path = path
	if m.kind == typeDirectory {
		return nil
	}
	if why != "" {
		b.skip(m, why)
		return nil
	}
	i, _, known := b.find(path)
	target, why := b.content(m)
	if why != "" {
		b.skip(m, why)
		if known {
			b.entries[i].flags |= flagGone
		}
		return nil
	}
	if !known {
		var err error
		if i, err = b.newEntry(path); err != nil {
			return err
		}
	}
	if target >= 0 {
		b.link(i, target)
		return nil
	}
	return b.fill(i, m)
}

func (b *builder) skip(m *member, why string) {
	if b.skipped != nil {
		b.skipped(string(m.name), why)
	}
}

// content says why a member has none to serve, or which entry it is another
// name of (-1: of none).
func (b *builder) content(m *member) (target int, why string) {
	switch m.kind {
	case typeFile, typeFileOld, typeContig:
		if m.sparse {
			return -1, "it is a sparse file: pack it without --sparse"
		}
		return -1, ""
	case typeLink:
		path, why := archivePath(nil, m.linkname)
		if why != "" {
			return -1, "it is a hard link, and of its target " + why
		}
		i, _, ok := b.find(path)
		if !ok || b.entries[i].flags&flagGone != 0 {
			return -1, "it is a hard link to no file before it"
		}
		return i, ""
	case typeSymlink:
		return -1, "it is a symbolic link"
	case typeCharDev, typeBlockDev, typeFIFO:
		return -1, "it is a device or a FIFO"
	case typeGNUSparse:
		return -1, "it is a sparse file: pack it without --sparse"
	}
	return -1, fmt.Sprintf("its type is %q, which is unknown", m.kind)
}

func (b *builder) newEntry(path []byte) (int, error) {
	i := len(b.entries)
	if i == b.filesMax {
		return 0, fmt.Errorf("there are more than %d files in it", b.filesMax)
	}
	if int64(len(b.names))+int64(len(path)) > math.MaxUint32 {
		return 0, errors.New("the names in it are longer than 4 GiB together")
	}
	b.entries = append(b.entries, entry{name: uint32(len(b.names)), nameLen: uint16(len(path))})
	b.names = append(b.names, path...)
	b.values = append(b.values, make([]byte, etagBytes+dateBytes)...)
	b.insert(i, matchWhole)
	return i, nil
}

// fill sets all of entry i but its name.
func (b *builder) fill(i int, m *member) error {
	e := &b.entries[i]
	e.off, e.size, e.mod = m.off, m.size, m.mtime
	e.flags = 0
	if e.mod > b.modMax {
		// RFC 9110, 8.8.2.1: no Last-Modified that is later than the response.
		e.mod = b.modMax
		e.flags |= flagClamped
	}
	if e.mod < 0 {
		e.flags |= flagNoDate
	}
	sum, err := b.contentID(m)
	if err != nil {
		return err
	}
	etag := b.etag(i)
	etag[0], etag[etagBytes-1] = '"', '"'
	base64.RawURLEncoding.Encode(etag[1:], sum[:16])
	time.Unix(max(0, e.mod), 0).UTC().AppendFormat(b.lastModified(i)[:0], timeFormat)
	b.nameFlags(i)
	return nil
}

// link makes entry i another name of the content of target.
func (b *builder) link(i, target int) {
	e, to := &b.entries[i], &b.entries[target]
	e.off, e.size, e.mod = to.off, to.size, to.mod
	e.flags = to.flags &^ flagHidden
	copy(b.etag(i), b.etag(target))
	copy(b.lastModified(i), b.lastModified(target))
	b.nameFlags(i)
}

// nameFlags sets what follows from the name of entry i.
func (b *builder) nameFlags(i int) {
	e := &b.entries[i]
	e.media = mediaOf(b.index.path(i))
	if isHidden(b.index.path(i)) {
		e.flags |= flagHidden
	}
}

// contentID is what the strong entity tag is made of: the digest of the content
// if the archive has it, which is the same in every archive and on every
// machine; else this very place in this very file.
func (b *builder) contentID(m *member) (sum [sha256.Size]byte, err error) {
	if m.digest != nil {
		if n, err := hex.Decode(sum[:], m.digest[:min(len(m.digest), 2*len(sum))]); err != nil || n != len(sum) || len(m.digest) != 2*n {
			return sum, errors.New("the digest in its pax comment is malformed")
		}
		return sum, nil
	}
	place := fmt.Appendf(nil, "%s %d %d %d", b.identity, m.off, m.size, m.mtime)
	return sha256.Sum256(place), nil
}

// finish adds the matches that are not whole names and the compressed siblings,
// and gives memory back.
func (b *builder) finish(htmlFallback bool) {
	b.eachServed(b.addSibling)
	b.eachServed(func(i int) { b.addAlias(i, matchIndex, "/"+indexName) })
	b.eachServed(func(i int) { b.addAlias(i, matchRedirect, "/"+indexName) })
	if htmlFallback {
		b.eachServed(func(i int) { b.addAlias(i, matchHTML, ".html") })
	}
	b.eachServed(func(int) { b.files++ })
	b.names, b.entries, b.values = slices.Clone(b.names), slices.Clone(b.entries), slices.Clone(b.values)
}

func (b *builder) eachServed(do func(i int)) {
	for i := range b.entries {
		if b.entries[i].flags&(flagGone|flagHidden) == 0 {
			do(i)
		}
	}
}

// addAlias lets the path of entry i less the ending of match lead to it, unless
// that path leads somewhere already.
func (b *builder) addAlias(i, match int, ending string) {
	if !bytes.HasSuffix(b.index.path(i), []byte(ending)) || len(b.index.path(i)) == endings[match] {
		return
	}
	if other, _, ok := b.find(b.key(i, match)); ok {
		if b.entries[other].flags&flagGone == 0 {
			return
		}
	}
	b.insert(i, match)
}

// addSibling notes entry i with the entry it is the compressed form of.
func (b *builder) addSibling(i int) {
	name := b.index.path(i)
	for c := range codings {
		base, cut := bytes.CutSuffix(name, codingEndings[c])
		if !cut {
			continue
		}
		if plain, _, ok := b.find(base); ok && b.entries[plain].flags&(flagGone|flagHidden) == 0 {
			b.entries[plain].coded[c] = int32(i) + 1
			b.entries[plain].flags |= flagVaries
		}
	}
}
