package bpfvm

// context.go: the state of a running program, in the form that native code sees.
// It lies in the page before the arena, outside the reach of any guest address:
//
//	             anchor (r12 in native code; guest address guestBase)
//	+-----------+-------+-----------------------------------------+--------+
//	|  unused   | state | read-only data | stack | data | … | input | margin |
//	+-----------+-------+-----------------------------------------+--------+
//	 statePage            arena: a power of two                      one page and more
//
// Native code addresses it by negative displacements from the anchor, taken from
// the struct below when the code is made; enter_amd64.s takes them from go_asm.h,
// which the toolchain makes out of the same struct. What is used inside a program
// stands last, where a one-byte displacement reaches.

import "unsafe"

// frame is what a local call keeps of its caller.
type frame struct {
	ret   uint64    // where to go on: an address, or a slot for the interpreter
	saved [4]uint64 // r6 to r9
}

const frameBytes = uint64(unsafe.Sizeof(frame{}))

// state is the whole of a program's execution but its memory.
type state struct {
	regs   [11]uint64
	budget int64 // instructions left; negative when overdrawn
	frames [framesMax]frame

	spill  uint64 // native code's own scratch
	addr   uint64 // of a trapped access
	resume uint64 // where to enter: an address; for the interpreter see interp.go
	depth  uint64 // frameBytes times the number of callers
	exit   uint32 // exitCode
	helper uint32 // index in Program.helpers
	pc     uint32 // slot of a helper call or a trap
	_      uint32

	// Highest offset at which an access of 1, 2, 4 or 8 bytes may start: loads
	// from the anchor, stores from the start of the writable part.
	loadLimit  [4]uint64
	storeLimit [4]uint64
}

const stateBytes = unsafe.Sizeof(state{})

// exitCode says why the engine came back.
type exitCode = uint32

const (
	exitDone   exitCode = iota + 1 // exit from the entry function
	exitHelper                     // a helper is to be performed
	exitBudget                     // out of budget
	exitLoad                       // trap: load out of bounds
	exitStore                      // trap: store out of bounds or to read-only memory
	exitAlign                      // trap: unaligned atomic
	exitDepth                      // trap: calls nested too deep
)
