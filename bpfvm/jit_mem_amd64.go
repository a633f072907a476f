package bpfvm

// jit_mem_amd64.go: loads, stores, atomics. An access at [reg+off] is
//
//	lea  rcx, [reg + off - start]     offset in the range that may be accessed
//	cmp  rcx, [limit for the width]   state.loadLimit, state.storeLimit
//	ja   trap
//	and  ecx, size of the arena - 1   holds a speculating processor
//	mov  …, [r12 + rcx + …]
//
// where start is the arena's for loads and the stack's for stores. At constant
// offsets from r10, verifyFrame has done all of that.

import (
	"edge/bpfvm/amd64"
	"edge/bpfvm/isa"
)

// address checks the access that in makes at a register, and returns its operand.
func (c *compiler) address(i int, in isa.Insn, reg uint8) amd64.Mem {
	if reg == isa.R10 {
		return amd64.Mem{Base: anchorReg, Index: nativeReg[reg], Disp: int32(in.Off) - guestBase}
	}
	limit, start, exit := fieldLoads, int32(0), c.exits.load
	if in.IsStore() {
		limit, start, exit = fieldStores, int32(c.l.stack), c.exits.store
	}
	c.Lea(amd64.RCX, amd64.Mem{Base: nativeReg[reg], Index: amd64.NoIndex, Disp: int32(in.Off) - guestBase - start})
	c.AluLoad(amd64.CMP, 8, amd64.RCX, limit(widthIndex(in.Width())))
	c.trapIf(amd64.Above, i, exit)
	c.AluImm(amd64.AND, 4, amd64.RCX, int32(c.l.size-1))
	return amd64.Mem{Base: anchorReg, Index: amd64.RCX, Disp: start}
}

// trapIf leaves by a trap's exit if the condition holds.
func (c *compiler) trapIf(cond amd64.Cond, i int, exit amd64.Label) {
	l := c.NewLabel()
	c.Jcc(cond, l)
	c.later(func() {
		c.Bind(l)
		c.MovImm32(amd64.RDX, uint32(i))
		c.Jmp(exit)
	})
}

func (c *compiler) load(i int, in isa.Insn) {
	m := c.address(i, in, in.Src())
	dst, size := nativeReg[in.Dst()], amd64.Size(in.Width())
	if in.Mode() == isa.ModeMEMSX {
		c.LoadSigned(size, dst, m)
	} else {
		c.Load(size, dst, m)
	}
}

func (c *compiler) store(i int, in isa.Insn) {
	m := c.address(i, in, in.Dst())
	size, src := amd64.Size(in.Width()), nativeReg[in.Src()%isa.Registers]
	switch {
	case in.IsAtomic():
		if in.Dst() != isa.R10 {
			// Region starts are aligned, so the offset is aligned as the address is.
			c.TestImm(4, amd64.RCX, int32(size)-1)
			c.trapIf(amd64.NotEqual, i, c.exits.align)
		}
		c.atomic(in, size, m, src)
	case in.Class() == isa.ClassST:
		c.StoreImm(size, m, in.Imm)
	default:
		c.Store(size, m, src)
	}
}

func (c *compiler) atomic(in isa.Insn, size amd64.Size, m amd64.Mem, src amd64.Reg) {
	fetch := in.Imm&isa.AtomicFetch != 0
	switch {
	case in.Imm == isa.AtomicXchg:
		c.XchgMem(size, m, src)
	case in.Imm == isa.AtomicCmpxchg:
		c.LockCmpxchg(size, m, src)
		if size == 4 {
			c.Mov(4, amd64.RAX, amd64.RAX) // untouched if the comparison held
		}
	case !fetch:
		c.LockAlu(atomicOps[in.Imm], size, m, src)
	case in.Imm == isa.AtomicAdd|isa.AtomicFetch:
		c.LockXadd(size, m, src)
	default:
		c.fetchLoop(atomicOps[in.Imm&^isa.AtomicFetch], size, m, src)
	}
}

var atomicOps = map[int32]amd64.Op{
	isa.AtomicAdd: amd64.ADD, isa.AtomicOr: amd64.OR, isa.AtomicAnd: amd64.AND, isa.AtomicXor: amd64.XOR,
}

// fetchLoop is or, and, xor with the old value fetched, for which the processor
// has no instruction. RAX holds the old value, r0 meanwhile is in state.spill.
func (c *compiler) fetchLoop(op amd64.Op, size amd64.Size, m amd64.Mem, src amd64.Reg) {
	c.Store(8, fieldSpill, amd64.RAX)
	c.Load(size, amd64.RAX, m)
	again := c.NewLabel()
	c.Bind(again)
	c.Mov(size, amd64.RDX, amd64.RAX)
	if src == amd64.RAX {
		c.AluLoad(op, size, amd64.RDX, fieldSpill)
	} else {
		c.Alu(op, size, amd64.RDX, src)
	}
	c.LockCmpxchg(size, m, amd64.RDX)
	c.Jcc(amd64.NotEqual, again)
	if src != amd64.RAX {
		c.Mov(size, src, amd64.RAX)
		c.Load(8, amd64.RAX, fieldSpill)
	}
}
