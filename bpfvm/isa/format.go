package isa

// format.go: instructions as text, in the spelling that package asm reads back.
//
//	mov32 %r0, 7        ldxdw %r1, [%r10-8]      jne %r1, 0, +4
//	sdiv %r0, %r2       lock fetch add [%r2+0], %r3     call local +12

import "fmt"

// ALUName maps an arithmetic code to its mnemonic, without width or sign.
var ALUName = map[uint8]string{
	Add: "add", Sub: "sub", Mul: "mul", Div: "div", Or: "or", And: "and", Lsh: "lsh", Rsh: "rsh",
	Neg: "neg", Mod: "mod", Xor: "xor", Mov: "mov", Arsh: "arsh",
}

// JumpName maps a conditional jump code to its mnemonic, without width.
var JumpName = map[uint8]string{
	Jeq: "jeq", Jgt: "jgt", Jge: "jge", Jset: "jset", Jne: "jne", Jsgt: "jsgt", Jsge: "jsge",
	Jlt: "jlt", Jle: "jle", Jslt: "jslt", Jsle: "jsle",
}

// AtomicName maps an atomic operation to its mnemonic. The first four may carry
// AtomicFetch, spelled as the word "fetch" before the name.
var AtomicName = map[int32]string{
	AtomicAdd: "add", AtomicOr: "or", AtomicAnd: "and", AtomicXor: "xor",
	AtomicXchg: "xchg", AtomicCmpxchg: "cmpxchg",
}

// String gives the text of a single slot. An lddw shows its low half only; Format
// shows it whole. What is no instruction shows as its bytes.
func (i Insn) String() string {
	s := ""
	switch i.Class() {
	case ClassALU, ClassALU64:
		s = i.aluText()
	case ClassJMP, ClassJMP32:
		s = i.jumpText()
	default:
		s = i.memoryText()
	}
	if s == "" {
		return fmt.Sprintf(".raw % x", Append(nil, i))
	}
	return s
}

// Format gives one line per instruction of a program.
func Format(insns []Insn) []string {
	var out []string
	for k := 0; k < len(insns); k++ {
		in := insns[k]
		if in.Op == OpLDDW && in.Src() == 0 && k+1 < len(insns) {
			out = append(out, fmt.Sprintf("lddw %%r%d, %#x", in.Dst(), in.Imm64(insns[k+1])))
			k++
			continue
		}
		out = append(out, in.String())
	}
	return out
}

func (i Insn) aluText() string {
	w := ""
	if i.Class() == ClassALU {
		w = "32"
	}
	if i.Code() == End {
		return i.endText()
	}
	name := ALUName[i.Code()]
	switch {
	case name == "":
		return ""
	case i.Code() == Neg:
		return fmt.Sprintf("neg%s %%r%d", w, i.Dst())
	case i.Code() == Mov && i.UsesSrc() && i.Off != 0:
		to := "64"
		if w != "" {
			to = w
		}
		return fmt.Sprintf("movsx%d%s %%r%d, %%r%d", i.Off, to, i.Dst(), i.Src())
	case (i.Code() == Div || i.Code() == Mod) && i.Off == 1:
		name = "s" + name
	}
	return fmt.Sprintf("%s%s %%r%d, %s", name, w, i.Dst(), i.operand())
}

func (i Insn) endText() string {
	kind := "le"
	switch {
	case i.Class() == ClassALU64:
		kind = "bswap"
	case i.UsesSrc():
		kind = "be"
	}
	return fmt.Sprintf("%s%d %%r%d", kind, i.Imm, i.Dst())
}

func (i Insn) operand() string {
	if i.UsesSrc() {
		return fmt.Sprintf("%%r%d", i.Src())
	}
	return fmt.Sprint(i.Imm)
}

func (i Insn) jumpText() string {
	switch {
	case i.Op == OpJa:
		return fmt.Sprintf("ja %+d", i.Off)
	case i.Op == OpJa32:
		return fmt.Sprintf("ja32 %+d", i.Imm)
	case i.Op == OpExit:
		return "exit"
	case i.Op == OpCall && i.Src() == CallLocal:
		return fmt.Sprintf("call local %+d", i.Imm)
	case i.Op == OpCall|SrcReg:
		return fmt.Sprintf("call %%r%d", i.Dst())
	case i.Op == OpCall:
		return fmt.Sprintf("call %d", i.Imm)
	}
	name := JumpName[i.Code()]
	if name == "" {
		return ""
	}
	w := ""
	if i.Class() == ClassJMP32 {
		w = "32"
	}
	return fmt.Sprintf("%s%s %%r%d, %s, %+d", name, w, i.Dst(), i.operand(), i.Off)
}

var sizeSuffix = map[int]string{1: "b", 2: "h", 4: "w", 8: "dw"}

func (i Insn) memoryText() string {
	size := sizeSuffix[i.Width()]
	switch i.Op &^ sizeMask {
	case OpLDDW &^ sizeMask:
		if i.Op != OpLDDW {
			return ""
		}
		return fmt.Sprintf("lddw %%r%d, %#x", i.Dst(), uint32(i.Imm))
	case ClassLDX | ModeMEM:
		return fmt.Sprintf("ldx%s %%r%d, [%%r%d%+d]", size, i.Dst(), i.Src(), i.Off)
	case ClassLDX | ModeMEMSX:
		return fmt.Sprintf("ldxs%s %%r%d, [%%r%d%+d]", size, i.Dst(), i.Src(), i.Off)
	case ClassST | ModeMEM:
		return fmt.Sprintf("st%s [%%r%d%+d], %d", size, i.Dst(), i.Off, i.Imm)
	case ClassSTX | ModeMEM:
		return fmt.Sprintf("stx%s [%%r%d%+d], %%r%d", size, i.Dst(), i.Off, i.Src())
	case ClassSTX | ModeATOMIC:
		return i.atomicText()
	}
	return ""
}

func (i Insn) atomicText() string {
	name := AtomicName[i.Imm]
	if name == "" {
		// xchg and cmpxchg always fetch, and are spelled without saying so.
		if name = AtomicName[i.Imm&^AtomicFetch]; name != "" {
			name = "fetch " + name
		}
	}
	if name == "" || i.Width() < 4 {
		return ""
	}
	if i.Width() == 4 {
		name += "32"
	}
	return fmt.Sprintf("lock %s [%%r%d%+d], %%r%d", name, i.Dst(), i.Off, i.Src())
}
