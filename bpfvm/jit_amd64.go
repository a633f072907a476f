package bpfvm

// jit_amd64.go: the compiler's driver, jumps and exits. One pass over the program,
// one piece of code per instruction; what is seldom reached (traps, running out of
// budget, division by zero) is put behind the program so that the common way is
// straight.
//
// Registers. r0 is RAX because compare-and-exchange and division want it there;
// RCX and RDX are scratch because shifts and division want those.
//
//	r0  RAX    r1 RDI   r2 RSI   r3 R8    r4 R9    r5  R10
//	r6  RBX    r7 R13   r8 R14   r9 R15   r10 RBP
//	R12 the anchor: state below it, arena above (context.go)
//	R11 budget left
//	RSP the goroutine's stack, never used but by the return at the end
//
// The Go runtime neither preempts code that it does not know, nor unwinds through
// it, nor looks at R14 and R15 there: a signal's handler runs on its own stack and
// finds g through the thread. So native code needs no stack of its own.

import (
	"fmt"
	"unsafe"

	"edge/bpfvm/amd64"
	"edge/bpfvm/isa"
)

var nativeReg = [isa.Registers]amd64.Reg{
	amd64.RAX, amd64.RDI, amd64.RSI, amd64.R8, amd64.R9, amd64.R10,
	amd64.RBX, amd64.R13, amd64.R14, amd64.R15, amd64.RBP,
}

const (
	anchorReg = amd64.R12
	budgetReg = amd64.R11
)

// nativeCodeMax bounds the code of one program: about twenty bytes an
// instruction are usual.
const nativeCodeMax = 16 << 20

// nativeCode is a program's compiled form.
type nativeCode struct {
	mem []byte // executable
}

// compileNative makes the program's native code.
func (p *Program) compileNative() error {
	code, err := emitProgram(p)
	if err != nil {
		return err
	}
	p.native.mem, err = executable(code)
	return err
}

// entry is where Start enters: a state's resume.
func (p *Program) entry() uint64 {
	if p.native.mem == nil {
		return resumeAt(0, paidNothing)
	}
	return uint64(addressOf(p.native.mem))
}

// enter executes from state.resume to the next exit.
func (p *Program) enter(a *arena) {
	if p.native.mem == nil {
		p.interpret(a)
		return
	}
	enterNative(a.anchor)
}

// enterNative loads the registers from the state below anchor, calls state.resume
// and comes back when native code has stored them again.
//
//go:noescape
func enterNative(anchor uintptr)

// compiler holds one compilation.
type compiler struct {
	amd64.Assembler
	p     *Program
	l     *layout
	slots []amd64.Label // of each instruction, behind its loop charge
	heads []amd64.Label // of each loop head, before its charge
	cold  []func()      // code to be put behind the program

	exits struct{ done, helper, budget, load, store, align, depth, leave amd64.Label }
}

func emitProgram(p *Program) ([]byte, error) {
	c := &compiler{p: p, l: &p.object.layout, slots: make([]amd64.Label, len(p.insns)), heads: make([]amd64.Label, len(p.insns))}
	for i := range c.slots {
		c.slots[i] = c.NewLabel()
		c.heads[i] = c.slots[i]
		if p.flow.loopCost[i] != 0 {
			c.heads[i] = c.NewLabel()
		}
	}
	e := &c.exits
	for _, l := range []*amd64.Label{&e.done, &e.helper, &e.budget, &e.load, &e.store, &e.align, &e.depth, &e.leave} {
		*l = c.NewLabel()
	}
	for n := range p.flow.functions {
		c.function(n)
	}
	for len(c.cold) > 0 {
		emit := c.cold[0]
		c.cold = c.cold[1:]
		emit()
	}
	c.exitCode()
	if c.Len() > nativeCodeMax {
		return nil, fmt.Errorf("%d bytes of native code are more than nativeCodeMax %d", c.Len(), nativeCodeMax)
	}
	return c.Finish(), nil
}

func (c *compiler) function(n int) {
	fn := &c.p.flow.functions[n]
	for i := fn.start; i < fn.end; i++ {
		if c.p.flow.second[i] {
			c.Bind(c.slots[i]) // no jump goes there
			continue
		}
		if cost := c.p.flow.loopCost[i]; cost != 0 {
			c.Bind(c.heads[i])
			c.charge(cost, c.slots[i])
		}
		c.Bind(c.slots[i])
		c.insn(i, n)
	}
}

// charge takes cost from the budget. Out of budget, the program leaves and later
// goes on at after, which the caller binds behind the charge.
func (c *compiler) charge(cost int32, after amd64.Label) {
	c.AluImm(amd64.SUB, 8, budgetReg, cost)
	out := c.NewLabel()
	c.Jcc(amd64.Less, out)
	c.later(func() {
		c.Bind(out)
		c.LeaLabel(amd64.RDX, after)
		c.Jmp(c.exits.budget)
	})
}

func (c *compiler) later(emit func()) { c.cold = append(c.cold, emit) }

