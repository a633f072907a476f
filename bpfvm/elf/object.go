// Package elf reads eBPF object files as clang makes them and hands back plain
// instructions with a list of what they refer to. It parses through
// github.com/cilium/ebpf, needs no kernel and no privilege, and decides nothing
// about addresses: package bpfvm lays out memory and fills the references in.
package elf

// object.go: what comes out.

import "edge/bpfvm/isa"

// Object is one parsed file.
type Object struct {
	Programs []Program // by section, then name
	Data     []Data    // data sections
	DataRefs []DataRef // pointers in data sections
	Maps     []Map     // maps declared in .maps, by name
}

// Program is an entry function with every function that it calls, the entry
// first. Calls between them are already distances.
type Program struct {
	Name    string // of the entry function
	Section string // that it stands in
	Insns   []isa.Insn
	Refs    []Ref
	Lines   []Line // by instruction; empty without BTF
}

// Data is a .rodata, .data or .bss section.
type Data struct {
	Name     string
	Bytes    []byte // initial contents
	ReadOnly bool
}

// MapType is a bpf_map_type, numbered as the kernel does.
type MapType uint32

// The map types there are. The per-CPU ones are per worker here.
const (
	MapHash       MapType = 1
	MapArray      MapType = 2
	MapPerCPUHash MapType = 5
	MapPerCPUArr  MapType = 6
	MapLRUHash    MapType = 9
	MapLRUPerCPU  MapType = 10
)

// Map is a map declaration.
type Map struct {
	Name       string
	Type       MapType
	KeyBytes   uint32
	ValueBytes uint32
	EntriesMax uint32
	// Pinned maps (LIBBPF_PIN_BY_NAME) are one and the same in every object that
	// declares the name; others belong to their object.
	Pinned bool
}

// RefKind says what an instruction refers to.
type RefKind uint8

// The kinds of reference.
const (
	RefData   RefKind = iota // lddw: address of Data[Index] plus Offset
	RefMap                   // lddw: handle of Maps[Index]
	RefHelper                // call: the helper called Name
)

// Ref is one reference.
type Ref struct {
	Insn   int
	Kind   RefKind
	Index  int
	Offset uint32
	Name   string
}

// Line says that the instructions from Insn on come from a source line.
type Line struct {
	Insn int
	File string
	Line int
}

// DataRef is a pointer that stands in a data section: eight bytes at
// Data[Index].Bytes[Offset:] that hold the address of Data[Target] plus Addend.
type DataRef struct {
	Index  int
	Offset uint32
	Target int
	Addend uint32
}
