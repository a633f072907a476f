package bpfvm

// verify.go: which fields each opcode may use. A field that an instruction does
// not use must be zero (RFC 9669, 3): code that sets one was made for another
// machine, or by mistake. This pass is about shape; memory safety is by
// construction at run time (see doc.go).

import (
	"fmt"

	"edge/bpfvm/isa"
)

// insnsMax is the number of instruction slots that one program may have.
const insnsMax = 1 << 16

// field is what may stand in one field of an instruction.
type field uint8

const (
	zero     field = iota // unused
	reads                 // a register, r10 included
	writes                // a register that is changed: not r10
	free                  // any value
	jump                  // a distance within the function
	signed                // 0 unsigned, 1 signed
	extend                // 0, or the bits kept of a 32-bit move: 8, 16
	extend4               // 0, or the bits kept of a 64-bit move: 8, 16, 32
	swap                  // 16, 32 or 64
	atomicOp              // an atomic operation
	call                  // source of a call: helper or local
)

// rule has one entry per field. An opcode without a rule is refused.
type rule struct {
	legal              bool
	dst, src, off, imm field
}

// rules is the table, indexed by opcode.
var rules = buildRules()

func buildRules() (t [256]rule) {
	set := func(op uint8, dst, src, off, imm field) { t[op] = rule{true, dst, src, off, imm} }
	addArithmeticRules(set)
	addJumpRules(set)
	addMemoryRules(set)
	return t
}

func addArithmeticRules(set func(op uint8, dst, src, off, imm field)) {
	for _, class := range []uint8{isa.ClassALU, isa.ClassALU64} {
		for _, code := range []uint8{isa.Add, isa.Sub, isa.Mul, isa.Or, isa.And, isa.Lsh, isa.Rsh, isa.Xor, isa.Arsh} {
			set(class|code|isa.SrcImm, writes, zero, zero, free)
			set(class|code|isa.SrcReg, writes, reads, zero, zero)
		}
		for _, code := range []uint8{isa.Div, isa.Mod} {
			set(class|code|isa.SrcImm, writes, zero, signed, free)
			set(class|code|isa.SrcReg, writes, reads, signed, zero)
		}
		set(class|isa.Mov|isa.SrcImm, writes, zero, zero, free)
		set(class|isa.Neg, writes, zero, zero, zero)
		set(class|isa.End, writes, zero, zero, swap)
	}
	set(isa.ClassALU|isa.End|isa.SrcReg, writes, zero, zero, swap)
	set(isa.ClassALU|isa.Mov|isa.SrcReg, writes, reads, extend, zero)
	set(isa.ClassALU64|isa.Mov|isa.SrcReg, writes, reads, extend4, zero)
}

func addJumpRules(set func(op uint8, dst, src, off, imm field)) {
	for code := range isa.JumpName {
		for _, class := range []uint8{isa.ClassJMP, isa.ClassJMP32} {
			set(class|code|isa.SrcImm, reads, zero, jump, free)
			set(class|code|isa.SrcReg, reads, reads, jump, zero)
		}
	}
	set(isa.OpJa, zero, zero, jump, zero)
	set(isa.OpJa32, zero, zero, zero, jump)
	set(isa.OpCall, zero, call, zero, free)
	set(isa.OpExit, zero, zero, zero, zero)
}

func addMemoryRules(set func(op uint8, dst, src, off, imm field)) {
	for _, size := range []uint8{isa.SizeB, isa.SizeH, isa.SizeW, isa.SizeDW} {
		set(isa.ClassLDX|isa.ModeMEM|size, writes, reads, free, zero)
		set(isa.ClassST|isa.ModeMEM|size, reads, zero, free, free)
		set(isa.ClassSTX|isa.ModeMEM|size, reads, reads, free, zero)
		if size != isa.SizeDW {
			set(isa.ClassLDX|isa.ModeMEMSX|size, writes, reads, free, zero)
		}
	}
	// r10 as the operand of an atomic is refused: half of the operations would
	// write it.
	set(isa.OpAtomicW, reads, writes, free, atomicOp)
	set(isa.OpAtomic, reads, writes, free, atomicOp)
	// The second slot of an lddw is checked in verifyWide.
	set(isa.OpLDDW, writes, zero, zero, free)
}

// fault is a refusal at one instruction, before the loader adds where that is.
type fault struct {
	insn   int
	reason string
}

