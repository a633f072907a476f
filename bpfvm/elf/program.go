package elf

// program.go: a program's instructions. The library has linked the functions and
// says what each instruction refers to; the instruction itself is decoded from
// the bytes of the file, so that nothing is lost in between.

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"edge/bpfvm/isa"
)

// convert fills in p from the linked instructions: functions one after another,
// the entry first, each beginning with its symbol.
func (r *reader) convert(p *Program, linked asm.Instructions) error {
	starts := map[string]int{}
	slot := 0
	for i := range linked {
		if name := linked[i].Symbol(); name != "" {
			if _, twice := starts[name]; !twice { // an entry that calls itself is linked twice
				starts[name] = slot
			}
		}
		slot += int(linked[i].Width())
	}
	for len(linked) > 0 {
		n := 1
		for n < len(linked) && linked[n].Symbol() == "" {
			n++
		}
		if err := r.convertFunction(p, linked[:n], starts); err != nil {
			return err
		}
		linked = linked[n:]
	}
	return nil
}

func (r *reader) convertFunction(p *Program, linked asm.Instructions, starts map[string]int) error {
	name := linked[0].Symbol()
	code, err := r.functionBytes(name)
	if err != nil {
		return err
	}
	insns, err := isa.Decode(code)
	if err != nil {
		return err
	}
	base := len(p.Insns)
	p.Insns = append(p.Insns, insns...)
	slot := base
	for i := range linked {
		ins := &linked[i]
		if slot >= len(p.Insns) {
			return fmt.Errorf("function %s is shorter than its instructions", name)
		}
		if err := r.resolve(p, slot, ins, starts); err != nil {
			return fmt.Errorf("function %s, instruction %d (%v): %w%s", name, slot-base, p.Insns[slot], err, sourceOf(ins))
		}
		addLine(p, slot, ins)
		slot += int(ins.Width())
	}
	return nil
}

// functionBytes returns a function's code as it stands in the file.
func (r *reader) functionBytes(name string) ([]byte, error) {
	sym, ok := r.functions[name]
	if !ok {
		return nil, fmt.Errorf("function %s is not in the symbol table", name)
	}
	s := r.section(sym.Section)
	code, err := s.Data()
	if err != nil {
		return nil, err
	}
	if sym.Value > uint64(len(code)) || sym.Size > uint64(len(code))-sym.Value {
		return nil, fmt.Errorf("function %s reaches outside section %s", name, s.Name)
	}
	return code[sym.Value : sym.Value+sym.Size], nil
}

// resolve notes what an instruction refers to, or refuses it.
func (r *reader) resolve(p *Program, slot int, ins *asm.Instruction, starts map[string]int) error {
	name := ins.Reference()
	switch {
	case btf.CORERelocationMetadata(ins) != nil:
		return fmt.Errorf("relies on kernel types (CO-RE), which there are none of here")
	case ins.IsLoadOfFunctionPointer():
		return fmt.Errorf("takes the address of function %s; calls through pointers are not supported", name)
	case ins.IsKfuncCall(), ins.IsFunctionCall() && name != "":
		resolveCall(p, slot, name, starts)
	case ins.IsLoadFromMap():
		return r.resolveLoad(p, slot, ins, name)
	case name != "":
		return fmt.Errorf("refers to symbol %s, which nothing defines", name)
	}
	return nil
}

// resolveCall makes a distance of a call to a function of the object. A function
// that is declared but not defined is a helper.
func resolveCall(p *Program, slot int, name string, starts map[string]int) {
	if to, ok := starts[name]; ok {
		p.Insns[slot] = isa.New(isa.OpCall, 0, isa.CallLocal, 0, int32(to-slot-1))
		return
	}
	p.Refs = append(p.Refs, Ref{Insn: slot, Kind: RefHelper, Name: name})
}

// resolveLoad makes a plain lddw of a load of an address.
func (r *reader) resolveLoad(p *Program, slot int, ins *asm.Instruction, name string) error {
	if slot+1 >= len(p.Insns) {
		return fmt.Errorf("lddw lacks its second half")
	}
	ref := Ref{Insn: slot, Name: name}
	if ins.Src == asm.PseudoMapFD {
		index, ok := r.mapIndex[name]
		if !ok {
			return fmt.Errorf("refers to map %s, which is not declared in .maps", name)
		}
		ref.Kind, ref.Index = RefMap, index
	} else {
		index, ok := r.dataIndex[name]
		if !ok {
			return fmt.Errorf("refers to section %s, which is not a data section with contents", name)
		}
		offset := uint64(ins.Constant) >> 32
		if offset > uint64(len(r.out.Data[index].Bytes)) {
			return fmt.Errorf("refers to offset %d of section %s, past its end", offset, name)
		}
		ref.Kind, ref.Index, ref.Offset = RefData, index, uint32(offset)
	}
	two := isa.LDDW(p.Insns[slot].Dst(), 0)
	copy(p.Insns[slot:], two[:])
	p.Refs = append(p.Refs, ref)
	return nil
}

func addLine(p *Program, slot int, ins *asm.Instruction) {
	line, ok := ins.Source().(*btf.Line)
	if !ok || line.LineNumber() > math.MaxInt32 {
		return
	}
	p.Lines = append(p.Lines, Line{Insn: slot, File: line.FileName(), Line: int(line.LineNumber())})
}

// sourceOf gives " at file:line", if the object says.
func sourceOf(ins *asm.Instruction) string {
	if line, ok := ins.Source().(*btf.Line); ok {
		return fmt.Sprintf(" at %s:%d", line.FileName(), line.LineNumber())
	}
	return ""
}
