// Package isa holds the eBPF instruction set of RFC 9669: code points, the
// eight-byte encoding, and the text form. It decides nothing about whether a
// program is acceptable; package bpfvm does.
package isa

// opcode.go: the code points. An opcode byte is three fields, and the low three
// bits say how the other five are read (RFC 9669, 3.1 to 5):
//
//	arithmetic, jump    +---- code ----+ src +-- class --+
//	                     7  6  5  4      3     2  1  0
//	load, store         +-- mode --+ size +-- class --+
//	                     7  6  5     4  3   2  1  0

// Instruction classes (RFC 9669, 3.1).
const (
	ClassLD    = 0x00 // 64-bit immediate
	ClassLDX   = 0x01 // load into a register
	ClassST    = 0x02 // store an immediate
	ClassSTX   = 0x03 // store a register, atomics
	ClassALU   = 0x04 // 32-bit arithmetic
	ClassJMP   = 0x05 // 64-bit jumps, call, exit
	ClassJMP32 = 0x06 // 32-bit jumps
	ClassALU64 = 0x07 // 64-bit arithmetic

	classMask = 0x07
)

// Source operand of arithmetic and jumps (RFC 9669, 4).
const (
	SrcImm = 0x00 // K: the immediate
	SrcReg = 0x08 // X: the source register
)

// Arithmetic codes (RFC 9669, 4.1).
const (
	Add  = 0x00
	Sub  = 0x10
	Mul  = 0x20
	Div  = 0x30 // offset 1: signed
	Or   = 0x40
	And  = 0x50
	Lsh  = 0x60
	Rsh  = 0x70
	Neg  = 0x80
	Mod  = 0x90 // offset 1: signed
	Xor  = 0xa0
	Mov  = 0xb0 // offset 8, 16, 32: sign-extending
	Arsh = 0xc0
	End  = 0xd0 // byte swap; immediate 16, 32, 64

	codeMask = 0xf0
)

// Jump codes (RFC 9669, 4.3).
const (
	Ja   = 0x00 // in ClassJMP32 the distance is the immediate
	Jeq  = 0x10
	Jgt  = 0x20
	Jge  = 0x30
	Jset = 0x40
	Jne  = 0x50
	Jsgt = 0x60
	Jsge = 0x70
	Call = 0x80
	Exit = 0x90
	Jlt  = 0xa0
	Jle  = 0xb0
	Jslt = 0xc0
	Jsle = 0xd0
)

// Access sizes (RFC 9669, 5).
const (
	SizeW  = 0x00 // 4 bytes
	SizeH  = 0x08 // 2 bytes
	SizeB  = 0x10 // 1 byte
	SizeDW = 0x18 // 8 bytes

	sizeMask = 0x18
)

// Access modes (RFC 9669, 5). ABS and IND are the retired packet loads; this
// machine refuses them, as it refuses every mode not named here.
const (
	ModeIMM    = 0x00
	ModeMEM    = 0x60
	ModeMEMSX  = 0x80
	ModeATOMIC = 0xc0

	modeMask = 0xe0
)

// Atomic operations, in the immediate of ClassSTX|ModeATOMIC (RFC 9669, 5.3).
const (
	AtomicAdd     = 0x00
	AtomicOr      = 0x40
	AtomicAnd     = 0x50
	AtomicXor     = 0xa0
	AtomicFetch   = 0x01 // modifier: the old value goes to the source register
	AtomicXchg    = 0xe0 | AtomicFetch
	AtomicCmpxchg = 0xf0 | AtomicFetch
)

// Source-register values of OpCall (RFC 9669, 4.3.1).
const (
	CallHelper = 0 // immediate is the helper's number
	CallLocal  = 1 // immediate is the distance to a function of the program
	CallByBTF  = 2 // a helper named by its BTF id: only the loader meets it
)

// Whole opcodes that are spoken of by name.
const (
	OpLDDW    = ClassLD | ModeIMM | SizeDW
	OpJa      = ClassJMP | Ja
	OpJa32    = ClassJMP32 | Ja
	OpCall    = ClassJMP | Call
	OpExit    = ClassJMP | Exit
	OpMovImm  = ClassALU64 | Mov | SrcImm
	OpMovReg  = ClassALU64 | Mov | SrcReg
	OpAtomicW = ClassSTX | ModeATOMIC | SizeW
	OpAtomic  = ClassSTX | ModeATOMIC | SizeDW
)

// Registers (RFC 9669, 2): r0 result, r1 to r5 arguments, r6 to r9 kept over
// calls, r10 the read-only frame pointer.
const (
	R0 = iota
	R1
	R2
	R3
	R4
	R5
	R6
	R7
	R8
	R9
	R10

	Registers = 11
)

// StackFrameBytes is the room below r10 that each function has.
const StackFrameBytes = 512
