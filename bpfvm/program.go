package bpfvm

// program.go: what is known of a loaded program.

import (
	"edge/bpfvm/elf"
	"edge/bpfvm/isa"
)

// Program is one entry function of an object.
type Program struct {
	name, section string
	object        *Object
	insns         []isa.Insn
	flow          *flow
	helpers       []*HelperSpec
	lines         []elf.Line
	native        nativeCode
}

// Name returns the name of the entry function.
func (p *Program) Name() string { return p.name }

// Section returns the section that the program stands in, its hook.
func (p *Program) Section() string { return p.section }

// Helpers returns the names of the helpers that the program may call, in the
// order of first use.
func (p *Program) Helpers() []string {
	names := make([]string, len(p.helpers))
	for i, h := range p.helpers {
		names[i] = h.Name
	}
	return names
}

// StackBytes returns the deepest stack that the program can have; for a
// recursive one this is the limit that ends it.
func (p *Program) StackBytes() int { return p.flow.frames * stackFrame }

// Instructions returns the program's length in slots.
func (p *Program) Instructions() int { return len(p.insns) }

func (p *Program) refuse(insn int, reason string) error {
	return &LoadError{p.place(insn), reason}
}

// place describes an instruction.
func (p *Program) place(insn int) Place {
	at := Place{File: p.object.name, Section: p.section, Program: p.name, Insn: insn}
	if insn < len(p.insns) {
		at.Text = p.insnText(insn)
	}
	for _, l := range p.lines {
		if l.Insn > insn {
			break
		}
		at.Source, at.Line = l.File, l.Line
	}
	return at
}

// insnText shows helpers by name once they are bound.
func (p *Program) insnText(i int) string {
	in := p.insns[i]
	if in.Op == isa.OpCall && in.Src() == isa.CallHelper && int(in.Imm) < len(p.helpers) && in.Imm >= 0 {
		return "call " + p.helpers[in.Imm].Name
	}
	return in.String()
}
