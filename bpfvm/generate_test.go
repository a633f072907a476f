package bpfvm

// generate_test.go: random programs that the verifier accepts, made out of a byte
// string, so that the fuzzer's changes to the string are changes to the program.

import (
	"edge/bpfvm/isa"
)

// generator turns bytes into a program; when they run out, it ends.
type generator struct {
	src   []byte
	insns []isa.Insn
	jumps []int // slots whose targets are chosen at the end
	calls []int
	begin []int // function starts
}

func (g *generator) more() bool { return len(g.src) > 0 }

func (g *generator) byte() uint8 {
	if len(g.src) == 0 {
		return 0
	}
	b := g.src[0]
	g.src = g.src[1:]
	return b
}

func (g *generator) pick(n int) int { return int(g.byte()) % n }

func (g *generator) reg() uint8 { return uint8(g.pick(isa.R10)) }

// value is a constant of the kind that breaks things.
func (g *generator) value() int32 {
	interesting := []int32{0, 1, -1, 2, 3, 7, 8, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 512, -8, -512, 4096,
		0x7fffffff, -0x80000000, 0x10000, 0x10008, 0xffff, 0x20000, -0x10000}
	b := g.byte()
	if b < 200 {
		return interesting[int(b)%len(interesting)]
	}
	return int32(uint32(g.byte()) | uint32(g.byte())<<8 | uint32(g.byte())<<16 | uint32(g.byte())<<24)
}

func (g *generator) add(in isa.Insn) { g.insns = append(g.insns, in) }

// generate makes up to four functions.
func generate(src []byte) []isa.Insn {
	g := &generator{src: src}
	functions := 1 + g.pick(4)
	for n := range functions {
		g.begin = append(g.begin, len(g.insns))
		jumps := len(g.jumps)
		for range g.pick(6) {
			g.constant()
		}
		length := 4 + g.pick(60)
		for k := 0; k < length && g.more(); k++ {
			g.step()
		}
		if n == functions-1 || g.byte() < 250 {
			g.add(isa.New(isa.OpExit, 0, 0, 0, 0))
		} else {
			g.jumps = append(g.jumps, len(g.insns))
			g.add(isa.New(isa.OpJa, 0, 0, 0, 0))
		}
		g.aim(g.jumps[jumps:], g.begin[n])
	}
	for _, at := range g.calls {
		to := g.begin[g.pick(len(g.begin))]
		g.insns[at].Imm = int32(to - at - 1)
	}
	return g.insns
}

// aim gives each jump a target in the function that starts at begin.
func (g *generator) aim(jumps []int, begin int) {
	var starts []int
	for i := begin; i < len(g.insns); i++ {
		starts = append(starts, i)
		if g.insns[i].Op == isa.OpLDDW {
			i++
		}
	}
	for _, at := range jumps {
		to := starts[(int(g.byte())|int(g.byte())<<8)%len(starts)]
		if g.insns[at].Op == isa.OpJa32 {
			g.insns[at].Imm = int32(to - at - 1)
		} else {
			g.insns[at].Off = int16(to - at - 1)
		}
	}
}

// step adds one or two instructions. Wild accesses are rare: most end the program.
func (g *generator) step() {
	switch kind := g.pick(48); {
	case kind < 18:
		g.arithmetic()
	case kind < 22:
		g.conditional()
	case kind < 23:
		g.jumps = append(g.jumps, len(g.insns))
		g.add(isa.New([]uint8{isa.OpJa, isa.OpJa32}[g.pick(2)], 0, 0, 0, 0))
	case kind < 28:
		g.frame()
	case kind < 29:
		g.memory(g.reg(), int16(int8(g.byte())))
	case kind < 36:
		g.pointer()
	case kind < 40:
		g.constant()
	case kind < 42:
		g.add(isa.New(isa.OpMovReg, g.reg(), uint8(g.pick(isa.Registers)), 0, 0))
	case kind < 44:
		g.add(isa.New(isa.OpCall, 0, isa.CallHelper, 0, int32(5+g.pick(2))))
	case kind < 45:
		g.calls = append(g.calls, len(g.insns))
		g.add(isa.New(isa.OpCall, 0, isa.CallLocal, 0, 0))
	case kind < 46:
		g.fill()
	default:
		if g.byte() < 32 {
			g.add(isa.New(isa.OpExit, 0, 0, 0, 0))
		}
	}
}

