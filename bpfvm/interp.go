package bpfvm

// interp.go: the reference. One instruction at a time, every access through
// load and store below. What it does, native code must do: the two are run side
// by side on random programs.
//
// state.resume holds the slot to go on with, times four, plus which of the charges
// due there have been paid.

import (
	"encoding/binary"

	"edge/bpfvm/isa"
)

// What has been paid for at a slot: a loop head that is a call as well is charged
// twice, and may run out of budget at either.
const (
	paidNothing = iota
	paidLoop
	paidCall
)

func resumeAt(pc int, paid uint64) uint64 { return uint64(pc)<<2 | paid }

// machine is the interpreter's view of a run.
type machine struct {
	*state
	mem    []byte
	mask   uint64
	stack  uint64 // offset from which stores are allowed
	insns  []isa.Insn
	flow   *flow
	paid   uint64 // at the slot being executed
	failed exitCode
}

// interpret runs until an exit, which it stores in the state.
func (p *Program) interpret(a *arena) {
	l := &p.object.layout
	m := machine{state: a.st, mem: a.mem, mask: uint64(l.size) - 1, stack: uint64(l.stack), insns: p.insns, flow: p.flow}
	pc := int(m.resume >> 2)
	m.paid = m.resume & 3
	for {
		if cost := p.flow.loopCost[pc]; cost != 0 && !m.charge(pc, cost, paidLoop) {
			return
		}
		next, more := m.step(pc)
		if !more {
			return
		}
		pc, m.paid = next, paidNothing
	}
}

// charge pays for going on at pc unless that is done, or leaves.
func (m *machine) charge(pc int, cost int32, what uint64) bool {
	if m.paid >= what {
		return true
	}
	m.budget -= int64(cost)
	if m.budget >= 0 {
		return true
	}
	m.exit, m.resume = exitBudget, resumeAt(pc, what)
	return false
}

// step executes one instruction and returns the next slot, or false to leave.
func (m *machine) step(pc int) (next int, more bool) {
	in := m.insns[pc]
	switch in.Class() {
	case isa.ClassALU64:
		m.regs[in.Dst()] = alu64(in, m.regs[in.Dst()], m.operand(in))
	case isa.ClassALU:
		m.regs[in.Dst()] = alu(in, m.regs[in.Dst()], m.operand(in))
	case isa.ClassJMP, isa.ClassJMP32:
		return m.jump(pc, in)
	case isa.ClassLD:
		m.regs[in.Dst()] = in.Imm64(m.insns[pc+1])
		return pc + 2, true
	case isa.ClassLDX:
		v, ok := m.load(m.regs[in.Src()]+uint64(int64(in.Off)), in)
		if !ok {
			return m.trap(pc)
		}
		m.regs[in.Dst()] = v
	default:
		if !m.storeInsn(in) {
			return m.trap(pc)
		}
	}
	return pc + 1, true
}

func (m *machine) trap(pc int) (int, bool) {
	m.exit, m.pc = m.failed, uint32(pc)
	return 0, false
}

// operand is the source register or the sign-extended immediate.
func (m *machine) operand(in isa.Insn) uint64 {
	if in.UsesSrc() {
		return m.regs[in.Src()]
	}
	return uint64(int64(in.Imm))
}

func (m *machine) jump(pc int, in isa.Insn) (int, bool) {
	switch in.Op {
	case isa.OpCall:
		if in.Src() == isa.CallLocal {
			return m.call(pc, in)
		}
		return m.helperCall(pc, in)
	case isa.OpExit:
		return m.ret()
	}
	delta, _ := in.Jump()
	if in.Falls() && !m.taken(in) {
		delta = 0
	}
	return pc + 1 + delta, true
}

func (m *machine) taken(in isa.Insn) bool {
	a, b := m.regs[in.Dst()], m.operand(in)
	if in.Class() == isa.ClassJMP32 {
		// Sign-extended on both sides, 32-bit numbers compare alike in 64 bits,
		// signed and unsigned.
		a, b = signExtend(a, 32), signExtend(b, 32)
	}
	switch in.Code() {
	case isa.Jeq:
		return a == b
	case isa.Jne:
		return a != b
	case isa.Jgt:
		return a > b
	case isa.Jge:
		return a >= b
	case isa.Jlt:
		return a < b
	case isa.Jle:
		return a <= b
	case isa.Jset:
		return a&b != 0
	case isa.Jsgt:
		return int64(a) > int64(b)
	case isa.Jsge:
		return int64(a) >= int64(b)
	case isa.Jslt:
		return int64(a) < int64(b)
	}
	return int64(a) <= int64(b) // isa.Jsle
}

func (m *machine) helperCall(pc int, in isa.Insn) (int, bool) {
	if !m.charge(pc, weightHelper, paidCall) {
		return 0, false
	}
	m.exit, m.helper, m.pc = exitHelper, uint32(in.Imm), uint32(pc)
	m.resume = resumeAt(pc+1, paidNothing)
	return 0, false
}

func (m *machine) call(pc int, in isa.Insn) (int, bool) {
	to := pc + 1 + int(in.Imm)
	fn := &m.flow.functions[m.flow.byStart[to]]
	if !m.charge(pc, fn.weight, paidCall) {
		return 0, false
	}
	if m.depth == uint64(m.flow.frames-1)*frameBytes {
		m.failed = exitDepth
		return m.trap(pc)
	}
	f := &m.frames[m.depth/frameBytes]
	f.ret = uint64(pc + 1)
	copy(f.saved[:], m.regs[isa.R6:isa.R10])
	m.depth += frameBytes
	m.regs[isa.R10] -= stackFrame
	return to, true
}

func (m *machine) ret() (int, bool) {
	if m.depth == 0 {
		m.exit = exitDone
		return 0, false
	}
	m.depth -= frameBytes
	f := &m.frames[m.depth/frameBytes]
	copy(m.regs[isa.R6:isa.R10], f.saved[:])
	m.regs[isa.R10] += stackFrame
	return int(f.ret), true
}

// load checks a load's bounds and makes it.
func (m *machine) load(addr uint64, in isa.Insn) (uint64, bool) {
	width := in.Width()
	off := addr - guestBase
	if off > m.loadLimit[widthIndex(width)] {
		m.failed, m.addr = exitLoad, addr
		return 0, false
	}
	b := m.mem[off&m.mask:]
	sign := in.Mode() == isa.ModeMEMSX
	var v uint64
	switch width {
	case 1:
		v = uint64(b[0])
	case 2:
		v = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		v = uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b), true
	}
	if sign {
		v = signExtend(v, int16(8*width))
	}
	return v, true
}

// storeOffset checks a store's bounds and returns its offset from the anchor.
func (m *machine) storeOffset(addr uint64, width int) (uint64, bool) {
	off := addr - guestBase - m.stack
	if off > m.storeLimit[widthIndex(width)] {
		m.failed, m.addr = exitStore, addr
		return 0, false
	}
	return off&m.mask + m.stack, true
}

func (m *machine) storeInsn(in isa.Insn) bool {
	addr := m.regs[in.Dst()] + uint64(int64(in.Off))
	off, ok := m.storeOffset(addr, in.Width())
	if !ok {
		return false
	}
	v := m.regs[in.Src()]
	switch {
	case in.IsAtomic():
		return m.atomicInsn(in, addr, off)
	case in.Class() == isa.ClassST:
		v = uint64(int64(in.Imm))
	}
	b := m.mem[off:]
	switch in.Width() {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(b, v)
	}
	return true
}
