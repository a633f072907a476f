package reactor

import (
	"fmt"
	"testing"
)

// runs is what a Trim discards, as text.
func runs(f *FreeList) (out string, more bool) {
	more = f.Trim(func(first, count int) { out += fmt.Sprintf("%d+%d ", first, count) })
	return out, more
}

// TestFreeListTrim: what was not taken from one Trim to the next is discarded,
// once, neighbours together.
func TestFreeListTrim(t *testing.T) {
	var f FreeList
	for _, id := range []int32{7, 3, 4, 9, 5, 1} {
		f.Put(id)
	}
	if out, more := runs(&f); out != "" || !more {
		t.Fatalf("right after they were put: discarded %q, more %v", out, more)
	}
	if id, ok := f.Take(); id != 1 || !ok {
		t.Fatalf("took %d, %v; the last put is 1", id, ok)
	}
	f.Put(1)
	if out, more := runs(&f); out != "3+3 7+1 9+1 " || !more {
		t.Fatalf("discarded %q, more %v", out, more)
	}
	if out, more := runs(&f); out != "1+1 " || more {
		t.Fatalf("then discarded %q, more %v", out, more)
	}
	if out, _ := runs(&f); out != "" {
		t.Fatalf("discarded again: %q", out)
	}
	for range 3 {
		f.Take()
	}
	f.Put(20)
	runs(&f)
	if out, _ := runs(&f); out != "20+1 " {
		t.Fatalf("discarded %q after some were used", out)
	}
}

// TestFreeListTrimBound: no Trim does more than trimMost, and the rest is not
// forgotten.
func TestFreeListTrimBound(t *testing.T) {
	const all = 2*trimMost + 10
	var f FreeList
	for id := range int32(all) {
		f.Put(id)
	}
	f.Trim(func(int, int) { t.Fatal("discarded right after they were put") })
	total, rounds := 0, 0
	for more := true; more; rounds++ {
		n := 0
		more = f.Trim(func(_, count int) { n += count })
		if n > trimMost {
			t.Fatalf("%d in one Trim, at most %d", n, trimMost)
		}
		total += n
	}
	if total != all || rounds != 3 {
		t.Errorf("%d of %d in %d rounds", total, all, rounds)
	}
}

// TestTrimPutOff: a busy worker's memory is trimmed in the end, and an idle one's
// at once.
func TestTrimPutOff(t *testing.T) {
	var c Core
	for range 3 {
		for range putOffMost {
			c.worked = trimBusy
			if c.TrimDue() {
				t.Fatal("trimmed while busy")
			}
		}
		if !c.TrimDue() {
			t.Fatal("put off too often")
		}
	}
	c.worked = trimBusy - 1
	if !c.TrimDue() {
		t.Fatal("not trimmed with little to do")
	}
}