func (c *compiler) insn(i, fn int) {
	in := c.p.insns[i]
	switch in.Class() {
	case isa.ClassALU, isa.ClassALU64:
		c.arithmetic(in)
	case isa.ClassJMP, isa.ClassJMP32:
		c.jump(i, fn, in)
	case isa.ClassLD:
		c.MovImm64(nativeReg[in.Dst()], in.Imm64(c.p.insns[i+1]))
	case isa.ClassLDX:
		c.load(i, in)
	default:
		c.store(i, in)
	}
}

var conditions = map[uint8]amd64.Cond{
	isa.Jeq: amd64.Equal, isa.Jne: amd64.NotEqual, isa.Jset: amd64.NotEqual,
	isa.Jgt: amd64.Above, isa.Jge: amd64.AboveEqual, isa.Jlt: amd64.Below, isa.Jle: amd64.BelowEqual,
	isa.Jsgt: amd64.Greater, isa.Jsge: amd64.GreaterEqual, isa.Jslt: amd64.Less, isa.Jsle: amd64.LessEqual,
}

func (c *compiler) jump(i, fn int, in isa.Insn) {
	switch in.Op {
	case isa.OpExit:
		c.exit(fn)
		return
	case isa.OpCall:
		c.call(i, in)
		return
	}
	delta, _ := in.Jump()
	target := c.heads[i+1+delta]
	if !in.Falls() {
		c.Jmp(target)
		return
	}
	size := amd64.Size(8)
	if in.Class() == isa.ClassJMP32 {
		size = 4
	}
	c.compare(in, size)
	c.Jcc(conditions[in.Code()], target)
}

func (c *compiler) compare(in isa.Insn, size amd64.Size) {
	dst, src := nativeReg[in.Dst()], nativeReg[in.Src()%isa.Registers]
	switch {
	case in.Code() == isa.Jset && in.UsesSrc():
		c.Test(size, dst, src)
	case in.Code() == isa.Jset:
		c.TestImm(size, dst, in.Imm)
	case in.UsesSrc():
		c.Alu(amd64.CMP, size, dst, src)
	case in.Imm == 0: // the same flags, shorter
		c.Test(size, dst, dst)
	default:
		c.AluImm(amd64.CMP, size, dst, in.Imm)
	}
}

// stateField returns the operand of a state field by its offset in the struct.
func stateField(off uintptr) amd64.Mem {
	return amd64.Mem{Base: anchorReg, Index: amd64.NoIndex, Disp: int32(off) - int32(stateBytes)}
}

var (
	fieldRegs   = func(r int) amd64.Mem { return stateField(unsafe.Offsetof(state{}.regs) + uintptr(8*r)) }
	fieldBudget = stateField(unsafe.Offsetof(state{}.budget))
	fieldSpill  = stateField(unsafe.Offsetof(state{}.spill))
	fieldAddr   = stateField(unsafe.Offsetof(state{}.addr))
	fieldResume = stateField(unsafe.Offsetof(state{}.resume))
	fieldDepth  = stateField(unsafe.Offsetof(state{}.depth))
	fieldExit   = stateField(unsafe.Offsetof(state{}.exit))
	fieldHelper = stateField(unsafe.Offsetof(state{}.helper))
	fieldPC     = stateField(unsafe.Offsetof(state{}.pc))
	fieldLoads  = func(w int) amd64.Mem { return stateField(unsafe.Offsetof(state{}.loadLimit) + uintptr(8*w)) }
	fieldStores = func(w int) amd64.Mem { return stateField(unsafe.Offsetof(state{}.storeLimit) + uintptr(8*w)) }
)

// exitCode writes the ways out. Traps come with the slot in EDX and, but for
// exitDepth, the offset that was refused in RCX.
func (c *compiler) exitCode() {
	e := &c.exits
	store := func(l amd64.Label, base int32) {
		c.Bind(l)
		c.Lea(amd64.RCX, amd64.Mem{Base: amd64.RCX, Index: amd64.NoIndex, Disp: base})
		c.Store(8, fieldAddr, amd64.RCX)
		c.Store(4, fieldPC, amd64.RDX)
	}
	leave := func(code exitCode) {
		c.StoreImm(4, fieldExit, int32(code))
		c.Jmp(e.leave)
	}
	c.Bind(e.leave)
	for r, reg := range nativeReg {
		c.Store(8, fieldRegs(r), reg)
	}
	c.Store(8, fieldBudget, budgetReg)
	c.Ret()

	c.Bind(e.done)
	leave(exitDone)
	c.Bind(e.helper)
	c.Store(8, fieldResume, amd64.RDX)
	leave(exitHelper)
	c.Bind(e.budget)
	c.Store(8, fieldResume, amd64.RDX)
	leave(exitBudget)
	store(e.load, guestBase)
	leave(exitLoad)
	store(e.store, guestBase+int32(c.l.stack))
	leave(exitStore)
	store(e.align, guestBase+int32(c.l.stack))
	leave(exitAlign)
	c.Bind(e.depth)
	c.Store(4, fieldPC, amd64.RDX)
	leave(exitDepth)
}
