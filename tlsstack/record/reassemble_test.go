package record

import (
	"bytes"
	"testing"
)

func message(typ byte, body string) []byte {
	return append([]byte{typ, 0, byte(len(body) >> 8), byte(len(body))}, body...)
}

// TestReassembleEveryCut hands three messages over in two fragments, cut at every
// byte, and in fragments of every size.
func TestReassembleEveryCut(t *testing.T) {
	want := [][]byte{message(1, "first"), message(2, ""), message(3, "the third")}
	all := bytes.Join(want, nil)
	for cut := range len(all) + 1 {
		check(t, want, all[:cut], all[cut:])
	}
	for size := 1; size <= len(all); size++ {
		var parts [][]byte
		for rest := all; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			parts = append(parts, rest[:min(size, len(rest))])
		}
		check(t, want, parts...)
	}
}

func check(t *testing.T, want [][]byte, fragments ...[]byte) {
	t.Helper()
	var r Reassembler
	var got [][]byte
	for _, f := range fragments {
		r.Add(f)
		for {
			m, err := r.Next(100)
			if err != nil {
				t.Fatal(err)
			}
			if m == nil {
				break
			}
			got = append(got, bytes.Clone(m))
		}
	}
	if len(got) != len(want) || r.Pending() != 0 {
		t.Fatalf("%d messages, %d bytes pending", len(got), r.Pending())
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("message %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// TestReassembleLimit: what announces too much is refused before it is there.
func TestReassembleLimit(t *testing.T) {
	var r Reassembler
	r.Add([]byte{1, 0, 0})
	if m, err := r.Next(10); m != nil || err != nil {
		t.Fatalf("header cut: %x, %v", m, err)
	}
	r.Add([]byte{7})
	if _, err := r.Next(10); err != MessageTooBig {
		t.Errorf("11 bytes against a limit of 10: %v", err)
	}
	if _, err := r.Next(11); err != nil {
		t.Errorf("11 bytes against a limit of 11: %v", err)
	}
}

func TestReassembleReset(t *testing.T) {
	var r Reassembler
	if _, ok := r.FrontType(); ok {
		t.Error("an empty reassembler has a message")
	}
	r.Add([]byte{9, 0})
	if typ, ok := r.FrontType(); !ok || typ != 9 {
		t.Errorf("front is %d, %v", typ, ok)
	}
	r.Reset()
	if r.Pending() != 0 {
		t.Error("reset keeps bytes")
	}
	r.Add(make([]byte, 100))
	r.Shrink(1000)
	if r.Pending() != 0 || cap(r.buf) == 0 {
		t.Error("a small buffer is not kept")
	}
	r.Shrink(10)
	if cap(r.buf) != 0 {
		t.Error("a large buffer is kept")
	}
}
