package bpfvm

// object.go: load → verify → link → compile.

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"edge/bpfvm/elf"
	"edge/bpfvm/isa"
)

// Engine selects how programs are executed.
type Engine uint8

const (
	// Auto is native code where there is a compiler for the processor and the
	// system lets us make pages executable, and else the interpreter.
	Auto Engine = iota
	// Interpreter is the reference.
	Interpreter
	// Native fails to load where there is no native code.
	Native
)

// String names the engine.
func (e Engine) String() string {
	return [...]string{"auto", "interpreter", "native"}[e]
}

const (
	stackFrame = isa.StackFrameBytes
	// inputBytesDefault is the room for a run's input if Options.InputMax is zero.
	inputBytesDefault = 4096
)

// Options say what a loaded object may do.
type Options struct {
	// Helpers that programs may call; nil for none.
	Helpers *HelperTable
	// Sections that programs may stand in; a program elsewhere is refused.
	// Empty allows any.
	Sections []string
	// Engine to run them with.
	Engine Engine
	// InputMax is the size in bytes of the largest input, inputBytesDefault if zero.
	InputMax int
	// InputWritable lets programs store to their input.
	InputWritable bool
	// Maps keeps the shared maps; nil keeps them for this object alone.
	Maps *MapStore
}

// Object is a loaded file: verified, linked and compiled programs, immutable and
// shared by all workers. Close it when its last user is gone.
type Object struct {
	name          string
	programs      []*Program
	data          []elf.Data
	maps          []*objectMap
	store         *MapStore
	layout        layout
	inputMax      int
	inputWritable bool
	engine        Engine
	engineReason  error // why Auto became the interpreter
	instances     atomic.Int64
}

// Load reads an ELF object. name is how errors call the file.
func Load(name string, file []byte, opt Options) (*Object, error) {
	parsed, err := elf.Read(name, file, elf.Options{Sections: opt.Sections})
	if err != nil {
		return nil, err
	}
	return newObject(name, parsed, opt)
}

// LoadInsns makes an object of one program out of plain instructions.
func LoadInsns(name string, insns []isa.Insn, opt Options) (*Object, error) {
	parsed := &elf.Object{Programs: []elf.Program{{Name: name, Insns: slices.Clone(insns)}}}
	return newObject("", parsed, opt)
}

func newObject(name string, parsed *elf.Object, opt Options) (_ *Object, err error) {
	o := &Object{name: name, data: parsed.Data, inputMax: opt.InputMax, inputWritable: opt.InputWritable}
	if o.inputMax == 0 {
		o.inputMax = inputBytesDefault
	}
	if o.inputMax < 0 || o.inputMax > inputBytesMax {
		return nil, fmt.Errorf("%s: input of %d bytes is more than inputBytesMax %d", name, o.inputMax, inputBytesMax)
	}
	defer func() {
		if err != nil {
			o.release()
		}
	}()
	if err := o.openMaps(parsed.Maps, opt.Maps); err != nil {
		return nil, err
	}
	if err := o.addPrograms(parsed.Programs, opt.Helpers); err != nil {
		return nil, err
	}
	if err := o.link(parsed); err != nil {
		return nil, err
	}
	return o, o.compile(opt.Engine)
}

// addPrograms resolves helpers and verifies. Constants that are addresses are
// filled in later, when the stack depth of all programs is known; verification
// does not look at them.
func (o *Object) addPrograms(parsed []elf.Program, helpers *HelperTable) error {
	for _, ep := range parsed {
		p := &Program{name: ep.Name, section: ep.Section, object: o, insns: ep.Insns, lines: ep.Lines}
		for _, ref := range ep.Refs {
			if ref.Kind != elf.RefHelper {
				continue
			}
			h := helpers.name(ref.Name)
			if h == nil {
				return p.refuse(ref.Insn, fmt.Sprintf("there is no helper called %s", ref.Name))
			}
			p.insns[ref.Insn] = isa.New(isa.OpCall, 0, isa.CallHelper, 0, h.Number)
		}
		flow, bad := analyse(p.insns)
		if bad != nil {
			return p.refuse(bad.insn, bad.reason)
		}
		p.flow = flow
		if err := p.bindHelpers(helpers); err != nil {
			return err
		}
		o.programs = append(o.programs, p)
	}
	return nil
}