func faultf(insn int, format string, args ...any) *fault {
	return &fault{insn, fmt.Sprintf(format, args...)}
}

// verifyFields checks every instruction by itself and returns the second slots
// of lddw, which no jump may enter.
func verifyFields(insns []isa.Insn) (second []bool, bad *fault) {
	if len(insns) == 0 || len(insns) > insnsMax {
		return nil, faultf(0, "program has %d instructions, not 1 to %d", len(insns), insnsMax)
	}
	second = make([]bool, len(insns))
	for i, in := range insns {
		if second[i] {
			continue
		}
		if bad := verifyInsn(i, in); bad != nil {
			return nil, bad
		}
		if in.Op == isa.OpLDDW {
			if bad := verifyWide(i, insns); bad != nil {
				return nil, bad
			}
			second[i+1] = true
		}
	}
	return second, nil
}

func verifyWide(i int, insns []isa.Insn) *fault {
	if i+1 == len(insns) {
		return faultf(i, "lddw lacks its second half")
	}
	if next := insns[i+1]; next.Op != 0 || next.Regs != 0 || next.Off != 0 {
		return faultf(i+1, "second half of lddw has fields other than the immediate")
	}
	return nil
}

func verifyInsn(i int, in isa.Insn) *fault {
	r := rules[in.Op]
	if !r.legal {
		return faultf(i, "opcode %#02x is not an instruction of this machine", in.Op)
	}
	checks := [4]struct {
		name string
		want field
		have int32
	}{
		{"destination", r.dst, int32(in.Dst())},
		{"source", r.src, int32(in.Src())},
		{"offset", r.off, int32(in.Off)},
		{"immediate", r.imm, in.Imm},
	}
	for _, c := range checks {
		if why := c.want.refuses(c.have); why != "" {
			return faultf(i, "%s %d: %s", c.name, c.have, why)
		}
	}
	return nil
}

// refuses says what is wrong with value v in a field, or nothing.
func (f field) refuses(v int32) string {
	switch f {
	case zero:
		return unless(v == 0, "field is unused and must be zero")
	case reads:
		return unless(v < isa.Registers, "no such register")
	case writes:
		return unless(v < isa.R10, "not a register that can be written")
	case signed:
		return unless(v == 0 || v == 1, "must be 0 or 1")
	case extend:
		return unless(v == 0 || v == 8 || v == 16, "must be 0, 8 or 16")
	case extend4:
		return unless(v == 0 || v == 8 || v == 16 || v == 32, "must be 0, 8, 16 or 32")
	case swap:
		return unless(v == 16 || v == 32 || v == 64, "must be 16, 32 or 64")
	case atomicOp:
		return unless(isAtomicOp(v), "not an atomic operation")
	case call:
		return unless(v == isa.CallHelper || v == isa.CallLocal, "not a kind of call")
	}
	return ""
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

// isAtomicOp lists RFC 9669, 5.3: exchange and compare always fetch.
func isAtomicOp(imm int32) bool {
	switch imm {
	case isa.AtomicAdd, isa.AtomicOr, isa.AtomicAnd, isa.AtomicXor,
		isa.AtomicAdd | isa.AtomicFetch, isa.AtomicOr | isa.AtomicFetch,
		isa.AtomicAnd | isa.AtomicFetch, isa.AtomicXor | isa.AtomicFetch,
		isa.AtomicXchg, isa.AtomicCmpxchg:
		return true
	}
	return false
}

// frameAccess reports a load or store at a constant offset from r10: the one
// kind whose bounds are settled here, so that the compiler leaves out the check.
func frameAccess(in isa.Insn) bool {
	return in.IsLoad() && in.Src() == isa.R10 ||
		in.IsStore() && in.Dst() == isa.R10
}

// verifyFrame refuses accesses outside the 512 bytes below r10. An unaligned
// atomic is refused too, as it would be at run time.
func verifyFrame(insns []isa.Insn, second []bool) *fault {
	for i, in := range insns {
		if second[i] || !frameAccess(in) {
			continue
		}
		off, width := int(in.Off), in.Width()
		if off < -isa.StackFrameBytes || off+width > 0 {
			return faultf(i, "%d bytes at r10%+d are outside the stack frame of %d bytes", width, off, isa.StackFrameBytes)
		}
		if in.IsAtomic() && off%width != 0 {
			return faultf(i, "atomic access at r10%+d is not aligned to %d bytes", off, width)
		}
	}
	return nil
}
