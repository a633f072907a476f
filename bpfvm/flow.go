package bpfvm

// flow.go: functions, jumps, loops and stack depth.
//
// A program is a row of functions: the entry at instruction 0 and every target
// of a local call, each reaching to the start of the next. Jumps stay within
// their function and every function ends in a jump or an exit, so control moves
// between functions by calls alone.
//
// Charges are fixed here, for both engines. Every cycle in a function passes the
// target of a backward jump, a loop head; a head costs as much as the longest
// way round to it, counted as if every instruction between were executed. A call
// costs as much as the whole callee. So a program cannot execute many more
// instructions than it is charged for, and the charge is one subtraction.

import "edge/bpfvm/isa"

const (
	// framesMax is the number of nested functions, the entry included.
	framesMax = 8
	// functionsMax is the number of functions in a program.
	functionsMax = 256

	// Charges, in instructions. Division and atomics take as long as some tens
	// of additions; a helper is a round trip out of the program.
	weightSlow   = 16
	weightHelper = 24
)

// function is one function of a program.
type function struct {
	start, end int     // instruction slots, end excluded
	weight     int32   // charge for calling it
	saved      []uint8 // registers of r6 to r9 that it writes
	calls      []int   // functions it calls
}

// flow is what the analysis knows of a program.
type flow struct {
	functions []function
	byStart   map[int]int // start slot → index in functions
	loopCost  []int32     // per slot: charge on arriving there, 0 if no loop head
	second    []bool      // per slot: second half of an lddw
	frames    int         // deepest nesting, framesMax if recursive
	recursive bool
}

// analyse verifies the shape of a linked program.
func analyse(insns []isa.Insn) (*flow, *fault) {
	second, bad := verifyFields(insns)
	if bad != nil {
		return nil, bad
	}
	if bad := verifyFrame(insns, second); bad != nil {
		return nil, bad
	}
	f := &flow{second: second, loopCost: make([]int32, len(insns))}
	steps := []func([]isa.Insn) *fault{f.findFunctions, f.checkJumps, f.checkEnds, f.measureDepth}
	for _, step := range steps {
		if bad := step(insns); bad != nil {
			return nil, bad
		}
	}
	return f, nil
}

// callTarget returns the slot that a local call goes to.
func callTarget(i int, in isa.Insn) (int, bool) {
	if in.Op != isa.OpCall || in.Src() != isa.CallLocal {
		return 0, false
	}
	return i + 1 + int(in.Imm), true
}

func (f *flow) findFunctions(insns []isa.Insn) *fault {
	starts := make([]bool, len(insns))
	starts[0] = true
	for i, in := range insns {
		to, ok := callTarget(i, in)
		if f.second[i] || !ok {
			continue
		}
		if to < 0 || to >= len(insns) || f.second[to] {
			return faultf(i, "call to slot %d, which is not an instruction", to)
		}
		starts[to] = true
	}
	f.byStart = map[int]int{}
	for i, is := range starts {
		if !is {
			continue
		}
		if len(f.functions) == functionsMax {
			return faultf(i, "more than %d functions", functionsMax)
		}
		if n := len(f.functions); n > 0 {
			f.functions[n-1].end = i
		}
		f.byStart[i] = len(f.functions)
		f.functions = append(f.functions, function{start: i, end: len(insns)})
	}
	return nil
}

func (f *flow) checkJumps(insns []isa.Insn) *fault {
	for n := range f.functions {
		fn := &f.functions[n]
		for i := fn.start; i < fn.end; i++ {
			delta, ok := insns[i].Jump()
			if f.second[i] || !ok {
				continue
			}
			to := i + 1 + delta
			if to < fn.start || to >= fn.end {
				return faultf(i, "jump to slot %d leaves the function, slots %d to %d", to, fn.start, fn.end-1)
			}
			if f.second[to] {
				return faultf(i, "jump into the second half of the lddw at slot %d", to-1)
			}
			if to <= i {
				f.loopCost[to] = max(f.loopCost[to], f.weigh(insns, to, i+1))
			}
		}
	}
	return nil
}

// weigh sums the charges of the slots from start to end, end excluded.
func (f *flow) weigh(insns []isa.Insn, start, end int) int32 {
	var sum int32
	for i := start; i < end; i++ {
		if !f.second[i] {
			sum += weight(insns[i])
		}
	}
	return sum
}

func weight(in isa.Insn) int32 {
	arithmetic := in.Class() == isa.ClassALU || in.Class() == isa.ClassALU64
	if in.IsAtomic() || arithmetic && (in.Code() == isa.Div || in.Code() == isa.Mod) {
		return weightSlow
	}
	return 1
}

// checkEnds refuses functions that run into the next, and fills in what calling
// each one means.
func (f *flow) checkEnds(insns []isa.Insn) *fault {
	for n := range f.functions {
		fn := &f.functions[n]
		last := fn.end - 1
		if f.second[last] || insns[last].Falls() {
			return faultf(last, "function ends without a jump or an exit")
		}
		fn.weight = f.weigh(insns, fn.start, fn.end)
		var written [isa.Registers]bool
		for i := fn.start; i < fn.end; i++ {
			if f.second[i] {
				continue
			}
			if r, ok := writtenRegister(insns[i]); ok {
				written[r] = true
			}
			if to, ok := callTarget(i, insns[i]); ok {
				fn.calls = append(fn.calls, f.byStart[to])
			}
		}
		for r := uint8(isa.R6); r <= isa.R9; r++ {
			if written[r] {
				fn.saved = append(fn.saved, r)
			}
		}
	}
	return nil
}

// writtenRegister returns the register that an instruction changes, if it is not
// a call. A compare-and-exchange changes r0, which is never saved.
func writtenRegister(in isa.Insn) (uint8, bool) {
	switch in.Class() {
	case isa.ClassALU, isa.ClassALU64, isa.ClassLDX, isa.ClassLD:
		return in.Dst(), true
	case isa.ClassSTX:
		return in.Src(), in.IsAtomic() && in.Imm&isa.AtomicFetch != 0 && in.Imm != isa.AtomicCmpxchg
	}
	return 0, false
}

// measureDepth finds the deepest chain of calls. Recursion is allowed and is
// stopped at run time; a chain that is always too deep is refused.
func (f *flow) measureDepth([]isa.Insn) *fault {
	depth := make([]int, len(f.functions)) // 0 unknown, -1 being measured
	f.frames = f.depthOf(0, depth)
	if f.recursive {
		f.frames = framesMax
	}
	if f.frames > framesMax {
		return faultf(0, "functions nest %d deep, more than %d", f.frames, framesMax)
	}
	return nil
}

func (f *flow) depthOf(n int, depth []int) int {
	if depth[n] < 0 {
		f.recursive = true
		return 0
	}
	if depth[n] == 0 {
		depth[n] = -1
		below := 0
		for _, callee := range f.functions[n].calls {
			below = max(below, f.depthOf(callee, depth))
		}
		depth[n] = below + 1
	}
	return depth[n]
}
