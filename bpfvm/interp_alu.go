package bpfvm

// interp_alu.go: arithmetic of the interpreter (RFC 9669, 4.1 and 4.2).

import (
	"math/bits"

	"edge/bpfvm/isa"
)

func alu64(in isa.Insn, a, b uint64) uint64 {
	switch in.Code() {
	case isa.Add:
		return a + b
	case isa.Sub:
		return a - b
	case isa.Mul:
		return a * b
	case isa.Div:
		return divide(a, b, in.Off != 0)
	case isa.Mod:
		return remain(a, b, in.Off != 0)
	case isa.Or:
		return a | b
	case isa.And:
		return a & b
	case isa.Xor:
		return a ^ b
	case isa.Lsh:
		return a << (b & 63)
	case isa.Rsh:
		return a >> (b & 63)
	case isa.Arsh:
		return uint64(int64(a) >> (b & 63))
	case isa.Neg:
		return -a
	case isa.Mov:
		return signExtend(b, in.Off)
	}
	return swapBytes(a, in.Imm) // isa.End: bswap
}

// divide and remain define what the processor leaves open: by zero the quotient
// is 0 and the remainder the dividend; the smallest number by -1 is itself, with
// remainder 0 (RFC 9669, 4.1, and kernel practice).
func divide(a, b uint64, signed bool) uint64 {
	switch {
	case b == 0:
		return 0
	case !signed:
		return a / b
	case int64(b) == -1:
		return -a
	}
	return uint64(int64(a) / int64(b))
}

func remain(a, b uint64, signed bool) uint64 {
	switch {
	case b == 0:
		return a
	case !signed:
		return a % b
	case int64(b) == -1:
		return 0
	}
	return uint64(int64(a) % int64(b))
}

// alu is the 32-bit class: the result is zero-extended, but for le and be, which
// work on all of the register.
func alu(in isa.Insn, a, b uint64) uint64 {
	switch {
	case in.Code() != isa.End:
		return uint64(alu32(in, uint32(a), uint32(b)))
	case in.UsesSrc():
		return swapBytes(a, in.Imm)
	}
	return keepBytes(a, in.Imm)
}

func alu32(in isa.Insn, a, b uint32) uint32 {
	switch in.Code() {
	case isa.Div:
		return div32(a, b, in.Off != 0)
	case isa.Mod:
		return mod32(a, b, in.Off != 0)
	case isa.Lsh:
		return a << (b & 31)
	case isa.Rsh:
		return a >> (b & 31)
	case isa.Arsh:
		return uint32(int32(a) >> (b & 31))
	}
	// The rest gives the same lower half whatever the upper halves were.
	return uint32(alu64(in, uint64(a), uint64(b)))
}

func div32(a, b uint32, signed bool) uint32 {
	if signed {
		return uint32(divide(uint64(int64(int32(a))), uint64(int64(int32(b))), true))
	}
	return uint32(divide(uint64(a), uint64(b), false))
}

func mod32(a, b uint32, signed bool) uint32 {
	if signed {
		return uint32(remain(uint64(int64(int32(a))), uint64(int64(int32(b))), true))
	}
	return uint32(remain(uint64(a), uint64(b), false))
}

// signExtend keeps the low bits of v, all if bits is 0.
func signExtend(v uint64, bits int16) uint64 {
	switch bits {
	case 8:
		return uint64(int64(int8(v)))
	case 16:
		return uint64(int64(int16(v)))
	case 32:
		return uint64(int64(int32(v)))
	}
	return v
}

func swapBytes(v uint64, width int32) uint64 {
	switch width {
	case 16:
		return uint64(bits.ReverseBytes16(uint16(v)))
	case 32:
		return uint64(bits.ReverseBytes32(uint32(v)))
	}
	return bits.ReverseBytes64(v)
}

// keepBytes is le16, le32, le64: the guest is little-endian.
func keepBytes(v uint64, width int32) uint64 {
	return v & (^uint64(0) >> (64 - width))
}
