package elf

// header.go: is this a file for us? Checked in the order in which a person would
// want to be told.

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (r *reader) open(file []byte) error {
	if len(file) > fileBytesMax {
		return fmt.Errorf("%d bytes are more than fileBytesMax %d", len(file), fileBytesMax)
	}
	if !bytes.HasPrefix(file, []byte(elf.ELFMAG)) {
		return errors.New("not an ELF object")
	}
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return fmt.Errorf("malformed ELF: %w", err)
	}
	switch {
	case f.Class != elf.ELFCLASS64:
		return fmt.Errorf("%v object; BPF objects are ELFCLASS64", f.Class)
	case f.Machine != elf.EM_BPF:
		return fmt.Errorf("object is for %v, not for BPF; compile with clang -target bpf", f.Machine)
	case f.Data != elf.ELFDATA2LSB:
		return errors.New("big-endian object; compile with -target bpfel")
	case f.Type != elf.ET_REL:
		return fmt.Errorf("%v file; an object file (clang -c) is wanted", f.Type)
	case len(f.Sections) > sectionsMax:
		return fmt.Errorf("%d sections are more than sectionsMax %d", len(f.Sections), sectionsMax)
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL && (s.Offset > uint64(len(file)) || s.FileSize > uint64(len(file))-s.Offset) {
			return fmt.Errorf("section %s reaches outside the file", s.Name)
		}
	}
	r.file = f
	return nil
}

func isExecutable(s *elf.Section) bool {
	return s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0
}

func isData(name string) bool {
	return name == ".bss" || hasPrefix(name, ".bss.", ".data", ".rodata")
}

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// checkSections refuses sections that a program would miss if they were left out.
// Those that are not loaded (debug information, notes) do not matter.
func (r *reader) checkSections() error {
	seen := map[string]bool{}
	for _, s := range r.file.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 {
			continue
		}
		if s.Flags&elf.SHF_COMPRESSED != 0 {
			return fmt.Errorf("section %s: compressed", s.Name)
		}
		if seen[s.Name] {
			return fmt.Errorf("section %s: there are two of that name", s.Name)
		}
		seen[s.Name] = true
		known := isExecutable(s) || isData(s.Name) || s.Name == ".maps" || s.Name == "license" || s.Name == "version" ||
			hasPrefix(s.Name, ".BTF", ".eh_frame", ".note", ".llvm")
		if s.Name == "maps" {
			return errors.New("section maps: map definitions of the old kind; declare maps in .maps")
		}
		if !known {
			return fmt.Errorf("section %s: unknown", s.Name)
		}
	}
	return nil
}

// readSymbols finds the functions, and refuses entries in sections that are no
// hooks: such a program would silently never run.
func (r *reader) readSymbols() error {
	symbols, err := r.file.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return errors.New("no symbol table: the object has been stripped")
	}
	if err != nil {
		return fmt.Errorf("symbols: %w", err)
	}
	r.symbols = symbols
	for _, sym := range symbols {
		s := r.section(sym.Section)
		if s == nil || !isExecutable(s) || elf.ST_TYPE(sym.Info) != elf.STT_FUNC {
			continue
		}
		r.functions[sym.Name] = sym
		if elf.ST_BIND(sym.Info) == elf.STB_LOCAL || s.Name == ".text" {
			continue
		}
		if len(r.opt.Sections) > 0 && !slices.Contains(r.opt.Sections, s.Name) {
			return fmt.Errorf("section %s: function %s is in no hook; hooks are %s", s.Name, sym.Name, strings.Join(r.opt.Sections, ", "))
		}
	}
	return nil
}

func (r *reader) section(i elf.SectionIndex) *elf.Section {
	if int(i) >= len(r.file.Sections) || i == elf.SHN_UNDEF {
		return nil
	}
	return r.file.Sections[i]
}
