// The walk over a tar file: every header once, the content never.

package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	windowBytes      = 8 << 10 // read at once: a header with the extended headers before it
	extendedBytesMax = 1 << 20 // one pax header or GNU long name
	mtimeMax         = 253402300799
)

// member is one entry of the archive, its extended headers already applied. The
// slices are valid until the next.
type member struct {
	kind     byte
	name     []byte // as it stands in the archive
	linkname []byte
	off      int64 // of the content
	size     int64
	mtime    int64 // seconds since 1970
	sparse   bool
	digest   []byte // hexadecimal, or nil
	header   int64  // where the entry begins, for messages
}

// walker finds the entries of an archive, one after the other.
type walker struct {
	file   io.ReaderAt
	size   int64
	next   int64 // offset of the next header
	window []byte
	at     int64 // offset of window

	global   paxRecords
	pax      paxRecords // for the next entry
	hasPax   bool
	longName []byte // GNU, for the next entry
	longLink []byte
	began    int64 // where the extended headers of the next entry begin
}

func newWalker(file io.ReaderAt, size int64) *walker {
	return &walker{file: file, size: size, window: make([]byte, 0, windowBytes), began: -1}
}

// tarError says what is wrong with the archive and where.
type tarError struct {
	offset int64
	name   []byte // of the entry, when it is known
	err    error
}

func (e *tarError) Error() string {
	if len(e.name) == 0 {
		return fmt.Sprintf("at offset %d: %v", e.offset, e.err)
	}
	return fmt.Sprintf("entry %q at offset %d: %v", e.name, e.offset, e.err)
}

func (e *tarError) Unwrap() error { return e.err }

func (w *walker) fail(name []byte, err error) error {
	return &tarError{offset: w.next, name: name, err: err}
}

// read is the bytes [off, off+n), from the window.
func (w *walker) read(off int64, n int) ([]byte, error) {
	if w.size-off < int64(n) {
		return nil, fmt.Errorf("the file ends at %d: it is cut short", w.size)
	}
	if off < w.at || off+int64(n) > w.at+int64(len(w.window)) {
		want := int(min(int64(max(n, windowBytes)), w.size-off))
		if cap(w.window) < want {
			w.window = make([]byte, want)
		}
		w.window = w.window[:want]
		w.at = off
		if got, err := w.file.ReadAt(w.window, off); got < want {
			w.window = w.window[:0]
			return nil, fmt.Errorf("reading %d bytes: %w", want, noEOF(err))
		}
	}
	return w.window[off-w.at:][:n], nil
}

func noEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// step gives the next entry; io.EOF after the last.
func (w *walker) step(m *member) error {
	for {
		b, err := w.header()
		if err != nil {
			return err
		}
		size, err := number(b.size())
		if err != nil || size < 0 {
			return w.fail(b.name(), errNumber)
		}
		switch b.kind() {
		case typePax, typePaxGlobal, typeGNUName, typeGNULink:
			if err := w.extended(b.kind(), size); err != nil {
				return err
			}
		default:
			return w.entry(b, size, m)
		}
	}
}

// header is the block at w.next, verified; io.EOF at the end marker.
func (w *walker) header() (block, error) {
	if w.next == 0 && w.size < blockBytes {
		return nil, w.fail(nil, w.tooSmall())
	}
	b, err := w.read(w.next, blockBytes)
	if err != nil {
		if w.next == w.size {
			err = fmt.Errorf("the file ends at %d without the end marker of a tar: it is cut short", w.size)
		}
		return nil, w.fail(nil, err)
	}
	if block(b).zero() {
		return nil, w.end()
	}
	if err := block(b).verify(); err != nil {
		if w.next == 0 {
			err = notTar(b)
		}
		return nil, w.fail(nil, err)
	}
	if w.began < 0 {
		w.began = w.next
	}
	return b, nil
}

// end checks the end marker: two zero blocks, or one that is the last.
func (w *walker) end() error {
	if w.hasPax || w.longName != nil || w.longLink != nil {
		return w.fail(nil, errors.New("an extended header without its entry"))
	}
	if w.next+blockBytes == w.size {
		return io.EOF
	}
	b, err := w.read(w.next+blockBytes, blockBytes)
	if err != nil {
		return w.fail(nil, err)
	}
	if !block(b).zero() {
		return w.fail(nil, errors.New("a lone zero block where a header should be"))
	}
	return io.EOF
}

