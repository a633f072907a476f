package bpfvm

// jit_alu_amd64.go: arithmetic.

import (
	"math/bits"

	"edge/bpfvm/amd64"
	"edge/bpfvm/isa"
)

var aluOps = map[uint8]amd64.Op{
	isa.Add: amd64.ADD, isa.Sub: amd64.SUB, isa.Or: amd64.OR, isa.And: amd64.AND, isa.Xor: amd64.XOR,
}

var shiftOps = map[uint8]amd64.ShiftOp{isa.Lsh: amd64.SHL, isa.Rsh: amd64.SHR, isa.Arsh: amd64.SAR}

func (c *compiler) arithmetic(in isa.Insn) {
	size := amd64.Size(8)
	if in.Class() == isa.ClassALU {
		size = 4
	}
	dst, src := nativeReg[in.Dst()], nativeReg[in.Src()%isa.Registers]
	switch in.Code() {
	case isa.Mov:
		c.move(in, size, dst, src)
	case isa.Mul:
		if in.UsesSrc() {
			c.Imul(size, dst, src)
		} else {
			c.ImulImm(size, dst, in.Imm)
		}
	case isa.Div, isa.Mod:
		c.divide(in, size, dst, src)
	case isa.Lsh, isa.Rsh, isa.Arsh:
		c.shift(in, size, dst, src)
	case isa.Neg:
		c.Neg(size, dst)
	case isa.End:
		c.swap(in, dst)
	default:
		if in.UsesSrc() {
			c.Alu(aluOps[in.Code()], size, dst, src)
		} else {
			c.AluImm(aluOps[in.Code()], size, dst, in.Imm)
		}
	}
}

func (c *compiler) move(in isa.Insn, size amd64.Size, dst, src amd64.Reg) {
	switch {
	case in.UsesSrc() && in.Off == 0:
		c.Mov(size, dst, src)
	case in.UsesSrc():
		c.Movsx(size, amd64.Size(in.Off/8), dst, src)
	case size == 4:
		c.MovImm64(dst, uint64(uint32(in.Imm)))
	default:
		c.MovImm64(dst, uint64(int64(in.Imm)))
	}
}

// shift relies on the processor masking the count as RFC 9669 does, except that
// immediates are masked here. A 32-bit shift by 0 still clears the upper half.
func (c *compiler) shift(in isa.Insn, size amd64.Size, dst, src amd64.Reg) {
	op := shiftOps[in.Code()]
	if in.UsesSrc() {
		c.Mov(4, amd64.RCX, src)
		c.ShiftCL(op, size, dst)
		if size == 4 {
			c.Mov(4, dst, dst) // for a count of 0
		}
		return
	}
	n := uint8(in.Imm) & (uint8(size)*8 - 1)
	switch {
	case n != 0:
		c.ShiftImm(op, size, dst, n)
	case size == 4:
		c.Mov(4, dst, dst)
	}
}

// swap is le, be and bswap. The guest, like the processor, is little-endian.
func (c *compiler) swap(in isa.Insn, dst amd64.Reg) {
	reverse := in.Class() == isa.ClassALU64 || in.UsesSrc()
	switch in.Imm {
	case 16:
		if reverse {
			c.ShiftImm(amd64.ROL, 2, dst, 8)
		}
		c.Movzx(2, dst, dst)
	case 32:
		if reverse {
			c.Bswap(4, dst)
		} else {
			c.Mov(4, dst, dst)
		}
	case 64:
		if reverse {
			c.Bswap(8, dst)
		}
	}
}

// divide never lets the processor fault: a divisor of 0, and -1 of a signed
// division, are taken aside. The divisor goes to RCX; the dividend is swapped into
// RAX, and the result back, so that r0 keeps its value.
func (c *compiler) divide(in isa.Insn, size amd64.Size, dst, src amd64.Reg) {
	mod, signed := in.Code() == isa.Mod, in.Off != 0
	if !in.UsesSrc() {
		if c.divideByConstant(in, size, dst) {
			return
		}
		c.MovImm64(amd64.RCX, uint64(int64(in.Imm)))
	} else {
		c.Mov(size, amd64.RCX, src)
	}
	done := c.NewLabel()
	if in.UsesSrc() {
		c.guardDivisor(size, dst, mod, signed, done)
	}
	if dst != amd64.RAX {
		c.Xchg(amd64.RAX, dst)
	}
	if signed {
		c.SignToRDX(size)
		c.Idiv(size, amd64.RCX)
	} else {
		c.Alu(amd64.XOR, 4, amd64.RDX, amd64.RDX)
		c.Div(size, amd64.RCX)
	}
	if mod {
		c.Mov(size, amd64.RAX, amd64.RDX)
	}
	if dst != amd64.RAX {
		c.Xchg(amd64.RAX, dst)
	}
	c.Bind(done)
}

// guardDivisor sends the divisors that would fault out of the way.
func (c *compiler) guardDivisor(size amd64.Size, dst amd64.Reg, mod, signed bool, done amd64.Label) {
	aside := func(cond amd64.Cond, emit func()) {
		l := c.NewLabel()
		c.Jcc(cond, l)
		c.later(func() {
			c.Bind(l)
			emit()
			c.Jmp(done)
		})
	}
	c.Test(size, amd64.RCX, amd64.RCX)
	aside(amd64.Equal, func() { c.divideByZero(size, dst, mod) })
	if signed {
		c.AluImm(amd64.CMP, size, amd64.RCX, -1)
		aside(amd64.Equal, func() { c.divideByMinusOne(size, dst, mod) })
	}
}

func (c *compiler) divideByZero(size amd64.Size, dst amd64.Reg, mod bool) {
	switch {
	case !mod:
		c.Alu(amd64.XOR, 4, dst, dst)
	case size == 4:
		c.Mov(4, dst, dst)
	}
}

func (c *compiler) divideByMinusOne(size amd64.Size, dst amd64.Reg, mod bool) {
	if mod {
		c.Alu(amd64.XOR, 4, dst, dst)
	} else {
		c.Neg(size, dst)
	}
}

// divideByConstant does without the divider where it can, and must where the
// divisor is one that faults.
func (c *compiler) divideByConstant(in isa.Insn, size amd64.Size, dst amd64.Reg) bool {
	mod, signed := in.Code() == isa.Mod, in.Off != 0
	switch {
	case in.Imm == 0:
		c.divideByZero(size, dst, mod)
	case signed && in.Imm == -1:
		c.divideByMinusOne(size, dst, mod)
	case !signed && in.Imm > 0 && in.Imm&(in.Imm-1) == 0:
		c.divideByPower(in.Imm, size, dst, mod)
	default:
		return false
	}
	return true
}

func (c *compiler) divideByPower(n int32, size amd64.Size, dst amd64.Reg, mod bool) {
	switch {
	case mod:
		c.AluImm(amd64.AND, size, dst, n-1)
	case n > 1:
		c.ShiftImm(amd64.SHR, size, dst, uint8(bits.TrailingZeros32(uint32(n))))
	case size == 4:
		c.Mov(4, dst, dst)
	}
}
