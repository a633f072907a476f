// Package amd64 encodes the x86-64 instructions that the eBPF compiler needs, and
// no others: general registers, no vector unit, addresses of the form
// base + index + displacement.
package amd64

// regs.go: registers, sizes, conditions, operands.

// Reg is a general register by its number in encodings.
type Reg uint8

// The registers. RSP is left out: compiled programs do not touch the stack.
const (
	RAX Reg = 0
	RCX Reg = 1
	RDX Reg = 2
	RBX Reg = 3
	RBP Reg = 5
	RSI Reg = 6
	RDI Reg = 7
	R8  Reg = 8
	R9  Reg = 9
	R10 Reg = 10
	R11 Reg = 11
	R12 Reg = 12
	R13 Reg = 13
	R14 Reg = 14
	R15 Reg = 15

	// NoIndex in Mem.Index means base + displacement alone. (In the encoding
	// it is RSP's number, which can never be an index.)
	NoIndex Reg = 4
)

// Size is an operand size in bytes: 1, 2, 4 or 8.
type Size uint8

// Mem is the operand [Base + Index + Disp].
type Mem struct {
	Base, Index Reg
	Disp        int32
}

// Cond is a condition by its number in encodings.
type Cond uint8

// Conditions after a comparison of a with b.
const (
	Below        Cond = 0x2 // a < b, unsigned
	AboveEqual   Cond = 0x3
	Equal        Cond = 0x4
	NotEqual     Cond = 0x5
	BelowEqual   Cond = 0x6
	Above        Cond = 0x7
	Less         Cond = 0xc // a < b, signed
	GreaterEqual Cond = 0xd
	LessEqual    Cond = 0xe
	Greater      Cond = 0xf
)

// Not returns the opposite condition.
func (c Cond) Not() Cond { return c ^ 1 }

// Op is a two-operand operation by its number in encodings.
type Op uint8

// The operations.
const (
	ADD Op = 0
	OR  Op = 1
	AND Op = 4
	SUB Op = 5
	XOR Op = 6
	CMP Op = 7
)

// ShiftOp is a shift or rotation by its number in encodings.
type ShiftOp uint8

// The shifts.
const (
	ROL ShiftOp = 0
	SHL ShiftOp = 4
	SHR ShiftOp = 5
	SAR ShiftOp = 7
)
