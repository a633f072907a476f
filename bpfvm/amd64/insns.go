package amd64

// insns.go: one method per instruction form, in Intel's order: destination first.

import "encoding/binary"

// Mov copies src to dst; of size 4 it clears the upper half.
func (a *Assembler) Mov(size Size, dst, src Reg) { a.rr(size, false, src, dst, 0x89) }

// MovImm32 loads v, zero-extended.
func (a *Assembler) MovImm32(dst Reg, v uint32) {
	a.prefixes(4, 0, 0, dst, false)
	a.bytes(0xb8 | byte(dst&7))
	a.imm32(int32(v))
}

// MovImm64 loads v in the shortest form.
func (a *Assembler) MovImm64(dst Reg, v uint64) {
	switch {
	case v == 0:
		a.Alu(XOR, 4, dst, dst)
	case v == uint64(uint32(v)):
		a.MovImm32(dst, uint32(v))
	case v == uint64(int64(int32(v))):
		a.rr(8, false, 0, dst, 0xc7)
		a.imm32(int32(v))
	default:
		a.prefixes(8, 0, 0, dst, false)
		a.bytes(0xb8 | byte(dst&7))
		a.buf = binary.LittleEndian.AppendUint64(a.buf, v)
	}
}

// Movzx copies the low byte or two of src, zero-extended.
func (a *Assembler) Movzx(from Size, dst, src Reg) {
	if from == 1 {
		a.rr(4, src >= 4, dst, src, 0x0f, 0xb6)
	} else {
		a.rr(4, false, dst, src, 0x0f, 0xb7)
	}
}

// Movsx copies the low from bytes of src, sign-extended to size 4 (upper half
// zero) or 8.
func (a *Assembler) Movsx(size, from Size, dst, src Reg) {
	switch from {
	case 1:
		a.rr(size, src >= 4, dst, src, 0x0f, 0xbe)
	case 2:
		a.rr(size, false, dst, src, 0x0f, 0xbf)
	case 4:
		a.rr(8, false, dst, src, 0x63)
	}
}

// Load reads size bytes, zero-extended.
func (a *Assembler) Load(size Size, dst Reg, m Mem) {
	switch size {
	case 1:
		a.rm(4, false, dst, m, 0x0f, 0xb6)
	case 2:
		a.rm(4, false, dst, m, 0x0f, 0xb7)
	default:
		a.rm(size, false, dst, m, 0x8b)
	}
}

// LoadSigned reads 1, 2 or 4 bytes, sign-extended to 8.
func (a *Assembler) LoadSigned(size Size, dst Reg, m Mem) {
	switch size {
	case 1:
		a.rm(8, false, dst, m, 0x0f, 0xbe)
	case 2:
		a.rm(8, false, dst, m, 0x0f, 0xbf)
	case 4:
		a.rm(8, false, dst, m, 0x63)
	}
}

// Store writes the low size bytes of src.
func (a *Assembler) Store(size Size, m Mem, src Reg) {
	if size == 1 {
		a.rm(1, src >= 4, src, m, 0x88)
	} else {
		a.rm(size, false, src, m, 0x89)
	}
}

// StoreImm writes the low size bytes of v, sign-extended to 8.
func (a *Assembler) StoreImm(size Size, m Mem, v int32) {
	opcode := byte(0xc7)
	if size == 1 {
		opcode = 0xc6
	}
	a.rm(size, false, 0, m, opcode)
	switch size {
	case 1:
		a.bytes(byte(v))
	case 2:
		a.bytes(byte(v), byte(v>>8))
	default:
		a.imm32(v)
	}
}

// Alu computes dst op src into dst, or compares.
func (a *Assembler) Alu(op Op, size Size, dst, src Reg) { a.rr(size, false, src, dst, byte(op)<<3|1) }

// AluImm computes dst op v.
func (a *Assembler) AluImm(op Op, size Size, dst Reg, v int32) {
	if fits8(v) {
		a.rr(size, false, Reg(op), dst, 0x83)
		a.bytes(byte(v))
		return
	}
	a.rr(size, false, Reg(op), dst, 0x81)
	a.imm32(v)
}

// AluLoad computes dst op memory.
func (a *Assembler) AluLoad(op Op, size Size, dst Reg, m Mem) {
	a.rm(size, false, dst, m, byte(op)<<3|3)
}

// Test sets flags of x and y.
func (a *Assembler) Test(size Size, x, y Reg) { a.rr(size, false, y, x, 0x85) }

// TestImm sets flags of x and v.
func (a *Assembler) TestImm(size Size, x Reg, v int32) {
	a.rr(size, false, 0, x, 0xf7)
	a.imm32(v)
}

