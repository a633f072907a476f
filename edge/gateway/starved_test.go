package gateway

import (
	"testing"

	"edge/edge/reactor/sim"
)

// What an answer that waited for memory puts out is sent although nothing else
// happens: the turn after does not sleep.
func TestFedConnectionsAreNotForgotten(t *testing.T) {
	b := newBench(t, benchOptions{sim: sim.Options{BufferBytes: 512 << 10, Calm: true}})
	b.ask(get("/f16385.bin")) // now it is in memory, and takes a buffer at once
	var held [][]byte
	for b.w.r.Buffers().Available() > b.w.inputReserve {
		held = append(held, b.w.r.Buffers().Get(outBytesMax))
	}
	p := b.plain.Dial()
	p.Write(get("/f16385.bin"))
	b.sim.Idle()
	if len(b.w.starved) != 1 || len(p.Read()) != 0 {
		t.Fatalf("%d connections wait for memory", len(b.w.starved))
	}
	b.sim.Post(func() {
		for _, h := range held {
			b.w.r.Buffers().Put(h)
		}
	})
	for {
		left := len(b.w.dirty) > 0
		if !b.sim.Step() {
			if left {
				t.Error("output was left, and nothing would have woken the worker")
			}
			break
		}
	}
	if exchanged(t, p.Read(), "GET")[0].ContentLength != 16385 {
		t.Error("the answer is another")
	}
	p.Close()
	b.done()
}
