// From the members of an archive to its index.

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

	"edge/proxy/httpmsg"
)

var errDigest = errors.New("the digest in its pax comment is malformed")

// builder makes an index from the members of an archive.
type builder struct {
	index
	filesMax int
	identity []byte // of the archive, for the entity tags of content without a digest
	modMax   int64  // no content is newer than this
	skipped  func(name, why string)
	scratch  []byte
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
			x := b.index
			return &x, nil
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
	path, why := archivePath(b.scratch[:0], m.name)
	b.scratch = path
	if m.kind == typeDirectory {
		return nil
	}
	if why != "" {
		b.skip(m, why)
		return nil
	}
	target, why := b.content(m)
	if why != "" {
		b.skip(m, why)
		b.remove(path)
		return nil
	}
	i, err := b.entryFor(path)
	if err != nil {
		return err
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
		i, ok := b.findFile(path)
		if !ok {
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

// remove takes the file at path back, if there is one. Its slot stays.
func (b *builder) remove(path []byte) {
	if i, ok := b.findFile(path); ok {
		b.entries[i].flags |= flagGone
	}
}

// entryFor is the entry of path: the one it has already, or a new one.
func (b *builder) entryFor(path []byte) (int, error) {
	if at, ok := b.lookup(path); ok {
		return b.table.slots[at].entry(), nil
	}
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
	b.insert(makeSlot(i, matchWhole))
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
	e.media = mediaOf(b.path(i))
	if isHidden(b.path(i)) {
		e.flags |= flagHidden
	}
}

// contentID is what the strong entity tag is made of: the digest of the content
// if the archive has it, which is the same in every archive and on every
// machine; else this very place in this very file.
func (b *builder) contentID(m *member) (sum [sha256.Size]byte, err error) {
	if m.digest != nil {
		if len(m.digest) != hex.EncodedLen(len(sum)) {
			return sum, errDigest
		}
		if _, err := hex.Decode(sum[:], m.digest); err != nil {
			return sum, errDigest
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
		if b.served(i) {
			do(i)
		}
	}
}

// addAlias lets the path of entry i less the ending of match lead to it, unless
// that path leads somewhere already.
func (b *builder) addAlias(i, match int, ending string) {
	name := b.path(i)
	if !bytes.HasSuffix(name, []byte(ending)) || len(name) == endings[match] {
		return
	}
	s := makeSlot(i, match)
	at, taken := b.lookup(b.key(s))
	switch {
	case !taken:
		b.insert(s)
	case b.entries[b.table.slots[at].entry()].flags&flagGone != 0:
		b.table.slots[at] = s
	}
}

// addSibling notes entry i with the entry it is the compressed form of.
func (b *builder) addSibling(i int) {
	name := b.path(i)
	for c := range httpmsg.Codings {
		base, cut := bytes.CutSuffix(name, codingEndings[c])
		if !cut {
			continue
		}
		if plain, ok := b.findFile(base); ok && b.served(plain) {
			b.entries[plain].coded[c] = int32(i) + 1
			b.entries[plain].flags |= flagVaries
		}
	}
}
