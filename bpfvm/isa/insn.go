package isa

// insn.go: one instruction and its eight bytes (RFC 9669, 3):
//
//	 0        1        2        4                 8
//	+--------+--------+--------+-----------------+
//	| opcode | src dst| offset |    immediate    |   little-endian
//	+--------+--------+--------+-----------------+
//
// lddw alone takes two: the second is zero but for its immediate, the upper
// half of the constant.

import (
	"encoding/binary"
	"fmt"
)

// InsnBytes is the size of an encoded instruction.
const InsnBytes = 8

// Insn is one decoded instruction slot. Regs has the destination in its low and
// the source in its high four bits.
type Insn struct {
	Op   uint8
	Regs uint8
	Off  int16
	Imm  int32
}

// New makes an instruction out of its five fields.
func New(op, dst, src uint8, off int16, imm int32) Insn {
	return Insn{Op: op, Regs: dst&15 | src<<4, Off: off, Imm: imm}
}

// LDDW makes the two slots that load the 64-bit constant v into dst.
func LDDW(dst uint8, v uint64) [2]Insn {
	return [2]Insn{New(OpLDDW, dst, 0, 0, int32(v)), {Imm: int32(v >> 32)}}
}

// Dst returns the destination register's number.
func (i Insn) Dst() uint8 { return i.Regs & 15 }

// Src returns the source register's number.
func (i Insn) Src() uint8 { return i.Regs >> 4 }

// Class returns the instruction class, one of the Class constants.
func (i Insn) Class() uint8 { return i.Op & classMask }

// Code returns the operation of an arithmetic or jump instruction.
func (i Insn) Code() uint8 { return i.Op & codeMask }

// Mode returns the addressing mode of a load or store.
func (i Insn) Mode() uint8 { return i.Op & modeMask }

// UsesSrc says whether an arithmetic or jump instruction reads the source register.
func (i Insn) UsesSrc() bool { return i.Op&SrcReg != 0 }

// Width returns the number of bytes that a load or store touches.
func (i Insn) Width() int {
	switch i.Op & sizeMask {
	case SizeB:
		return 1
	case SizeH:
		return 2
	case SizeW:
		return 4
	}
	return 8
}

// IsLoad and IsStore tell memory accesses from the rest; atomics are stores.
func (i Insn) IsLoad() bool { return i.Class() == ClassLDX }

// IsStore reports a store of any kind, atomics among them.
func (i Insn) IsStore() bool { return i.Class() == ClassST || i.Class() == ClassSTX }

// IsAtomic reports an atomic read-modify-write.
func (i Insn) IsAtomic() bool { return i.Op == OpAtomic || i.Op == OpAtomicW }

// Jump returns the distance, in slots from the next instruction, of anything
// that may continue elsewhere in the same function. Calls and exit do not.
func (i Insn) Jump() (delta int, ok bool) {
	switch {
	case i.Class() != ClassJMP && i.Class() != ClassJMP32:
		return 0, false
	case i.Op == OpJa32:
		return int(i.Imm), true
	case i.Code() == Call || i.Code() == Exit:
		return 0, false
	}
	return int(i.Off), true
}

// Falls says whether execution may go on with the next instruction.
func (i Insn) Falls() bool { return i.Op != OpJa && i.Op != OpJa32 && i.Op != OpExit }

// Imm64 returns the constant of an lddw whose second slot is next.
func (i Insn) Imm64(next Insn) uint64 { return uint64(uint32(i.Imm)) | uint64(uint32(next.Imm))<<32 }

// Decode reads little-endian instruction slots.
func Decode(b []byte) ([]Insn, error) {
	if len(b)%InsnBytes != 0 {
		return nil, fmt.Errorf("isa: %d bytes of code are not a multiple of %d", len(b), InsnBytes)
	}
	out := make([]Insn, len(b)/InsnBytes)
	for i := range out {
		s := b[i*InsnBytes:]
		out[i] = Insn{
			Op:   s[0],
			Regs: s[1],
			Off:  int16(binary.LittleEndian.Uint16(s[2:])),
			Imm:  int32(binary.LittleEndian.Uint32(s[4:])),
		}
	}
	return out, nil
}

// Append adds the encoding of insns to dst and returns the grown slice.
func Append(dst []byte, insns ...Insn) []byte {
	for _, in := range insns {
		dst = append(dst, in.Op, in.Regs)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(in.Off))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(in.Imm))
	}
	return dst
}