// extended reads an extended header's content into w.
func (w *walker) extended(kind byte, size int64) error {
	if size > extendedBytesMax {
		return w.fail(nil, fmt.Errorf("extended header of %d bytes, at most %d are read", size, extendedBytesMax))
	}
	data, err := w.read(w.next+blockBytes, int(size))
	if err != nil {
		return w.fail(nil, err)
	}
	switch {
	case kind == typePaxGlobal:
		if err = w.global.parse(data); err == nil {
			err = w.global.checkGlobal()
		}
	case kind == typePax && w.hasPax:
		err = errors.New("two pax headers for one entry")
	case kind == typePax:
		w.hasPax = true
		err = w.pax.parse(data)
	case kind == typeGNUName:
		w.longName = bytes.Clone(untilNUL(data))
	default:
		w.longLink = bytes.Clone(untilNUL(data))
	}
	if err != nil {
		return w.fail(nil, err)
	}
	w.next += blockBytes + padded(size)
	if kind == typePaxGlobal && !w.hasPax && w.longName == nil && w.longLink == nil {
		w.began = -1
	}
	return nil
}

// entry puts the header b and the extended headers before it together, and
// moves on to the next.
func (w *walker) entry(b block, size int64, m *member) error {
	*m = member{kind: b.kind(), header: w.began, sparse: b.kind() == typeGNUSparse || w.pax.sparse, digest: w.pax.digest}
	m.name, m.linkname = w.names(b)
	var err error
	if m.mtime, err = w.mtime(b); err != nil {
		return w.fail(m.name, err)
	}
	if w.pax.hasSize {
		size = w.pax.size
	}
	m.off = w.next + blockBytes
	if m.size, err = contentSize(m.kind, size); err != nil {
		return w.fail(m.name, err)
	}
	if m.kind == typeGNUSparse {
		if err := w.skipSparseMap(b, m); err != nil {
			return w.fail(m.name, err)
		}
	}
	if m.size > w.size-m.off {
		return w.fail(m.name, fmt.Errorf("its %d bytes go past the end of the file at %d: it is cut short", m.size, w.size))
	}
	w.next = m.off + padded(m.size)
	w.pax, w.hasPax, w.longName, w.longLink, w.began = paxRecords{}, false, nil, nil, -1
	return nil
}

// names picks the entry's names: pax before GNU before the header.
func (w *walker) names(b block) (name, linkname []byte) {
	name, linkname = b.name(), b.linkname()
	if prefix := b.prefix(); len(prefix) > 0 {
		name = append(append(bytes.Clone(prefix), '/'), name...)
	}
	if w.longName != nil {
		name = w.longName
	}
	if w.longLink != nil {
		linkname = w.longLink
	}
	if len(w.pax.path) > 0 {
		name = w.pax.path
	}
	if len(w.pax.linkpath) > 0 {
		linkname = w.pax.linkpath
	}
	return name, linkname
}

func (w *walker) mtime(b block) (int64, error) {
	t, err := number(b.mtime())
	if w.global.hasMtime {
		t, err = w.global.mtime, nil
	}
	if w.pax.hasMtime {
		t, err = w.pax.mtime, nil
	}
	return min(t, mtimeMax), err
}

// contentSize is the number of bytes that follow a header of this kind.
func contentSize(kind byte, size int64) (int64, error) {
	switch kind {
	case typeGNUVolume:
		return 0, errors.New("it continues on another volume: not supported")
	case typeLink:
		// pax lets content follow, older formats do not: no two readers agree.
		if size != 0 {
			return 0, errors.New("a hard link with a size of its own")
		}
		return 0, nil
	case typeSymlink, typeCharDev, typeBlockDev, typeDirectory, typeFIFO:
		return 0, nil // whatever the field says, nothing follows
	}
	return size, nil
}

// skipSparseMap moves m.off past the blocks that continue a GNU sparse map.
func (w *walker) skipSparseMap(b block, m *member) error {
	m.name = bytes.Clone(m.name) // b may leave the window
	for more := b.sparseContinues(); more; {
		next, err := w.read(m.off, blockBytes)
		if err != nil {
			return err
		}
		more = block(next).sparseMapContinues()
		m.off += blockBytes
	}
	return nil
}

// padded is n rounded up to whole blocks.
func padded(n int64) int64 {
	return (n + blockBytes - 1) &^ (blockBytes - 1)
}

// tooSmall says what is wrong with a file that is shorter than one header.
func (w *walker) tooSmall() error {
	if w.size == 0 {
		return errors.New("the file is empty, not a tar")
	}
	b, err := w.read(0, int(w.size))
	if err != nil {
		return err
	}
	return notTar(b)
}

// notTar says what a file that does not begin with a tar header is, when its
// first bytes tell.
func notTar(b []byte) error {
	for _, known := range [...]struct{ magic, what, undo string }{
		{"\x1f\x8b", "gzip", "gunzip"},
		{"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
		{"BZh", "bzip2", "bunzip2"},
		{"\xfd7zXZ", "xz", "unxz"},
		{"PK\x03\x04", "zip", "unzip"},
	} {
		if bytes.HasPrefix(b, []byte(known.magic)) {
			return fmt.Errorf("this is %s data, not a tar: unpack it first (%s)", known.what, known.undo)
		}
	}
	return errors.New("this is not a tar file")
}