// fill calls the helper that writes to the stack.
func (g *generator) fill() {
	g.add(isa.New(isa.OpMovReg, isa.R1, isa.R10, 0, 0))
	g.add(isa.New(isa.ClassALU64|isa.Add, isa.R1, 0, 0, -64))
	g.add(isa.New(isa.OpCall, 0, isa.CallHelper, 0, 7))
}

func (g *generator) arithmetic() {
	class := []uint8{isa.ClassALU, isa.ClassALU64}[g.pick(2)]
	code := uint8(g.pick(14)) << 4
	in := isa.New(class|code, g.reg(), 0, 0, 0)
	register := g.pick(2) == 0
	switch code {
	case isa.Neg:
	case isa.End:
		in.Imm = []int32{16, 32, 64}[g.pick(3)]
		if class == isa.ClassALU && register {
			in.Op |= isa.SrcReg
		}
	default:
		if register {
			in.Op |= isa.SrcReg
			in.Regs |= uint8(g.pick(isa.Registers)) << 4
		} else {
			in.Imm = g.value()
		}
		if code == isa.Div || code == isa.Mod {
			in.Off = int16(g.pick(2))
		}
		if code == isa.Mov && register {
			in.Off = []int16{0, 8, 16, 32}[g.pick(3+int(class>>1&1))]
		}
	}
	g.add(in)
}

func (g *generator) conditional() {
	codes := []uint8{isa.Jeq, isa.Jgt, isa.Jge, isa.Jset, isa.Jne, isa.Jsgt, isa.Jsge, isa.Jlt, isa.Jle, isa.Jslt, isa.Jsle}
	class := []uint8{isa.ClassJMP, isa.ClassJMP32}[g.pick(2)]
	in := isa.New(class|codes[g.pick(len(codes))], uint8(g.pick(isa.Registers)), 0, 0, 0)
	if g.pick(2) == 0 {
		in.Op |= isa.SrcReg
		in.Regs |= uint8(g.pick(isa.Registers)) << 4
	} else {
		in.Imm = g.value()
	}
	g.jumps = append(g.jumps, len(g.insns))
	g.add(in)
}

// frame is an access at a constant offset from r10.
func (g *generator) frame() {
	g.memory(isa.R10, -8*int16(1+g.pick(64)))
}

// memory is an access of any kind through a register.
func (g *generator) memory(base uint8, off int16) {
	sizes := []uint8{isa.SizeB, isa.SizeH, isa.SizeW, isa.SizeDW}
	size := sizes[g.pick(4)]
	switch g.pick(6) {
	case 0, 1:
		g.add(isa.New(isa.ClassLDX|isa.ModeMEM|size, g.reg(), base, off, 0))
	case 2:
		g.add(isa.New(isa.ClassLDX|isa.ModeMEMSX|sizes[g.pick(3)], g.reg(), base, off, 0))
	case 3:
		g.add(isa.New(isa.ClassST|isa.ModeMEM|size, base, 0, off, g.value()))
	case 4:
		g.add(isa.New(isa.ClassSTX|isa.ModeMEM|size, base, uint8(g.pick(isa.Registers)), off, 0))
	case 5:
		ops := []int32{isa.AtomicAdd, isa.AtomicOr, isa.AtomicAnd, isa.AtomicXor, 1, 0x41, 0x51, 0xa1, isa.AtomicXchg, isa.AtomicCmpxchg}
		g.add(isa.New([]uint8{isa.OpAtomic, isa.OpAtomicW}[g.pick(2)], base, g.reg(), off, ops[g.pick(len(ops))]))
	}
}

// pointer makes an address near the start or end of something, and an access there.
func (g *generator) pointer() {
	r := g.reg()
	switch g.pick(8) {
	case 0:
		g.lddw(r, guestBase+uint64(g.byte())*64+uint64(g.pick(9)))
	case 1:
		g.add(isa.New(isa.OpMovReg, r, isa.R1, 0, 0))
	default:
		g.add(isa.New(isa.OpMovReg, r, isa.R10, 0, 0))
		g.add(isa.New(isa.ClassALU64|isa.Add, r, 0, 0, -8*int32(1+g.pick(60))))
	}
	off := int16(0)
	if g.pick(8) == 0 {
		off = int16(g.pick(9)) - 4
	}
	g.memory(r, off)
}

func (g *generator) constant() {
	v := uint64(uint32(g.value())) | uint64(uint32(g.value()))<<32
	if g.pick(3) == 0 {
		v = ^uint64(0) - uint64(g.byte())
	}
	g.lddw(g.reg(), v)
}

func (g *generator) lddw(dst uint8, v uint64) {
	two := isa.LDDW(dst, v)
	g.insns = append(g.insns, two[:]...)
}
