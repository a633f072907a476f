package elf

// load.go: the order of reading. header.go looks at the file with debug/elf and
// refuses what is not for this machine; only then does cilium/ebpf parse it.

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
)

const (
	// fileBytesMax bounds an object file.
	fileBytesMax = 8 << 20
	// sectionsMax bounds its section table.
	sectionsMax = 4096
	// dataBytesMax bounds all data sections together, .bss included.
	dataBytesMax = 64 << 20
	// programsMax bounds the entry functions.
	programsMax = 256
)

// Options say what a file may hold.
type Options struct {
	// Sections that entry functions may stand in; empty allows any.
	Sections []string
}

// reader is one file being read.
type reader struct {
	name      string
	opt       Options
	file      *elf.File
	symbols   []elf.Symbol
	functions map[string]elf.Symbol // by name
	dataIndex map[string]int        // section name → index in out.Data
	dataAt    map[elf.SectionIndex]int
	mapIndex  map[string]int // map name → index in out.Maps
	out       Object
}

// Read parses an object file. name is how errors call it. Every error names the
// file, and the section and the reason where there are such.
func Read(name string, file []byte, opt Options) (*Object, error) {
	r := &reader{name: name, opt: opt, functions: map[string]elf.Symbol{}, dataIndex: map[string]int{},
		dataAt: map[elf.SectionIndex]int{}, mapIndex: map[string]int{}}
	if err := r.read(file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &r.out, nil
}

func (r *reader) read(file []byte) error {
	if err := r.open(file); err != nil {
		return err
	}
	for _, step := range []func() error{r.checkSections, r.readSymbols, r.readData} {
		if err := step(); err != nil {
			return err
		}
	}
	spec, err := parse(file)
	if err != nil {
		return err
	}
	if err := r.readMaps(spec); err != nil {
		return err
	}
	return r.readPrograms(spec)
}

// parse calls the library. Its reader of type information is large; whatever a
// hostile file makes it panic with is this file's error, not ours.
func parse(file []byte) (spec *ebpf.CollectionSpec, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed object: %v", p)
		}
	}()
	return ebpf.LoadCollectionSpecFromReader(bytes.NewReader(file))
}

// readPrograms takes the global functions of executable sections other than
// .text: those are the entries. Static functions there are only called.
func (r *reader) readPrograms(spec *ebpf.CollectionSpec) error {
	for name, p := range spec.Programs {
		sym, ok := r.functions[name]
		if !ok || elf.ST_BIND(sym.Info) == elf.STB_LOCAL {
			continue
		}
		out := Program{Name: name, Section: p.SectionName}
		if err := r.convert(&out, p.Instructions); err != nil {
			return fmt.Errorf("section %s, program %s: %w", p.SectionName, name, err)
		}
		r.out.Programs = append(r.out.Programs, out)
	}
	switch n := len(r.out.Programs); {
	case n == 0:
		return fmt.Errorf("no program: there is no global function in a section that is a hook")
	case n > programsMax:
		return fmt.Errorf("%d programs are more than programsMax %d", n, programsMax)
	}
	slices.SortFunc(r.out.Programs, func(a, b Program) int {
		return cmp.Or(cmp.Compare(a.Section, b.Section), cmp.Compare(a.Name, b.Name))
	})
	return nil
}
