package bpfvm

// alu_test.go: field cases of arithmetic, with results worked out here in another
// way than the interpreter's: in big numbers.

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"testing"

	"edge/bpfvm/isa"
)

var patterns = [isa.R10]uint64{
	0x0000000000000007, 0x1000000000000000, 0x8000000000000000, 0xffffffffffffffff, 0x00000001ffffffff,
	0x1234567880000000, 0x0000000000000000, 0xfedcba9876543210, 0x0000000100000007, 0x00000000ffffffff,
}

// observe loads all registers with patterns, executes one instruction, and gives
// all registers afterwards.
func observe(t *testing.T, e Engine, in isa.Insn) (after [isa.R10]uint64) {
	var insns []isa.Insn
	for r, v := range patterns {
		two := isa.LDDW(uint8(r), v)
		insns = append(insns, two[:]...)
	}
	insns = append(insns, in)
	for r := range uint8(isa.R10) {
		insns = append(insns, isa.New(isa.ClassSTX|isa.ModeMEM|isa.SizeDW, isa.R10, r, -8*int16(r+1), 0))
	}
	insns = append(insns, isa.New(isa.OpExit, 0, 0, 0, 0))
	o, err := LoadInsns("p", insns, Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	inst, err := o.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	var task Task
	if err := task.Start(inst, o.Programs()[0], nil); err != nil {
		t.Fatal(err)
	}
	if exit := task.Run(100); exit != Done {
		t.Fatalf("%v: %v", in, exit)
	}
	top := inst.object.layout.stackEnd
	for r := range after {
		after[r] = binary.LittleEndian.Uint64(inst.arena.mem[int(top)-8*(r+1):])
	}
	return after
}

// expected computes an arithmetic instruction in big numbers, modulo 2^bits.
func expected(in isa.Insn, dst, src uint64) uint64 {
	bits := uint(64)
	if in.Class() == isa.ClassALU {
		bits = 32
	}
	if !in.UsesSrc() {
		src = uint64(int64(in.Imm))
	}
	mod := new(big.Int).Lsh(big.NewInt(1), bits)
	unsigned := func(v uint64) *big.Int { return new(big.Int).Mod(new(big.Int).SetUint64(v), mod) }
	signed := func(v uint64) *big.Int {
		x := unsigned(v)
		if x.Bit(int(bits)-1) == 1 {
			x.Sub(x, mod)
		}
		return x
	}
	number := unsigned
	if in.Off == 1 || in.Code() == isa.Arsh {
		number = signed
	}
	a, b, x := number(dst), number(src), new(big.Int)
	count := uint(src) & (bits - 1)
	switch in.Code() {
	case isa.Add:
		x.Add(a, b)
	case isa.Sub:
		x.Sub(a, b)
	case isa.Mul:
		x.Mul(a, b)
	case isa.Or:
		x.Or(a, b)
	case isa.And:
		x.And(a, b)
	case isa.Xor:
		x.Xor(a, b)
	case isa.Mov:
		x.Set(b)
	case isa.Neg:
		x.Neg(a)
	case isa.Lsh:
		x.Lsh(a, count)
	case isa.Rsh, isa.Arsh:
		x.Rsh(a, count)
	case isa.Div:
		if b.Sign() != 0 {
			x.Quo(a, b)
		}
	case isa.Mod:
		x.Set(a)
		if b.Sign() != 0 {
			x.Rem(a, b)
		}
	}
	return x.Mod(x, mod).Uint64()
}

// TestArithmetic executes each operation on many pairs of registers, those of
// division and shifts (RAX, RCX, RDX in native code) among them, and with constants
// of the awkward kind. No register but the destination may change (B01, B02, B03).
func TestArithmetic(t *testing.T) {
	codes := []uint8{isa.Add, isa.Sub, isa.Mul, isa.Div, isa.Or, isa.And, isa.Lsh, isa.Rsh, isa.Neg, isa.Mod, isa.Xor, isa.Mov, isa.Arsh}
	imms := []int32{0, 1, -1, 2, 3, 16, 31, 32, 33, 63, 64, 65, -0x80000000, 0x7fffffff, -7}
	var cases []isa.Insn
	for _, class := range []uint8{isa.ClassALU, isa.ClassALU64} {
		for _, code := range codes {
			offs := []int16{0}
			if code == isa.Div || code == isa.Mod {
				offs = []int16{0, 1}
			}
			for _, off := range offs {
				for n, imm := range imms {
					if code == isa.Neg {
						imm = 0
					}
					cases = append(cases, isa.New(class|code, uint8((n*3+int(code>>4))%isa.R10), 0, off, imm))
				}
				for pair := range 2 * isa.R10 {
					if code != isa.Neg {
						dst := pair % isa.R10
						cases = append(cases, isa.New(class|code|isa.SrcReg, uint8(dst), uint8((dst*7+pair/isa.R10*3)%isa.R10), off, 0))
					}
				}
				for _, pair := range [][2]uint8{{2, 3}, {3, 3}, {0, 0}, {0, 6}, {6, 0}, {5, 9}, {7, 8}, {5, 3}, {2, 9}} {
					if code != isa.Neg {
						cases = append(cases, isa.New(class|code|isa.SrcReg, pair[0], pair[1], off, 0))
					}
				}
			}
		}
	}
	eachEngine(t, func(t *testing.T, e Engine) {
		for _, in := range cases {
			want := patterns
			want[in.Dst()] = expected(in, patterns[in.Dst()], patterns[in.Src()%isa.R10])
			if got := observe(t, e, in); got != want {
				t.Errorf("%v: registers\n%s, want\n%s", in, hexes(got), hexes(want))
			}
		}
	})
}

func hexes(v [isa.R10]uint64) string {
	s := ""
	for r, x := range v {
		s += fmt.Sprintf("r%d=%016x ", r, x)
	}
	return s
}

// TestKeptRegisters: helpers and local calls keep r6 to r9 and r10, and helpers
// change r0 alone.
func TestKeptRegisters(t *testing.T) {
	text := `
		mov %r6, 6
		mov %r7, 7
		mov %r8, 8
		mov %r9, 9
		mov %r1, 11
		mov %r5, 55
		call 5
		jne %r0, 500, bad
		jne %r1, 11, bad
		jne %r5, 55, bad
		mov %r1, %r10
		call local f
		jne %r6, 6, bad
		jne %r7, 7, bad
		jne %r8, 8, bad
		jne %r9, 9, bad
		jne %r1, %r10, bad
		ldxdw %r0, [%r10-8]
		exit
	bad:
		mov %r0, -1
		exit
	f:
		mov %r6, 0
		mov %r7, 0
		mov %r8, 0
		mov %r9, 0
		mov %r2, %r1
		sub %r2, %r10
		stxdw [%r1-8], %r2   # the caller's frame, by pointer
		stdw [%r10-8], 77    # its own
		exit`
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, text, HelperSpec{5, "five", func(*Task) (uint64, bool) { return 500, true }})
		l.start(nil)
		if exit := l.task.Run(1000); exit != Done || l.task.Result() != 512 {
			t.Errorf("%v, r0 %d", exit, int64(l.task.Result()))
		}
	})
}