// Imul multiplies dst by src.
func (a *Assembler) Imul(size Size, dst, src Reg) { a.rr(size, false, dst, src, 0x0f, 0xaf) }

// ImulImm multiplies dst by v.
func (a *Assembler) ImulImm(size Size, dst Reg, v int32) {
	if fits8(v) {
		a.rr(size, false, dst, dst, 0x6b)
		a.bytes(byte(v))
		return
	}
	a.rr(size, false, dst, dst, 0x69)
	a.imm32(v)
}

// Neg negates.
func (a *Assembler) Neg(size Size, r Reg) { a.rr(size, false, 3, r, 0xf7) }

// Div divides RDX:RAX by r: quotient to RAX, remainder to RDX.
func (a *Assembler) Div(size Size, r Reg) { a.rr(size, false, 6, r, 0xf7) }

// Idiv is Div of signed numbers.
func (a *Assembler) Idiv(size Size, r Reg) { a.rr(size, false, 7, r, 0xf7) }

// SignToRDX fills RDX with the sign of RAX (cdq, cqo).
func (a *Assembler) SignToRDX(size Size) {
	a.prefixes(size, 0, 0, 0, false)
	a.bytes(0x99)
}

// ShiftImm shifts by n bits.
func (a *Assembler) ShiftImm(op ShiftOp, size Size, r Reg, n uint8) {
	a.rr(size, false, Reg(op), r, 0xc1)
	a.bytes(n)
}

// ShiftCL shifts by the number in CL, modulo 8 times size for sizes 4 and 8.
func (a *Assembler) ShiftCL(op ShiftOp, size Size, r Reg) { a.rr(size, false, Reg(op), r, 0xd3) }

// Bswap reverses 4 or 8 bytes.
func (a *Assembler) Bswap(size Size, r Reg) {
	a.prefixes(size, 0, 0, r, false)
	a.bytes(0x0f, 0xc8|byte(r&7))
}

// Xchg swaps two registers.
func (a *Assembler) Xchg(x, y Reg) { a.rr(8, false, y, x, 0x87) }

// XchgMem swaps r with memory, atomically.
func (a *Assembler) XchgMem(size Size, m Mem, r Reg) { a.rm(size, false, r, m, 0x87) }

const lock = 0xf0

// LockAlu computes memory op src, atomically.
func (a *Assembler) LockAlu(op Op, size Size, m Mem, src Reg) {
	a.bytes(lock)
	a.rm(size, false, src, m, byte(op)<<3|1)
}

// LockXadd adds r to memory and puts the old value in r, atomically.
func (a *Assembler) LockXadd(size Size, m Mem, r Reg) {
	a.bytes(lock)
	a.rm(size, false, r, m, 0x0f, 0xc1)
}

// LockCmpxchg stores r to memory if that equals RAX, and else loads RAX,
// atomically; ZF says which.
func (a *Assembler) LockCmpxchg(size Size, m Mem, r Reg) {
	a.bytes(lock)
	a.rm(size, false, r, m, 0x0f, 0xb1)
}

// Lea computes an address.
func (a *Assembler) Lea(dst Reg, m Mem) { a.rm(8, false, dst, m, 0x8d) }

// LeaLabel computes the address of a label.
func (a *Assembler) LeaLabel(dst Reg, l Label) {
	a.prefixes(8, dst, 0, 0, false)
	a.bytes(0x8d, byte(dst&7)<<3|5)
	a.distance(l)
}

// Jmp goes to a label.
func (a *Assembler) Jmp(l Label) {
	if d, ok := a.short(l); ok {
		a.bytes(0xeb, d)
		return
	}
	a.bytes(0xe9)
	a.distance(l)
}

// Jcc goes to a label if the condition holds.
func (a *Assembler) Jcc(c Cond, l Label) {
	if d, ok := a.short(l); ok {
		a.bytes(0x70|byte(c), d)
		return
	}
	a.bytes(0x0f, 0x80|byte(c))
	a.distance(l)
}

// short returns the one-byte distance from the end of a two-byte jump to a label
// already bound and near.
func (a *Assembler) short(l Label) (byte, bool) {
	at := a.labels[l]
	if at == unbound {
		return 0, false
	}
	d := at - len(a.buf) - 2
	return byte(d), d >= -128
}

// JmpMem goes to the address in memory.
func (a *Assembler) JmpMem(m Mem) { a.rm(4, false, 4, m, 0xff) }

// Ret returns.
func (a *Assembler) Ret() { a.bytes(0xc3) }
