package reactor

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

func newBuffers(t *testing.T, budget int) *Buffers {
	t.Helper()
	p, err := NewBuffers(budget, 8192)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	p.Reserve(5000)
	return p
}

// TestBuffersDistinct marks every buffer handed out and sees that no two share
// memory, whatever the order of Get and Put.
func TestBuffersDistinct(t *testing.T) {
	p := newBuffers(t, 64*chunkBytes)
	rng := rand.New(rand.NewPCG(1, 2))
	var out [][]byte
	put := func(i int) {
		b := out[i]
		if b[0] != b[len(b)-1] {
			t.Fatalf("buffer of %d bytes was written to by another's owner", len(b))
		}
		p.Put(b[:0])
		out[i] = out[len(out)-1]
		out = out[:len(out)-1]
	}
	for n := range 20000 {
		b := p.Get(1 + rng.IntN(bufferBytesMax))
		if b == nil || rng.IntN(3) == 0 {
			for range rng.IntN(len(out) + 1) {
				put(rng.IntN(len(out)))
			}
		}
		if b == nil {
			continue
		}
		if len(b) != 0 || uintptr(cap(b))&(uintptr(cap(b))-1) != 0 || address(b)%4096 != 0 || !p.Holds(b[:cap(b)]) {
			t.Fatalf("Get gave length %d, capacity %d at %#x", len(b), cap(b), address(b))
		}
		b = b[:cap(b)]
		b[0], b[len(b)-1] = byte(n), byte(n)
		out = append(out, b)
	}
	for len(out) > 0 {
		put(0)
	}
	if p.Used() != 0 || p.empty.Len() != len(p.chunks) {
		t.Fatalf("%d bytes used, %d of %d chunks empty, want none and all", p.Used(), p.empty.Len(), len(p.chunks))
	}
}

// TestBuffersBudget: the budget is met exactly, and memory that one class has
// given back serves another.
func TestBuffersBudget(t *testing.T) {
	p := newBuffers(t, 4*chunkBytes)
	for round, size := range []int{bufferBytesMin, bufferBytesMax, 3 * bufferBytesMin} {
		var out [][]byte
		for b := p.Get(size); b != nil; b = p.Get(size) {
			out = append(out, b)
		}
		if p.Used() != 4*chunkBytes {
			t.Fatalf("round %d: %d bytes handed out before Get gave nil, want %d", round, p.Used(), 4*chunkBytes)
		}
		for _, b := range out {
			p.Put(b)
		}
		if p.Used() != 0 {
			t.Fatalf("round %d: %d bytes used after all were put back", round, p.Used())
		}
	}
}

func TestBuffersMisuse(t *testing.T) {
	p := newBuffers(t, 4*chunkBytes)
	b := p.Get(10000)
	p.Get(10000)
	for name, wrong := range map[string][]byte{
		"foreign": make([]byte, 16384),
		"shifted": b[1:1:cap(b)],
		"shorter": b[: 0 : cap(b)-1],
		"twice":   b,
	} {
		if name == "twice" {
			p.Put(b)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Put of a %s buffer did not panic", name)
				}
			}()
			p.Put(wrong)
		}()
	}
}

// TestBuffersTrim: pages of a burst are given back once they were idle from one
// Trim to the next, and what is in use is left alone.
func TestBuffersTrim(t *testing.T) {
	p := newBuffers(t, 32*chunkBytes)
	var out [][]byte
	for range 32 {
		b := p.Get(chunkBytes)
		fill(b[:cap(b)], 1)
		out = append(out, b)
	}
	kept := out[0][:chunkBytes]
	for _, b := range out[1:] {
		p.Put(b)
	}
	p.Trim()
	if n := resident(t, p.arena); n != 32*chunkBytes {
		t.Fatalf("%d bytes resident right after the burst, want %d", n, 32*chunkBytes)
	}
	p.Put(p.Get(chunkBytes))
	p.Trim()
	if n := resident(t, p.arena); n != 2*chunkBytes {
		t.Fatalf("%d bytes resident when one is in use and one was, want %d", n, 2*chunkBytes)
	}
	if kept[0] != 1 || kept[chunkBytes-1] != 1 {
		t.Fatal("Trim took the pages of a buffer in use")
	}
}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}

// resident counts the bytes of b that have pages.
func resident(t *testing.T, b []byte) (n int) {
	t.Helper()
	vec := make([]byte, len(b)/4096)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, address(b), uintptr(len(b)), address(vec))
	if errno != 0 {
		t.Skip("mincore: ", errno)
	}
	for _, page := range vec {
		n += int(page&1) * 4096
	}
	return n
}

func TestBuffersAllocateNothing(t *testing.T) {
	p := newBuffers(t, 8*chunkBytes)
	if n := testing.AllocsPerRun(100, func() {
		a, b := p.Get(100), p.Get(100000)
		p.Put(a)
		p.Put(b)
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
