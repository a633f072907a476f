package relay

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestPipeKeepsOrderAndEnds(t *testing.T) {
	for round := range 20 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		fill := rand.NewChaCha8([32]byte{byte(round)})
		var p Pipe
		var in, out []byte
		paused := false
		for i := 0; i < 200 || p.count > 0; i++ {
			if i < 200 && !paused && rnd.IntN(2) == 0 {
				b := make([]byte, 1+rnd.IntN(40000))
				fill.Read(b)
				give(t, &p, b, rnd.IntN(2) == 0)
				in = append(in, b...)
			}
			if p.Full() {
				paused = true
			}
			if rnd.IntN(2) == 0 {
				out = append(out, bytes.Join(p.Next(nil), nil)...)
				if p.flying > 0 && len(p.Next(nil)) > 0 {
					t.Fatalf("seed %d: chunks to send while others are being sent", seed)
				}
				if p.flying > 0 && p.FinDue() {
					t.Fatalf("seed %d: FIN before the last byte was sent", seed)
				}
			}
			if rnd.IntN(3) == 0 {
				for _, more := p.Sent(); more; _, more = p.Sent() {
				}
			}
			if paused && p.Low() {
				paused = false
			}
			if int(p.bytes) >= HighWater+40000 {
				t.Fatalf("seed %d: %d bytes held", seed, p.bytes)
			}
		}
		if !bytes.Equal(in, out) || p.Total() != int64(len(in)) || p.bytes != 0 {
			t.Fatalf("seed %d round %d: bytes differ", seed, round)
		}
		expectEnd(t, &p)
	}
}

// give pushes b, or appends it where that is possible and asked for.
func give(t *testing.T, p *Pipe, b []byte, appending bool) {
	t.Helper()
	if appending && p.Append(b) {
		return
	}
	room := make([]byte, len(b), 2*len(b))
	copy(room, b)
	if !p.Push(Chunk{Bytes: room, Owned: len(b)%3 == 0}) {
		t.Fatal("a pipe that did not ask for a pause is full")
	}
}

func expectEnd(t *testing.T, p *Pipe) {
	t.Helper()
	if p.FinDue() {
		t.Fatal("FIN without End")
	}
	p.End()
	if !p.FinDue() || p.Done() {
		t.Fatal("no FIN when all is sent")
	}
	p.Fin()
	if p.FinDue() || !p.Done() {
		t.Fatal("FIN is due once")
	}
	if p.Push(Chunk{}) {
		t.Fatal("push after the end")
	}
}

func TestPipeAppendsOnlyToWhatWaits(t *testing.T) {
	chunk := func(n, room int, owned bool) Chunk {
		return Chunk{Bytes: make([]byte, n, n+room), Owned: owned}
	}
	for _, c := range []struct {
		name   string
		chunk  Chunk
		flying bool
		want   bool
	}{
		{"room", chunk(1, 4, false), false, true},
		{"too little room", chunk(1, 3, false), false, false},
		{"somebody else's buffer", chunk(1, 100, true), false, false},
		{"being sent", chunk(1, 100, false), true, false},
	} {
		var p Pipe
		p.Push(c.chunk)
		if c.flying {
			p.Next(nil)
		}
		if got := p.Append([]byte("four")); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	var p Pipe
	if p.Append([]byte("x")) {
		t.Error("appended to nothing")
	}
}

func TestPipeBounds(t *testing.T) {
	var p Pipe
	n := 0
	for ; !p.Full(); n++ {
		if !p.Push(Chunk{Bytes: make([]byte, 1)}) {
			t.Fatal("not full and yet full")
		}
	}
	if n != ChunksMax || p.Push(Chunk{}) {
		t.Fatalf("%d chunks, and more", n)
	}
	// What a connection costs while nothing moves.
	if size := unsafe.Sizeof(Pipe{}); size > 400 {
		t.Errorf("a pipe is %d bytes", size)
	}
}

func TestPipeDropGivesEverythingBack(t *testing.T) {
	var p Pipe
	p.Push(Chunk{Bytes: make([]byte, 10), ID: 0})
	p.Push(Chunk{Bytes: make([]byte, 10), ID: 1})
	p.Next(nil)
	for i := range 4 {
		p.Push(Chunk{Bytes: make([]byte, 1), ID: uint32(i + 2)})
	}
	seen := 0
	for c, more := p.Drop(); more; c, more = p.Drop() {
		if c.ID < 2 {
			t.Fatal("dropped a chunk that is being sent")
		}
		seen++
	}
	for id := range uint32(2) {
		if c, ok := p.Sent(); !ok || c.ID != id {
			t.Fatalf("sent: %v, %v", c, ok)
		}
	}
	if _, more := p.Sent(); more || seen != 4 || p.bytes != 0 {
		t.Fatalf("%d dropped, %d bytes left", seen, p.bytes)
	}
}

func TestPipeAllocatesNothing(t *testing.T) {
	var p Pipe
	b := make([]byte, 100)
	bufs := make([][]byte, 0, ChunksMax)
	if n := testing.AllocsPerRun(100, func() {
		p.Push(Chunk{Bytes: b, Owned: true})
		p.Push(Chunk{Bytes: b, Owned: true})
		p.Next(bufs)
		p.Sent()
		p.Sent()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
