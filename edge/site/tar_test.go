// Archives made by hand: what the vectors do not have.

package site

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// plainTar writes files into a tar without anything of ours.
func plainTar(t testing.TB, path string, files map[string]string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644, ModTime: testTime}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, files[name])
	}
	w.Close()
	writeFile(t, path, b.String())
}

// rawEntry is one header, with its checksum set, and the padded content.
func rawEntry(kind byte, name, linkname, content string) []byte {
	b := make([]byte, blockBytes, blockBytes+padded(int64(len(content))))
	copy(b[0:100], name)
	copy(b[124:136], fmt.Sprintf("%011o", len(content)))
	copy(b[136:148], fmt.Sprintf("%011o", testTime.Unix()))
	b[156] = kind
	copy(b[157:257], linkname)
	copy(b[257:265], "ustar\x0000")
	b = append(b, content...)
	b = append(b, make([]byte, padded(int64(len(content)))-int64(len(content)))...)
	return seal(b)
}

// seal sets the checksum of the header b begins with.
func seal(b []byte) []byte {
	copy(b[148:156], "        ")
	sum := 0
	for _, c := range b[:blockBytes] {
		sum += int(c)
	}
	copy(b[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return b
}

// patched sets bytes of the header and its checksum.
func patched(b []byte, at int, value string) []byte {
	copy(b[at:], value)
	return seal(b)
}

func record(key, value string) string {
	body := " " + key + "=" + value + "\n"
	n := len(body) + 1
	for len(itoa(n))+len(body) != n {
		n++
	}
	return itoa(n) + body
}

var endMarker = make([]byte, 2*blockBytes)

func archive(entries ...[]byte) []byte { return append(bytes.Join(entries, nil), endMarker...) }

// indexOf builds the index of an archive. skipped has "name: why" of what was
// left out.
func indexOf(data []byte) (x *index, skipped []string, err error) {
	opts := Options{FilesMax: 1000, Skipped: func(name, why string) { skipped = append(skipped, name+": "+why) }}
	opts.setDefaults()
	x, err = buildIndex(bytes.NewReader(data), int64(len(data)), []byte("test"), testTime.Unix()+1, &opts)
	return x, skipped, err
}

func TestDamage(t *testing.T) {
	file := func() []byte { return rawEntry('0', "a", "", "hello") }
	for why, c := range map[string]struct {
		data []byte
		want string
	}{
		"a size that is no number":     {archive(patched(file(), 124, "0000000x000")), "no number"},
		"a size too large for octal":   {archive(patched(file(), 124, "777777777777")), "past the end"},
		"a negative size":              {archive(patched(file(), 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")), "no number"},
		"a size of 2^87":               {archive(patched(file(), 124, "\x80\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")), "no number"},
		"a size of 2^63-1":             {archive(patched(file(), 124, "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff")), "past the end"},
		"a time that is no number":     {archive(patched(file(), 136, "yesterday")), "no number"},
		"a lone zero block":            {archive(file(), make([]byte, blockBytes), file()), "lone zero block"},
		"garbage for a header":         {archive(file(), bytes.Repeat([]byte("x"), blockBytes)), "checksum"},
		"two pax headers":              {archive(rawEntry('x', "p", "", record("path", "b")), rawEntry('x', "p", "", record("path", "c")), file()), "two pax headers"},
		"a pax header at the end":      {archive(rawEntry('x', "p", "", record("path", "b"))), "without its entry"},
		"a long name at the end":       {archive(rawEntry('L', "p", "", "b\x00")), "without its entry"},
		"a global size":                {archive(rawEntry('g', "p", "", record("size", "1")), file()), "global"},
		"a global path":                {archive(rawEntry('g', "p", "", record("path", "b")), file()), "global"},
		"a pax size that is none":      {archive(rawEntry('x', "p", "", record("size", "-1")), file()), "malformed"},
		"a pax size of 19 digits":      {archive(rawEntry('x', "p", "", record("size", "9223372036854775807")), file()), "malformed"},
		"a pax size past the end":      {archive(rawEntry('x', "p", "", record("size", "999999999999999999")), file()), "past the end"},
		"a pax time that is none":      {archive(rawEntry('x', "p", "", record("mtime", "1.x")), file()), "malformed"},
		"a pax record without =":       {archive(rawEntry('x', "p", "", "9 abcdef\n"), file()), "malformed"},
		"a pax record without key":     {archive(rawEntry('x', "p", "", "6 =ab\n\n"), file()), "malformed"},
		"a pax record without length":  {archive(rawEntry('x', "p", "", "path=b\n"), file()), "malformed"},
		"a pax record of no length":    {archive(rawEntry('x', "p", "", "0 path=b\n"), file()), "malformed"},
		"a pax record of its length":   {archive(rawEntry('x', "p", "", "2 path=b\n"), file()), "malformed"},
		"a huge pax record length":     {archive(rawEntry('x', "p", "", "99999999999999999999 path=b\n"), file()), "malformed"},
		"a digest that is none":        {archive(rawEntry('x', "p", "", record("comment", digestComment+"abc")), file()), "digest"},
		"a digest of other letters":    {archive(rawEntry('x', "p", "", record("comment", digestComment+strings.Repeat("xy", 32))), file()), "digest"},
		"a hard link with a size":      {archive(file(), patched(rawEntry('1', "b", "a", ""), 124, "00000000005\x00")), "hard link with a size"},
		"part of a volume":             {archive(rawEntry('M', "a", "", "x")), "volume"},
		"an extended header too large": {archive(patched(rawEntry('x', "p", "", ""), 124, "00010000000\x00"), make([]byte, 2<<20)), "at most"},
	} {
		_, _, err := indexOf(c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", why, err, c.want)
		}
		var where *tarError
		if err != nil && !errors.As(err, &where) {
			t.Errorf("%s: the error does not say where: %v", why, err)
		}
	}
}

func TestOddButWhole(t *testing.T) {
	file := func(name string) []byte { return rawEntry('0', name, "", "hello") }
	digest := strings.Repeat("ab", 32)
	for why, c := range map[string]struct {
		data    []byte
		paths   string // of what is served
		skipped string
	}{
		"v7":                             {archive(patched(file("a"), 257, "\x00\x00\x00\x00\x00\x00\x00\x00")), "/a", ""},
		"no prefix in v7":                {archive(patched(patched(file("a"), 257, "\x00\x00\x00\x00\x00\x00\x00\x00"), 345, "p")), "/a", ""},
		"a prefix in ustar":              {archive(patched(file("a"), 345, "p")), "/p/a", ""},
		"no prefix in GNU":               {archive(patched(patched(file("a"), 257, "ustar  \x00"), 345, "12345")), "/a", ""},
		"the short prefix of star":       {archive(patched(patched(file("a"), 345, "p"), 476, strings.Repeat("7", 24)+strings.Repeat("\x00", 8)+"tar\x00")), "/p/a", ""},
		"a v7 directory":                 {archive(patched(file("d/"), 124, "00000000000")[:blockBytes]), "", "d/: the name is a directory's"},
		"a directory with a size":        {archive(patched(rawEntry('5', "d/", "", ""), 124, "00000001000"), file("a")), "/a", ""},
		"pax before GNU":                 {archive(rawEntry('L', "l", "", "gnu\x00"), rawEntry('x', "p", "", record("path", "pax")), file("a")), "/pax", ""},
		"GNU before the header":          {archive(rawEntry('L', "l", "", "gnu\x00"), file("a"), file("b")), "/b /gnu", ""},
		"a pax path taken back":          {archive(rawEntry('x', "p", "", record("path", "b")+record("path", "")), file("a")), "/a", ""},
		"a pax time":                     {archive(rawEntry('x', "p", "", record("mtime", "1.5")), file("a")), "/a", ""},
		"a pax time before 1970":         {archive(rawEntry('x', "p", "", record("mtime", "-1.5")), file("a")), "/a", ""},
		"a NUL in a pax path":            {archive(rawEntry('x', "p", "", record("path", "a\x00b")), file("a")), "", "a\x00b: there is a NUL in the name"},
		"a long link name":               {archive(file("a"), rawEntry('K', "l", "", "a\x00"), rawEntry('1', "b", "x", "")), "/a /b", ""},
		"a pax link name":                {archive(file("a"), rawEntry('x', "l", "", record("linkpath", "./a")), rawEntry('1', "b", "x", "")), "/a /b", ""},
		"a global comment and time":      {archive(rawEntry('g', "g", "", record("comment", "a commit")+record("mtime", "1")), file("a")), "/a", ""},
		"a digest":                       {archive(rawEntry('x', "p", "", record("comment", digestComment+digest)), file("a")), "/a", ""},
		"the comment of somebody else":   {archive(rawEntry('x', "p", "", record("comment", "hello")), file("a")), "/a", ""},
		"a hard link to nothing":         {archive(rawEntry('1', "b", "a", "")), "", "b: it is a hard link to no file before it"},
		"a hard link to a later file":    {archive(rawEntry('1', "b", "a", ""), file("a")), "/a", "b: it is a hard link to no file before it"},
		"a hard link outside":            {archive(rawEntry('1', "b", "../a", "")), "", "b: it is a hard link, and of its target there is a .. in the name"},
		"a hard link to itself":          {archive(file("a"), rawEntry('1', "a", "a", "")), "/a", ""},
		"a hard link to a symbolic link": {archive(rawEntry('2', "a", "/etc/passwd", ""), rawEntry('1', "b", "a", "")), "", "a: it is a symbolic link\nb: it is a hard link to no file before it"},
		"a hard link to a hidden file":   {archive(file(".a"), rawEntry('1', "b", ".a", "")), "/b", ""},
		"a symbolic link over a file":    {archive(file("a"), rawEntry('2', "a", "/etc/passwd", "")), "", "a: it is a symbolic link"},
		"a file over a symbolic link":    {archive(rawEntry('2', "a", "/etc/passwd", ""), file("a")), "/a", "a: it is a symbolic link"},
		"a file, a link, a file":         {archive(file("a"), rawEntry('2', "a", "b", ""), file("a")), "/a", "a: it is a symbolic link"},
		"a directory over a file":        {archive(file("a"), rawEntry('5', "a", "", "")), "/a", ""},
		"an unknown type":                {archive(rawEntry('Z', "z", "", "hello"), file("a")), "/a", "z: its type is 'Z', which is unknown"},
		"nothing after one zero block":   {append(file("a"), make([]byte, blockBytes)...), "/a", ""},
	} {
		x, skipped, err := indexOf(c.data)
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		if got := strings.Join(servedPaths(x), " "); got != c.paths || strings.Join(skipped, "\n") != c.skipped {
			t.Errorf("%s: %q, skipped %q", why, got, skipped)
		}
	}
}

func servedPaths(x *index) (paths []string) {
	for i := range x.entries {
		if x.served(i) {
			paths = append(paths, string(x.path(i)))
		}
	}
	sort.Strings(paths)
	return paths
}

// What is no longer there must not stand in the way of what is.
func TestGoneFileMakesRoom(t *testing.T) {
	x, _, err := indexOf(archive(rawEntry('0', "a", "", "file"), rawEntry('2', "a", "b", ""), rawEntry('0', "a/index.html", "", "index")))
	must(t, err)
	if _, match, ok := x.find([]byte("/a")); !ok || match != matchRedirect {
		t.Errorf("/a: match %d, %v", match, ok)
	}
}

func TestDates(t *testing.T) {
	for mtime, want := range map[string]string{
		"0":                   "Thu, 01 Jan 1970 00:00:00 GMT",
		"1709209845.999":      testDate,
		"99999999999":         "Thu, 29 Feb 2024 12:30:46 GMT", // the archive's own
		"999999999999999999":  "Thu, 29 Feb 2024 12:30:46 GMT",
		"-1":                  "",
		"-0.5":                "",
		"-999999999999999999": "",
	} {
		x, _, err := indexOf(archive(rawEntry('x', "p", "", record("mtime", mtime)), rawEntry('0', "a", "", "")))
		must(t, err)
		got := string(x.lastModified(0))
		if x.entries[0].flags&flagNoDate != 0 {
			got = ""
		}
		if got != want {
			t.Errorf("%s: %q, want %q", mtime, got, want)
		}
	}
}

func TestFilesMax(t *testing.T) {
	data := archive(rawEntry('0', "a", "", ""), rawEntry('0', "a", "", ""), rawEntry('0', "b", "", ""))
	for limit, fits := range map[int]bool{1: false, 2: true} {
		opts := Options{FilesMax: limit}
		opts.setDefaults()
		_, err := buildIndex(bytes.NewReader(data), int64(len(data)), nil, 0, &opts)
		if (err == nil) != fits {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// manyFiles is an archive of n small files that exists only as far as it is
// read.
type manyFiles struct{ n int }

func (m manyFiles) size() int64 { return int64(m.n)*2*blockBytes + int64(len(endMarker)) }

func (m manyFiles) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for at := off / blockBytes * blockBytes; at < off+int64(len(p)); at += blockBytes {
		i := int(at / (2 * blockBytes))
		if at%(2*blockBytes) != 0 || i >= m.n {
			continue
		}
		b := rawEntry('0', fmt.Sprintf("articles/2024/%06d/index.html", i), "", "x")[:blockBytes]
		if at < off {
			copy(p, b[off-at:])
		} else {
			copy(p[at-off:], b)
		}
	}
	return len(p), nil
}

// A file costs a few hundred bytes of memory, its name and both its short forms
// included.
func TestMemoryPerFile(t *testing.T) {
	const files, bytesMax = 100_000, 256
	opts := Options{}
	opts.setDefaults()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := manyFiles{files}
	x, err := buildIndex(m, m.size(), nil, 1<<40, &opts)
	must(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if per := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / files; per > bytesMax {
		t.Errorf("%d bytes per file, at most %d are right", per, bytesMax)
	} else {
		t.Logf("%d bytes per file", per)
	}
	if x.files != files {
		t.Errorf("%d files", x.files)
	}
	for i := range files {
		if got, _, ok := x.find(fmt.Appendf(nil, "/articles/2024/%06d/", i)); !ok || got != i {
			t.Fatalf("file %d is not found", i)
		}
	}
}

// counter counts what is read of a file.
type counter struct {
	io.ReaderAt
	n int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.n += int64(len(p))
	return c.ReaderAt.ReadAt(p, off)
}

// Of large files only the headers are read.
func TestContentIsNotRead(t *testing.T) {
	const size = 10 << 30
	f, err := os.Create(filepath.Join(t.TempDir(), "large.tar"))
	must(t, err)
	defer f.Close()
	head := rawEntry('0', "large.bin", "", "")
	field := binary.BigEndian.AppendUint64([]byte{0x80, 0, 0, 0}, size)
	if _, err := f.Write(patched(head, 124, string(field))); err != nil {
		t.Fatal(err)
	}
	total := int64(blockBytes + size + 2*blockBytes)
	if err := f.Truncate(total); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	opts := Options{}
	opts.setDefaults()
	c := &counter{ReaderAt: f}
	x, err := buildIndex(c, total, nil, 0, &opts)
	must(t, err)
	if x.entries[0].size != size || c.n > 2*windowBytes {
		t.Errorf("%d bytes, of which %d were read", x.entries[0].size, c.n)
	}
}

// resealed is data with right checksums wherever there is a header, so that a
// change elsewhere in it is not all there is to see.
func resealed(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 0; at+blockBytes <= len(data); at += blockBytes {
		if bytes.HasPrefix(data[at+257:], []byte("ustar")) {
			seal(data[at : at+blockBytes])
		}
	}
	return data
}

// contentsByArchiveTar is every file's content as another reader finds it; whole
// is false when that one refuses the archive.
func contentsByArchiveTar(data []byte) (contents map[string]bool, whole bool) {
	contents = map[string]bool{}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		switch _, err := r.Next(); err {
		case nil:
		case io.EOF:
			return contents, true
		default:
			return nil, false
		}
		content, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil {
			return nil, false
		}
		contents[string(content)] = true
	}
}

// Any bytes are refused or give an index that stays inside them; where
// archive/tar reads the same bytes, it finds the same content.
func FuzzIndex(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join(vectorDir, "*.tar"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(archive(rawEntry('0', "a", "", "x"), rawEntry('2', "a", "b", ""), rawEntry('1', "c", "a", "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = resealed(data)
		x, _, err := indexOf(data)
		if err != nil {
			return
		}
		theirs, whole := contentsByArchiveTar(data)
		for i := range x.entries {
			e := &x.entries[i]
			if content := string(data[e.off:][:e.size]); whole && !theirs[content] {
				t.Fatalf("%q is %q here, and nothing is there", x.path(i), content)
			}
			if e.off < blockBytes || e.size < 0 || e.off+e.size > int64(len(data)) {
				t.Fatalf("%q is at %d, %d bytes, of %d", x.path(i), e.off, e.size, len(data))
			}
			if clean, err := CleanPath(nil, appendEscaped(nil, x.path(i))); err != nil || !bytes.Equal(clean, x.path(i)) {
				t.Fatalf("nobody can ask for %q", x.path(i))
			}
			if x.served(i) && isHidden(x.path(i)) {
				t.Fatalf("%q is served", x.path(i))
			}
			if at, ok := x.lookup(x.path(i)); !ok || x.table.slots[at].entry() != i && x.entries[i].flags&flagGone == 0 {
				t.Fatalf("%q is not found", x.path(i))
			}
		}
	})
}
