// The index: entries, and from a path to its entry.

package site

import (
	"hash/maphash"

	"edge/proxy/httpmsg"
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
	coded     [httpmsg.Codings]int32 // entries with the same content compressed, plus 1; 0: none
}

const (
	flagGone   = 1 << iota // something that is not served took its name
	flagHidden             // a name that begins with "."
	flagNoDate             // mod makes no date
	flagVaries             // there are compressed siblings
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

// served: the entry has content and is not hidden.
func (x *index) served(i int) bool { return x.entries[i].flags&(flagGone|flagHidden) == 0 }

// find looks path up, which must be clean. What it finds may be hidden. It does
// not allocate.
func (x *index) find(path []byte) (i, match int, ok bool) {
	at, ok := x.lookup(path)
	if !ok {
		return 0, 0, false
	}
	i, match = x.table.slots[at].entry(), x.table.slots[at].match()
	return i, match, x.entries[i].flags&flagGone == 0
}

// findFile looks a file's whole name up.
func (x *index) findFile(path []byte) (i int, ok bool) {
	i, match, ok := x.find(path)
	return i, ok && match == matchWhole
}

// lookup gives the place in the table of the slot with the key path.
func (x *index) lookup(path []byte) (at int, ok bool) {
	t := &x.table
	for at = t.home(path); t.slots[at] != 0; at = (at + 1) & (len(t.slots) - 1) {
		if string(x.key(t.slots[at])) == string(path) {
			return at, true
		}
	}
	return 0, false
}

// key is the path that leads to s.
func (x *index) key(s slot) []byte {
	name := x.path(s.entry())
	return name[:len(name)-endings[s.match()]]
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
func (x *index) insert(s slot) {
	if 4*(x.table.used+1) > 3*len(x.table.slots) {
		x.grow()
	}
	x.table.place(x.key(s), s)
	x.table.used++
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
			x.table.place(x.key(s), s)
		}
	}
}
