package bpfvm

// jit_call_amd64.go: helpers, local calls, exit. A local call keeps what its
// callee will change of r6 to r9, and the place to return to, in state.frames:
// neither the goroutine's stack nor memory that the guest can reach. Two deep:
//
//	state.frames        arena
//	+-----------+       +------------------+ stackEnd = r10 of the entry
//	| ret, r6…  | [0]   | entry: 512 bytes |
//	+-----------+       +------------------+
//	| ret, r6…  | [1]   | f: 512 bytes     |
//	+-----------+       +------------------+ r10 now
//	|           | <-+   | g: 512 bytes     |
//	               |    +------------------+
//	        state.depth = 2 × frameBytes

import (
	"unsafe"

	"edge/bpfvm/amd64"
	"edge/bpfvm/isa"
)

func (c *compiler) call(i int, in isa.Insn) {
	if in.Src() == isa.CallLocal {
		c.callLocal(i, in)
	} else {
		c.callHelper(i, in)
	}
}

// callHelper leaves; the program is entered again behind the call, with the
// result in r0 and every other register as it was.
func (c *compiler) callHelper(i int, in isa.Insn) {
	paid := c.NewLabel()
	c.charge(weightHelper, paid)
	c.Bind(paid)
	c.StoreImm(4, fieldHelper, in.Imm)
	c.StoreImm(4, fieldPC, int32(i))
	next := c.NewLabel()
	c.LeaLabel(amd64.RDX, next)
	c.Jmp(c.exits.helper)
	c.Bind(next)
}

// frameField returns a field of the state.frames entry whose distance from the
// first is in RCX.
func frameField(off uintptr) amd64.Mem {
	m := stateField(unsafe.Offsetof(state{}.frames) + off)
	m.Index = amd64.RCX
	return m
}

var frameReturn = frameField(unsafe.Offsetof(frame{}.ret))

func frameSaved(r uint8) amd64.Mem {
	return frameField(unsafe.Offsetof(frame{}.saved) + uintptr(8*(r-isa.R6)))
}

func (c *compiler) callLocal(i int, in isa.Insn) {
	to, _ := callTarget(i, in)
	callee := &c.p.flow.functions[c.p.flow.byStart[to]]
	paid := c.NewLabel()
	c.charge(callee.weight, paid)
	c.Bind(paid)
	c.Load(8, amd64.RCX, fieldDepth)
	c.AluImm(amd64.CMP, 8, amd64.RCX, int32(uint64(c.p.flow.frames-1)*frameBytes))
	c.trapIf(amd64.AboveEqual, i, c.exits.depth)
	for _, r := range callee.saved {
		c.Store(8, frameSaved(r), nativeReg[r])
	}
	back := c.NewLabel()
	c.LeaLabel(amd64.RDX, back)
	c.Store(8, frameReturn, amd64.RDX)
	c.AluImm(amd64.ADD, 8, amd64.RCX, int32(frameBytes))
	c.Store(8, fieldDepth, amd64.RCX)
	c.AluImm(amd64.SUB, 8, nativeReg[isa.R10], stackFrame)
	c.Jmp(c.heads[to])
	c.Bind(back)
}

// exit ends the program in the entry function, and else returns. An entry that is
// called as well has to look which it is.
func (c *compiler) exit(fn int) {
	f := &c.p.flow.functions[fn]
	if fn == 0 && !c.entryIsCalled() {
		c.Jmp(c.exits.done)
		return
	}
	c.Load(8, amd64.RCX, fieldDepth)
	if fn == 0 {
		c.Test(8, amd64.RCX, amd64.RCX)
		c.Jcc(amd64.Equal, c.exits.done)
	}
	c.AluImm(amd64.SUB, 8, amd64.RCX, int32(frameBytes))
	c.Store(8, fieldDepth, amd64.RCX)
	for _, r := range f.saved {
		c.Load(8, nativeReg[r], frameSaved(r))
	}
	c.AluImm(amd64.ADD, 8, nativeReg[isa.R10], stackFrame)
	c.JmpMem(frameReturn)
}

func (c *compiler) entryIsCalled() bool {
	for _, f := range c.p.flow.functions {
		for _, callee := range f.calls {
			if callee == 0 {
				return true
			}
		}
	}
	return false
}
