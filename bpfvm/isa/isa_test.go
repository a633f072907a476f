package isa

import (
	"reflect"
	"testing"
)

func TestDecodeAppend(t *testing.T) {
	code := []byte{0x7b, 0x3a, 0xf8, 0xff, 1, 2, 3, 0x84}
	in, err := Decode(code)
	if err != nil {
		t.Fatal(err)
	}
	want := Insn{Op: 0x7b, Regs: 0x3a, Off: -8, Imm: -0x7bfcfdff}
	if in[0] != want || in[0].Dst() != R10 || in[0].Src() != R3 || in[0].Width() != 8 || !in[0].IsStore() {
		t.Fatalf("decoded %+v", in[0])
	}
	if got := Append(nil, in...); !reflect.DeepEqual(got, code) {
		t.Fatalf("encoded % x", got)
	}
	for n := 1; n < 8; n++ {
		if _, err := Decode(code[:n]); err == nil {
			t.Errorf("%d bytes were decoded", n)
		}
	}
}

func TestJump(t *testing.T) {
	for _, c := range []struct {
		in    Insn
		delta int
		jumps bool
		falls bool
	}{
		{New(OpJa, 0, 0, -3, 0), -3, true, false},
		{New(OpJa32, 0, 0, 0, 70000), 70000, true, false},
		{New(ClassJMP32|Jeq, 1, 0, 5, 0), 5, true, true},
		{New(OpExit, 0, 0, 0, 0), 0, false, false},
		{New(OpCall, 0, CallLocal, 0, 4), 0, false, true},
		{New(OpMovImm, 1, 0, 0, 9), 0, false, true},
	} {
		d, ok := c.in.Jump()
		if d != c.delta || ok != c.jumps || c.in.Falls() != c.falls {
			t.Errorf("%v: jump %d %v, falls %v", c.in, d, ok, c.in.Falls())
		}
	}
}

// TestStringOfAnything formats every opcode with every small immediate: nothing
// may panic, and what is no instruction must not look like one.
func TestStringOfAnything(t *testing.T) {
	for op := range 256 {
		for imm := int32(0); imm < 256; imm++ {
			if New(uint8(op), 1, 2, 0, imm).String() == "" {
				t.Fatalf("opcode %#x has no text", op)
			}
		}
	}
	if s := New(OpAtomic, 1, 2, 0, 0xe0).String(); s[:4] != ".raw" {
		t.Errorf("an exchange without fetch reads %q", s)
	}
	two := LDDW(4, 0x1122334455667788)
	if got := Format(two[:]); len(got) != 1 || got[0] != "lddw %r4, 0x1122334455667788" {
		t.Errorf("lddw formats as %q", got)
	}
}
