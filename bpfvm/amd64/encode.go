package amd64

// encode.go: prefixes, ModRM and SIB.
//
//	[66] [F0]  REX         opcode      ModRM         SIB              disp   imm
//	           0100WRXB    1 or 2      mod reg rm    scale index base 8, 32
//
// W is the 64-bit size; R, X and B are the top bits of reg, index and base. In
// ModRM, mod is 3 for a register in rm, else the size of the displacement; rm 4
// says that a SIB byte follows, which this encoder writes whenever there is an
// index or the base is RSP or R12, whose low bits mean just that.

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Assembler collects code. The zero value is ready.
type Assembler struct {
	buf    []byte
	labels []int // position, or unbound
	fixups []fixup
}

// Label is a place in the code.
type Label int

const unbound = -1

type fixup struct {
	at    int // of the 32-bit distance
	label Label
}

// NewLabel makes a label that is not yet bound.
func (a *Assembler) NewLabel() Label {
	a.labels = append(a.labels, unbound)
	return Label(len(a.labels) - 1)
}

// Bind puts a label here.
func (a *Assembler) Bind(l Label) {
	if a.labels[l] != unbound {
		panic("BUG: label bound twice")
	}
	a.labels[l] = len(a.buf)
}

// Len returns the number of bytes so far.
func (a *Assembler) Len() int { return len(a.buf) }

// Finish fills in distances to labels and returns the code.
func (a *Assembler) Finish() []byte {
	for _, f := range a.fixups {
		if a.labels[f.label] == unbound {
			panic(fmt.Sprintf("BUG: label %d is used but not bound", f.label))
		}
		binary.LittleEndian.PutUint32(a.buf[f.at:], uint32(a.labels[f.label]-f.at-4))
	}
	return a.buf
}

func (a *Assembler) bytes(b ...byte)  { a.buf = append(a.buf, b...) }
func (a *Assembler) imm32(v int32)    { a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(v)) }
func fits8(v int32) bool              { return v >= math.MinInt8 && v <= math.MaxInt8 }
func (a *Assembler) distance(l Label) { a.fixups = append(a.fixups, fixup{len(a.buf), l}); a.imm32(0) }

// prefixes writes the operand-size prefix and REX. byteReg forces a REX so that
// numbers 5 to 7 mean BPL, SIL and DIL.
func (a *Assembler) prefixes(size Size, reg, index, base Reg, byteReg bool) {
	if size == 2 {
		a.bytes(0x66)
	}
	rex := byte(0)
	if size == 8 {
		rex |= 8
	}
	rex |= byte(reg>>3)<<2 | byte(index>>3)<<1 | byte(base>>3)
	if rex != 0 || byteReg {
		a.bytes(0x40 | rex)
	}
}

// rr writes an instruction with registers in reg and rm.
func (a *Assembler) rr(size Size, byteReg bool, reg, rm Reg, opcode ...byte) {
	a.prefixes(size, reg, 0, rm, byteReg)
	a.bytes(opcode...)
	a.bytes(0xc0 | byte(reg&7)<<3 | byte(rm&7))
}

// rm writes an instruction with a register in reg and a memory operand.
func (a *Assembler) rm(size Size, byteReg bool, reg Reg, m Mem, opcode ...byte) {
	a.prefixes(size, reg, m.Index, m.Base, byteReg)
	a.bytes(opcode...)
	a.operand(reg, m)
}

// operand writes ModRM, SIB and displacement. A base of RBP or R13 cannot go
// without a displacement: that encoding means something else.
func (a *Assembler) operand(reg Reg, m Mem) {
	mod := byte(0x80)
	switch {
	case m.Disp == 0 && m.Base&7 != RBP:
		mod = 0
	case fits8(m.Disp):
		mod = 0x40
	}
	if m.Index == NoIndex && m.Base&7 != 4 {
		a.bytes(mod | byte(reg&7)<<3 | byte(m.Base&7))
	} else {
		a.bytes(mod|byte(reg&7)<<3|4, byte(m.Index&7)<<3|byte(m.Base&7))
	}
	switch mod {
	case 0x40:
		a.bytes(byte(m.Disp))
	case 0x80:
		a.imm32(m.Disp)
	}
}
