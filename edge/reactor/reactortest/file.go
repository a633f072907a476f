// Files read.

package reactortest

import (
	"bytes"
	"testing"

	"edge/edge/reactor"
)

// buffers gives pool memory of the sizes.
func (b *bench) buffers(sizes ...int) (bufs [][]byte) {
	for _, n := range sizes {
		bufs = append(bufs, b.r.Buffers().Get(n)[:n])
	}
	return bufs
}

// readFile reads and waits.
func (b *bench) readFile(s reactor.Sock, file int, offset int64, bufs [][]byte) (n int, err error) {
	b.t.Helper()
	before := b.get(s).fileReads
	given := append([][]byte(nil), bufs...)
	b.r.ReadFile(s, file, given, offset)
	clear(given) // the slice is ours again
	b.until("file read", func() bool { return b.get(s).fileReads > before })
	return b.get(s).fileN, b.get(s).fileErr
}

// testReadFile: into one buffer and into many, whole, across the end, and beyond.
func testReadFile(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, _ := b.connect()
	content := pattern(1, 300000)
	fd := b.f.File(content)
	sixteen := func() [][]byte {
		var sizes []int
		for i := range reactor.FileBuffersMax {
			sizes = append(sizes, 1000+1234*i)
		}
		return b.buffers(sizes...)
	}
	for _, c := range []struct {
		name   string
		offset int64
		bufs   [][]byte
		want   []byte
	}{
		{"one buffer", 0, b.buffers(5000), content[:5000]},
		{"one buffer, later", 123456, b.buffers(100000), content[123456:223456]},
		{"many buffers", 77, sixteen(), content[77 : 77+16*1000+1234*120]},
		{"across the end", 290000, b.buffers(8192, 8192), content[290000:]},
		{"at the end", 300000, b.buffers(100), nil},
		{"beyond the end", 400000, b.buffers(100, 100), nil},
	} {
		n, err := b.readFile(s, fd, c.offset, c.bufs)
		got := bytes.Join(c.bufs, nil)
		if err != nil || n != len(c.want) || !bytes.Equal(got[:n], c.want) {
			t.Errorf("%s: %d bytes, %v, want %d", c.name, n, err, len(c.want))
		}
	}
	b.close(s)
}

func testReadFileError(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	s, _ := b.connect()
	if n, err := b.readFile(s, 1<<30, 0, b.buffers(100)); err == nil || n != 0 {
		t.Fatalf("reading from no file: %d bytes, %v", n, err)
	}
	b.close(s)
}

// testCloseWhileReadingFile: FileRead is heard before Closed.
func testCloseWhileReadingFile(t *testing.T, make Make) {
	b := start(t, make, reactor.Options{})
	fd := b.f.File(pattern(2, 100000))
	for range 20 {
		s, _ := b.connect()
		b.r.ReadFile(s, fd, b.buffers(50000, 50000), 0)
		b.close(s)
		if b.get(s).fileReads != 1 {
			t.Fatal("Closed before FileRead")
		}
	}
}
