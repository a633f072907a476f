package bpfvm

import (
	"errors"
	"strings"
	"testing"

	"edge/bpfvm/asm"
	"edge/bpfvm/isa"
)

func mustParse(t testing.TB, text string) []isa.Insn {
	t.Helper()
	insns, err := asm.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return insns
}

// refused loads a program in every engine and checks that it is refused at that
// instruction for that reason.
func refused(t *testing.T, what string, insns []isa.Insn, at int, want string) {
	t.Helper()
	for _, e := range engines() {
		o, err := LoadInsns("p", insns, Options{Engine: e, Helpers: conformanceHelpers(t)})
		var bad *LoadError
		if err == nil {
			o.Close()
		}
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, want) || bad.Place.Insn != at {
			t.Errorf("%s (%v): got %v; want a refusal of instruction %d with %q", what, e, err, at, want)
		}
	}
}

func TestRefusedShapes(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		want string
	}{
		{"mov %r0, 0", 0, "ends without"},
		{"jeq %r0, 0, -1", 0, "ends without"},
		{"ja +1\nexit", 0, "leaves the function"},
		{"ja -2\nexit", 0, "leaves the function"},
		{"ja32 +2147483647\nexit", 0, "leaves the function"},
		{"ja32 -2147483648\nexit", 0, "leaves the function"},
		{"jne %r0, 0, +1\nlddw %r1, 1\nexit", 0, "second half"},
		{"mov %r10, 0\nexit", 0, "can be written"},
		{"ldxdw %r10, [%r1]\nexit", 0, "can be written"},
		{"lddw %r10, 1\nexit", 0, "can be written"},
		{"add %r10, -8\nexit", 0, "can be written"},
		{"call 99\nexit", 0, "no helper number 99"},
		{"call local +5\nexit", 0, "not an instruction"},
		{"call local -3\nexit", 0, "not an instruction"},
		{"call local +1\nlddw %r1, 0\nexit", 0, "not an instruction"},
		{"stxdw [%r10-7], %r1\nexit", 0, "outside the stack frame"},
		{"ldxb %r0, [%r10+0]\nexit", 0, "outside the stack frame"},
		{"ldxb %r0, [%r10-513]\nexit", 0, "outside the stack frame"},
		{"stdw [%r10-520], 1\nexit", 0, "outside the stack frame"},
		{"lock add [%r10-9], %r1\nexit", 0, "not aligned"},
		{"lock add32 [%r10-6], %r1\nexit", 0, "not aligned"},
		{"lock add [%r1], %r10\nexit", 0, "can be written"},
		{"call %r2\nexit", 0, "not an instruction of this machine"},
		// Into another function, and from one into the next.
		{"call local f\nexit\nf: ja -3", 2, "leaves the function"},
		{"call local f\nmov %r0, 1\nf: exit", 1, "ends without"},
		{"call local f\nexit\nf: mov %r0, 1\n", 2, "ends without"},
		{"a: call local b\nexit\nb: call local c\nexit\nc: call local d\nexit\nd: call local e\nexit\ne: call local f\nexit\nf: call local g\nexit\ng: call local h\nexit\nh: call local i\nexit\ni: exit", 0, "nest 9 deep"},
	} {
		refused(t, c.text, mustParse(t, c.text), c.at, c.want)
	}
	refused(t, "nothing", nil, 0, "0 instructions")
	refused(t, "lddw alone", mustParse(t, "lddw %r0, 0")[:1], 0, "second half")
	two := append(mustParse(t, "lddw %r0, 0"), mustParse(t, "exit")...)
	two[1].Regs = 1
	refused(t, "lddw with a register in its second half", two, 1, "second half")
	refused(t, "too long", make([]isa.Insn, insnsMax+1), 0, "instructions")
	refused(t, "kernel function", []isa.Insn{isa.New(isa.OpCall, 0, isa.CallByBTF, 0, 1), isa.New(isa.OpExit, 0, 0, 0, 0)}, 0, "kind of call")
}