// bindHelpers replaces each helper's number by its index in p.helpers.
func (p *Program) bindHelpers(table *HelperTable) error {
	index := map[int32]int32{}
	for i, in := range p.insns {
		if p.flow.second[i] || in.Op != isa.OpCall || in.Src() != isa.CallHelper {
			continue
		}
		at, known := index[in.Imm]
		if !known {
			h := table.number(in.Imm)
			if h == nil {
				return p.refuse(i, fmt.Sprintf("there is no helper number %d", in.Imm))
			}
			at = int32(len(p.helpers))
			index[in.Imm] = at
			p.helpers = append(p.helpers, h)
		}
		p.insns[i].Imm = at
	}
	return nil
}

// link lays out memory and fills in addresses and map handles, in instructions
// and in data.
func (o *Object) link(parsed *elf.Object) error {
	frames := 1
	for _, p := range o.programs {
		frames = max(frames, p.flow.frames)
	}
	var err error
	if o.layout, err = newLayout(o, frames); err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	address := func(section int, offset uint32) uint64 {
		return guestBase + uint64(o.layout.data[section]) + uint64(offset)
	}
	for _, ref := range parsed.DataRefs {
		binary.LittleEndian.PutUint64(o.data[ref.Index].Bytes[ref.Offset:], address(ref.Target, ref.Addend))
	}
	for i, ep := range parsed.Programs {
		insns := o.programs[i].insns
		for _, ref := range ep.Refs {
			var v uint64
			switch ref.Kind {
			case elf.RefData:
				v = address(ref.Index, ref.Offset)
			case elf.RefMap:
				v = mapHandle(ref.Index)
			default:
				continue
			}
			insns[ref.Insn].Imm = int32(v)
			insns[ref.Insn+1].Imm = int32(v >> 32)
		}
	}
	return nil
}

// compile picks the engine and makes native code.
func (o *Object) compile(want Engine) error {
	o.engine = Interpreter
	if want == Interpreter {
		return nil
	}
	for _, p := range o.programs {
		if err := p.compileNative(); err != nil {
			o.releaseNative()
			if want == Native {
				return fmt.Errorf("%s: native code: %w", p.place(0), err)
			}
			o.engineReason = err
			return nil
		}
	}
	o.engine = Native
	return nil
}

// Programs returns the programs, by section, then name. The slice is the object's.
func (o *Object) Programs() []*Program { return o.programs }

// Engine returns what runs the programs, and why it is the interpreter if Auto
// was asked for and native code could not be had.
func (o *Object) Engine() (Engine, error) { return o.engine, o.engineReason }

// Budgets that take about 50 µs. Native code executes three or four instructions a
// nanosecond (a byte-wise hash, a loop of helpers), the interpreter one in five.
const (
	sliceNative      = 150_000
	sliceInterpreter = 10_000
)

// Slice returns the budget for Task.Run that takes about 50 µs: as long as a worker
// may leave its other connections waiting.
func (o *Object) Slice() int64 {
	if o.engine == Native {
		return sliceNative
	}
	return sliceInterpreter
}

// Close unmaps code and lets go of shared maps. All instances must be closed.
func (o *Object) Close() {
	if n := o.instances.Load(); n != 0 {
		panic(fmt.Sprintf("BUG: object %s closed with %d instances", o.name, n))
	}
	o.release()
}

func (o *Object) release() {
	o.releaseNative()
	o.closeMaps()
}

func (o *Object) releaseNative() {
	for _, p := range o.programs {
		p.native.release()
	}
}
