package elf

// data.go: data sections and the pointers in them. A table of strings
//
//	static const char *const names[] = {"a", "b"};
//
// is a data section with relocations of its own (R_BPF_64_ABS64), whose addend is
// the eight bytes that stand there.

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Relocation types (LLVM, BPF relocation types).
const relAbs64 = 2

func (r *reader) readData() error {
	total := uint64(0)
	for i, s := range r.file.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 || !isData(s.Name) {
			continue
		}
		if total += s.Size; s.Size > dataBytesMax || total > dataBytesMax {
			return fmt.Errorf("section %s: data sections together have more than dataBytesMax %d bytes", s.Name, dataBytesMax)
		}
		d := Data{Name: s.Name, ReadOnly: strings.HasPrefix(s.Name, ".rodata") || strings.HasPrefix(s.Name, ".data.rel.ro")}
		switch s.Type {
		case elf.SHT_PROGBITS:
			var err error
			if d.Bytes, err = s.Data(); err != nil {
				return fmt.Errorf("section %s: %w", s.Name, err)
			}
		case elf.SHT_NOBITS:
			d.Bytes = make([]byte, s.Size)
		default:
			return fmt.Errorf("section %s: type %v is not that of data", s.Name, s.Type)
		}
		r.dataIndex[s.Name] = len(r.out.Data)
		r.dataAt[elf.SectionIndex(i)] = len(r.out.Data)
		r.out.Data = append(r.out.Data, d)
	}
	return r.readDataRelocations()
}

func (r *reader) readDataRelocations() error {
	for _, s := range r.file.Sections {
		index, ok := r.dataAt[elf.SectionIndex(s.Info)]
		if !ok || s.Type != elf.SHT_REL && s.Type != elf.SHT_RELA {
			continue
		}
		if s.Type == elf.SHT_RELA {
			return fmt.Errorf("section %s: relocations with addends are not made by clang for BPF", s.Name)
		}
		rels, err := s.Data()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.Name, err)
		}
		for ; len(rels) >= 16; rels = rels[16:] {
			if err := r.dataRelocation(index, rels); err != nil {
				return fmt.Errorf("section %s: %w", s.Name, err)
			}
		}
	}
	return nil
}

// dataRelocation reads one Elf64_Rel: offset, then symbol and type.
func (r *reader) dataRelocation(index int, rel []byte) error {
	off, info := binary.LittleEndian.Uint64(rel), binary.LittleEndian.Uint64(rel[8:])
	number := elf.R_SYM64(info)
	if number == 0 || int(number) > len(r.symbols) {
		return fmt.Errorf("relocation at %d: no symbol %d", off, number)
	}
	sym := r.symbols[number-1]
	target, isData := r.dataAt[sym.Section]
	d := &r.out.Data[index]
	switch {
	case elf.R_TYPE64(info) != relAbs64:
		return fmt.Errorf("relocation at %d: type %d is not supported in data", off, elf.R_TYPE64(info))
	case !isData:
		return fmt.Errorf("relocation at %d: pointer to %s, which is not data", off, r.symbolName(sym))
	case off > uint64(len(d.Bytes)) || uint64(len(d.Bytes))-off < 8:
		return fmt.Errorf("relocation at %d is outside the section", off)
	}
	addend := sym.Value + binary.LittleEndian.Uint64(d.Bytes[off:])
	if addend > uint64(len(r.out.Data[target].Bytes)) {
		return errors.New("pointer outside the section that it points to")
	}
	r.out.DataRefs = append(r.out.DataRefs, DataRef{index, uint32(off), target, uint32(addend)})
	return nil
}

// symbolName names a symbol, or its section if it is that of a section.
func (r *reader) symbolName(sym elf.Symbol) string {
	if sym.Name == "" {
		if s := r.section(sym.Section); s != nil {
			return "section " + s.Name
		}
	}
	return "symbol " + sym.Name
}