// legalOpcodes are those of RFC 9669, appendix A, without the retired packet loads
// (0x20 to 0x58 of the load class).
const legalOpcodes = `
	04 05 06 07 0c 0f 14 15 16 17 18 1c 1d 1e 1f 24 25 26 27 2c 2d 2e 2f 34 35 36 37 3c 3d 3e 3f
	44 45 46 47 4c 4d 4e 4f 54 55 56 57 5c 5d 5e 5f 61 62 63 64 65 66 67 69 6a 6b 6c 6d 6e 6f
	71 72 73 74 75 76 77 79 7a 7b 7c 7d 7e 7f 81 84 85 87 89 91 94 95 97 9c 9f a4 a5 a6 a7 ac ad ae af
	b4 b5 b6 b7 bc bd be bf c3 c4 c5 c6 c7 cc cd ce cf d4 d5 d6 d7 db dc dd de`

func TestOpcodeTable(t *testing.T) {
	bytes, err := asm.HexBytes(legalOpcodes)
	if err != nil {
		t.Fatal(err)
	}
	legal := map[uint8]bool{}
	for _, op := range bytes {
		legal[op] = true
	}
	for op := range 256 {
		if rules[op].legal != legal[uint8(op)] {
			t.Errorf("opcode %#02x: accepted is %v, want %v", op, rules[op].legal, legal[uint8(op)])
		}
	}
}

// TestUnusedFields sets, in an instruction of each legal opcode, each field that
// it does not use.
func TestUnusedFields(t *testing.T) {
	for op := range 256 {
		r := rules[op]
		if !r.legal {
			continue
		}
		base := isa.New(uint8(op), 0, 0, 0, 0)
		if r.imm == swap {
			base.Imm = 32
		}
		if bad := verifyInsn(0, base); bad != nil {
			t.Errorf("%v: refused: %s", base, bad.reason)
		}
		for _, c := range []struct {
			f   field
			set func(*isa.Insn)
		}{
			{r.dst, func(in *isa.Insn) { in.Regs |= 1 }},
			{r.src, func(in *isa.Insn) { in.Regs |= 0x30 }},
			{r.off, func(in *isa.Insn) { in.Off = 4 }},
			{r.imm, func(in *isa.Insn) { in.Imm = 1 << 20 }},
		} {
			in := base
			c.set(&in)
			bad := verifyInsn(0, in)
			if c.f == zero && bad == nil {
				t.Errorf("%#02x: an unused field was accepted: %+v", op, in)
			}
			if (c.f == free || c.f == reads || c.f == writes || c.f == jump) && bad != nil {
				t.Errorf("%#02x: a used field was refused: %+v: %s", op, in, bad.reason)
			}
		}
	}
}

// TestAtomicSet tries every immediate near the legal ones, in each size (B05).
func TestAtomicSet(t *testing.T) {
	legal := map[int32]bool{0x00: true, 0x01: true, 0x40: true, 0x41: true, 0x50: true, 0x51: true, 0xa0: true, 0xa1: true, 0xe1: true, 0xf1: true}
	exit := isa.New(isa.OpExit, 0, 0, 0, 0)
	for imm := int32(-2); imm < 0x120; imm++ {
		for _, size := range []uint8{isa.SizeB, isa.SizeH, isa.SizeW, isa.SizeDW} {
			in := isa.New(isa.ClassSTX|isa.ModeATOMIC|size, isa.R1, isa.R2, 0, imm)
			want := legal[imm] && (size == isa.SizeW || size == isa.SizeDW)
			for _, e := range engines() {
				o, err := LoadInsns("p", []isa.Insn{in, exit}, Options{Engine: e})
				if err == nil {
					o.Close()
				}
				if (err == nil) != want {
					t.Errorf("%v: atomic %#x of size %#x: %v", e, imm, size, err)
				}
			}
		}
	}
}

func TestRegistersChecked(t *testing.T) {
	for r := uint8(isa.Registers); r < 16; r++ {
		for _, in := range []isa.Insn{
			isa.New(isa.OpMovReg, r, 0, 0, 0), isa.New(isa.OpMovReg, 0, r, 0, 0),
			isa.New(isa.ClassLDX|isa.ModeMEM, 0, r, 0, 0), isa.New(isa.ClassSTX|isa.ModeMEM, r, 0, 0, 0),
			isa.New(isa.ClassSTX|isa.ModeMEM, 0, r, 0, 0), isa.New(isa.ClassJMP|isa.Jeq, r, 0, 0, 0),
			isa.New(isa.OpAtomic, 0, r, 0, 0), isa.New(isa.OpLDDW, r, 0, 0, 0),
		} {
			if bad := verifyInsn(0, in); bad == nil {
				t.Errorf("register %d was accepted in %+v", r, in)
			}
		}
	}
}
