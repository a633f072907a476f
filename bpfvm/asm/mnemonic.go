package asm

// mnemonic.go: the table from a mnemonic to its encoder, built from isa's names.

import (
	"fmt"
	"strings"

	"edge/bpfvm/isa"
)

type encoding struct {
	operands int
	encode   func(p *parser, ops []string) error
}

// mnemonics is filled by init: the encoders reach the parser, which reads it.
var mnemonics = map[string]encoding{}

func init() {
	for _, add := range []func(){addALU, addEnd, addJumps, addMemory, addAtomics} {
		add()
	}
}

func addALU() {
	for code, name := range isa.ALUName {
		for class, width := range map[uint8]string{isa.ClassALU64: "", isa.ClassALU: "32"} {
			if code == isa.Neg {
				mnemonics[name+width] = oneOperand(isa.New(class|code, 0, 0, 0, 0))
				continue
			}
			mnemonics[name+width] = arithmetic(class|code, 0)
			if code == isa.Div || code == isa.Mod {
				mnemonics["s"+name+width] = arithmetic(class|code, 1)
			}
			if code == isa.Mov {
				addSignExtending(class, width)
			}
		}
	}
}

// addSignExtending adds movsx832 … movsx3264: source width, then destination width.
func addSignExtending(class uint8, width string) {
	froms := []int16{8, 16}
	if width == "" {
		width, froms = "64", []int16{8, 16, 32}
	}
	for _, from := range froms {
		mnemonics[fmt.Sprintf("movsx%d%s", from, width)] = encoding{2, func(p *parser, ops []string) error {
			dst, err := register(ops[0])
			if err != nil {
				return err
			}
			src, err := register(ops[1])
			p.emit(isa.New(class|isa.Mov|isa.SrcReg, dst, src, from, 0))
			return err
		}}
	}
}

func oneOperand(in isa.Insn) encoding {
	return encoding{1, func(p *parser, ops []string) error {
		dst, err := register(ops[0])
		in.Regs = dst
		p.emit(in)
		return err
	}}
}

func arithmetic(op uint8, off int16) encoding {
	return encoding{2, func(p *parser, ops []string) error {
		in, err := twoOperands(op, ops)
		in.Off = off
		p.emit(in)
		return err
	}}
}

// twoOperands fills destination and either source register or immediate.
func twoOperands(op uint8, ops []string) (isa.Insn, error) {
	dst, err := register(ops[0])
	if err != nil {
		return isa.Insn{}, err
	}
	if isRegister(ops[1]) {
		src, err := register(ops[1])
		return isa.New(op|isa.SrcReg, dst, src, 0, 0), err
	}
	imm, err := number32(ops[1])
	return isa.New(op, dst, 0, 0, imm), err
}

func addEnd() {
	kinds := map[string]uint8{
		"le": isa.ClassALU | isa.End, "be": isa.ClassALU | isa.End | isa.SrcReg,
		"bswap": isa.ClassALU64 | isa.End, "swap": isa.ClassALU64 | isa.End,
	}
	for name, op := range kinds {
		for _, bits := range []int32{16, 32, 64} {
			mnemonics[fmt.Sprintf("%s%d", name, bits)] = oneOperand(isa.New(op, 0, 0, 0, bits))
		}
	}
}

func addJumps() {
	for code, name := range isa.JumpName {
		mnemonics[name] = conditional(isa.ClassJMP | code)
		mnemonics[name+"32"] = conditional(isa.ClassJMP32 | code)
	}
	mnemonics["ja"] = encoding{1, func(p *parser, ops []string) error {
		return p.emitJump(isa.New(isa.OpJa, 0, 0, 0, 0), ops[0], false)
	}}
	mnemonics["ja32"] = encoding{1, func(p *parser, ops []string) error {
		return p.emitJump(isa.New(isa.OpJa32, 0, 0, 0, 0), ops[0], true)
	}}
	mnemonics["exit"] = encoding{0, func(p *parser, _ []string) error {
		p.emit(isa.New(isa.OpExit, 0, 0, 0, 0))
		return nil
	}}
	mnemonics["call local"] = encoding{1, func(p *parser, ops []string) error {
		return p.emitJump(isa.New(isa.OpCall, 0, isa.CallLocal, 0, 0), ops[0], true)
	}}
	mnemonics["call"] = encoding{1, func(p *parser, ops []string) error {
		if isRegister(ops[0]) { // not of RFC 9669; the verifier refuses it
			r, err := register(ops[0])
			p.emit(isa.New(isa.OpCall|isa.SrcReg, r, 0, 0, 0))
			return err
		}
		n, err := number32(ops[0])
		p.emit(isa.New(isa.OpCall, 0, isa.CallHelper, 0, n))
		return err
	}}
}

func conditional(op uint8) encoding {
	return encoding{3, func(p *parser, ops []string) error {
		in, err := twoOperands(op, ops)
		if err != nil {
			return err
		}
		return p.emitJump(in, ops[2], false)
	}}
}

var sizes = map[string]uint8{"b": isa.SizeB, "h": isa.SizeH, "w": isa.SizeW, "dw": isa.SizeDW}

func addMemory() {
	for suffix, size := range sizes {
		mnemonics["ldx"+suffix] = load(isa.ClassLDX | isa.ModeMEM | size)
		if suffix != "dw" {
			mnemonics["ldxs"+suffix] = load(isa.ClassLDX | isa.ModeMEMSX | size)
		}
		mnemonics["stx"+suffix] = storeReg(isa.ClassSTX|isa.ModeMEM|size, 0)
		mnemonics["st"+suffix] = storeImm(isa.ClassST | isa.ModeMEM | size)
	}
	mnemonics["lddw"] = encoding{2, func(p *parser, ops []string) error {
		dst, err := register(ops[0])
		if err != nil {
			return err
		}
		v, err := number64(ops[1])
		two := isa.LDDW(dst, v)
		p.insns = append(p.insns, two[:]...)
		return err
	}}
}

func load(op uint8) encoding {
	return encoding{2, func(p *parser, ops []string) error {
		dst, err := register(ops[0])
		if err != nil {
			return err
		}
		src, off, err := memory(ops[1])
		p.emit(isa.New(op, dst, src, off, 0))
		return err
	}}
}

func storeReg(op uint8, imm int32) encoding {
	return encoding{2, func(p *parser, ops []string) error {
		dst, off, err := memory(ops[0])
		if err != nil {
			return err
		}
		src, err := register(ops[1])
		p.emit(isa.New(op, dst, src, off, imm))
		return err
	}}
}

func storeImm(op uint8) encoding {
	return encoding{2, func(p *parser, ops []string) error {
		dst, off, err := memory(ops[0])
		if err != nil {
			return err
		}
		imm, err := number32(ops[1])
		p.emit(isa.New(op, dst, 0, off, imm))
		return err
	}}
}

func addAtomics() {
	for op, name := range isa.AtomicName {
		for code, width := range map[uint8]string{isa.OpAtomic: "", isa.OpAtomicW: "32"} {
			mnemonics["lock "+name+width] = storeReg(code, op)
			if op&isa.AtomicFetch == 0 && !strings.HasSuffix(name, "xchg") {
				mnemonics["lock fetch "+name+width] = storeReg(code, op|isa.AtomicFetch)
			}
		}
	}
}
