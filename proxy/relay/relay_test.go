package relay

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestPipeKeepsOrderAndEnds(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	for round := range 200 {
		var p Pipe
		var in, out []byte
		paused := false
		for i := 0; i < 100 || p.count > 0; i++ {
			if i < 100 && !paused && rnd.IntN(2) == 0 {
				b := make([]byte, 1+rnd.IntN(20000))
				for j := range b {
					b[j] = byte(rnd.Uint32())
				}
				if !p.Push(Chunk{Bytes: b, ID: uint32(i), Owned: true}) {
					t.Fatalf("seed %d round %d: a pipe that did not ask for a pause is full", seed, round)
				}
				in = append(in, b...)
			}
			if p.Full() {
				paused = true
			}
			if c, ok := p.Next(); ok {
				out = append(out, c.Bytes...)
				if _, again := p.Next(); again {
					t.Fatal("two chunks at once")
				}
				if p.FinDue() {
					t.Fatal("FIN before the last byte was sent")
				}
				p.Sent()
			}
			if paused && p.Low() {
				paused = false
			}
		}
		if !bytes.Equal(in, out) || p.Total() != int64(len(in)) {
			t.Fatalf("seed %d round %d: bytes differ", seed, round)
		}
		if p.FinDue() {
			t.Fatal("FIN without End")
		}
		p.End()
		if !p.FinDue() || p.FinDue() || !p.Done() {
			t.Fatal("FIN is due once, when all is sent")
		}
		if p.Push(Chunk{}) {
			t.Fatal("push after the end")
		}
	}
}

func TestPipePausedSourceStillFits(t *testing.T) {
	var p Pipe
	for !p.Full() {
		if !p.Push(Chunk{Bytes: make([]byte, 1)}) {
			t.Fatal("not full and yet full")
		}
	}
	for range ChunksMax / 2 {
		if !p.Push(Chunk{Bytes: make([]byte, 1)}) {
			t.Fatal("no room for what was on its way")
		}
	}
	if p.Push(Chunk{}) {
		t.Fatal("more chunks than the most")
	}
}

func TestPipeDropGivesEverythingBack(t *testing.T) {
	var p Pipe
	for i := range 5 {
		p.Push(Chunk{Bytes: make([]byte, 1), ID: uint32(i)})
	}
	p.Next()
	seen := 0
	for {
		c, ok := p.Drop()
		if !ok {
			break
		}
		if c.ID == 0 {
			t.Fatal("dropped the chunk that is being sent")
		}
		seen++
	}
	if c := p.Sent(); c.ID != 0 || seen != 4 || p.bytes != 0 {
		t.Fatalf("%d dropped, %d bytes left", seen, p.bytes)
	}
}
