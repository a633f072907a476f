package reactor

import (
	"math"
	"testing"
)

func TestSlots(t *testing.T) {
	table := NewSlots[int](slotChunk + 3)
	var all []*Slot[int]
	for s := table.Take(SlotOpen); s != nil; s = table.Take(SlotOpen) {
		if s.Sock.Index() != len(all) || s.Sock.Generation() != 1 {
			t.Fatalf("slot %d is %#x", len(all), s.Sock)
		}
		all = append(all, s)
	}
	if len(all) != slotChunk+3 || table.Len() != len(all) {
		t.Fatalf("%d slots, want %d", len(all), slotChunk+3)
	}
	for i, s := range all {
		if table.Find(s.Sock) != s || table.At(i) != s {
			t.Fatalf("slot %d moved", i)
		}
	}
}

// TestSlotsStale: whatever names a socket that is gone finds nothing, also after
// its slot has another.
func TestSlotsStale(t *testing.T) {
	table := NewSlots[int](8)
	s := table.Take(SlotOpen)
	old := s.Sock
	s.Op = 7
	if table.Live(old) != s {
		t.Fatal("a new socket is not found")
	}
	s.State = SlotClosing
	if table.Live(old) != nil || table.Find(old) != s {
		t.Fatal("a closing socket is live, or its completions do not find it")
	}
	table.Free(s)
	if table.Find(old) != nil {
		t.Fatal("a free slot is found")
	}
	again := table.Take(SlotOpen)
	if again != s || again.Sock == old || again.Op != 0 {
		t.Fatalf("slot taken again is %+v", again)
	}
	for name, stale := range map[string]Sock{"old": old, "zero": 0, "never used": MakeSock(5, 1), "beyond": MakeSock(1<<31, 1)} {
		if table.Find(stale) != nil {
			t.Errorf("the %s Sock is found", name)
		}
	}
}

func TestSlotsGenerationSkipsZero(t *testing.T) {
	if s := nextGeneration(3, MakeSock(3, math.MaxUint32)); s.Generation() != 1 || s.Index() != 3 {
		t.Fatalf("after the last generation comes %#x", s)
	}
}

func TestSlotsFreeMisuse(t *testing.T) {
	for name, misuse := range map[string]func(*Slots[int], *Slot[int]){
		"twice":     func(table *Slots[int], s *Slot[int]) { table.Free(s); table.Free(s) },
		"in flight": func(table *Slots[int], s *Slot[int]) { s.Pending = 1; table.Free(s) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			table := NewSlots[int](8)
			misuse(&table, table.Take(SlotOpen))
		})
	}
}
