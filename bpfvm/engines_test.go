package bpfvm

// engines_test.go: the interpreter and native code must do the same on any program
// at all, step by step; and nothing around the arena may change, whatever they do.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"edge/bpfvm/elf"
	"edge/bpfvm/isa"
)

const sentinel = 0xa7

// pair runs one program in both engines.
type pair struct {
	testing.TB
	objects   [2]*Object
	instances [2]*Instance
	tasks     [2]Task
}

// newPair loads the program in both engines, beside a read-only section, a data
// section and a map. It returns nil if the verifier refuses it.
func newPair(t testing.TB, insns []isa.Insn) *pair {
	p := &pair{TB: t}
	table, err := NewHelperTable(append(MapHelpers(),
		HelperSpec{5, "mix", func(t *Task) (uint64, bool) { return t.Arg(1)*31 + t.Arg(2) ^ t.Arg(3), true }},
		HelperSpec{6, "later", nil},
		HelperSpec{7, "fill", fillHelper},
	)...)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range []Engine{Interpreter, Native} {
		parsed := &elf.Object{
			Programs: []elf.Program{{Name: "p", Insns: append([]isa.Insn(nil), insns...)}},
			Data:     []elf.Data{{Name: ".rodata", Bytes: bytes.Repeat([]byte{0x5a}, 100), ReadOnly: true}, {Name: ".data", Bytes: bytes.Repeat([]byte{0xbc}, 100)}},
			Maps:     []elf.Map{{Name: "m", Type: elf.MapPerCPUArr, KeyBytes: 4, ValueBytes: 24, EntriesMax: 10}},
		}
		o, err := newObject("", parsed, Options{Helpers: table, Engine: e, InputMax: 48, InputWritable: insns[0].Imm&1 != 0})
		if err != nil {
			if i == 1 {
				t.Fatalf("the interpreter takes it, native code says %v", err)
			}
			return nil
		}
		inst, err := o.NewInstance()
		if err != nil {
			t.Fatal(err)
		}
		p.objects[i], p.instances[i] = o, inst
		for k := range p.outside(i) {
			for b := range p.outside(i)[k] {
				p.outside(i)[k][b] = sentinel
			}
		}
	}
	return p
}

// fillHelper writes to guest memory: argument 2 bytes at argument 1.
func fillHelper(t *Task) (uint64, bool) {
	b, ok := t.Writable(t.Arg(1), int(t.Arg(2)%64))
	if !ok {
		t.Fail("argument 1 cannot be written")
		return 0, true
	}
	for i := range b {
		b[i] += byte(i)
	}
	return uint64(len(b)), true
}

// outside is the mapping before the state and behind the arena.
func (p *pair) outside(i int) [2][]byte {
	a := p.instances[i].arena
	return [2][]byte{a.mapping[:statePage-int(stateBytes)], a.mem[p.objects[i].layout.size:]}
}

func (p *pair) close() {
	for i := range p.objects {
		for _, part := range p.outside(i) {
			for at, b := range part {
				if b != sentinel {
					p.Fatalf("engine %d: byte %d outside the arena was written", i, at)
				}
			}
		}
		p.instances[i].Close()
		p.objects[i].Close()
	}
}

// run executes in slices and compares after each.
func (p *pair) run(input []byte, slice int64, turns int) (last Exit) {
	for i := range p.tasks {
		if err := p.tasks[i].Start(p.instances[i], p.objects[i].Programs()[0], input); err != nil {
			p.Fatal(err)
		}
	}
	for turn := range turns {
		var exits [2]Exit
		for i := range p.tasks {
			exits[i] = p.tasks[i].Run(slice)
		}
		if exits[0] != exits[1] {
			p.Fatalf("turn %d: interpreter %v, native %v (%v | %v)", turn, exits[0], exits[1], p.tasks[0].Trap(), p.tasks[1].Trap())
		}
		p.compare(turn, exits[0])
		switch exits[0] {
		case Done, Trap:
			return exits[0]
		case Helper:
			for i := range p.tasks {
				p.tasks[i].Return(uint64(turn) * 0x1234567)
			}
		}
	}
	for i := range p.tasks {
		p.tasks[i].Stop()
	}
	return Budget
}

func (p *pair) compare(turn int, exit Exit) {
	a, b := p.instances[0].arena, p.instances[1].arena
	if a.st.regs != b.st.regs || a.st.budget != b.st.budget {
		p.Fatalf("turn %d (%v): registers\n%x budget %d\n%x budget %d", turn, exit, a.st.regs, a.st.budget, b.st.regs, b.st.budget)
	}
	size := p.objects[0].layout.size
	if !bytes.Equal(a.mem[:size], b.mem[:size]) {
		p.Fatalf("turn %d (%v): memory differs", turn, exit)
	}
	switch exit {
	case Trap:
		if got, want := fmt.Sprint(p.tasks[1].Trap()), fmt.Sprint(p.tasks[0].Trap()); got != want {
			p.Fatalf("traps: interpreter %q, native %q", want, got)
		}
	case Helper:
		if a.st.pc != b.st.pc || a.st.helper != b.st.helper {
			p.Fatalf("turn %d: helper at %d and %d", turn, a.st.pc, b.st.pc)
		}
	}
	for i, part := range p.outside(1) {
		if !bytes.Equal(part, p.outside(0)[i]) {
			p.Fatal("memory outside the arena differs")
		}
	}
}

func showProgram(t testing.TB, insns []isa.Insn) {
	if t.Failed() {
		for i, line := range isa.Format(insns) {
			t.Logf("%3d  %s", i, line)
		}
	}
}

func runBoth(t testing.TB, insns []isa.Insn, input []byte, slice int64) Exit {
	defer showProgram(t, insns)
	p := newPair(t, insns)
	if p == nil {
		return 0
	}
	defer p.close()
	return p.run(input, slice, 200)
}

// FuzzEngines runs generated programs.
func FuzzEngines(f *testing.F) {
	skipWithoutNative(f)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 20 {
		src := make([]byte, 50*(n+1))
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		f.Add(src, []byte("input of some bytes"), uint16(100*n+1))
	}
	f.Fuzz(func(t *testing.T, src, input []byte, slice uint16) {
		runBoth(t, generate(src), input[:min(len(input), 48)], int64(slice))
	})
}

// FuzzCode runs whatever bytes the verifier accepts.
func FuzzCode(f *testing.F) {
	skipWithoutNative(f)
	for _, text := range []string{"exit", "ldxdw %r0, [%r1+8]\nexit", "call local +1\nexit\nexit", "ja -1", "l: add %r0, 1\ncall 6\nja l"} {
		f.Add(isa.Append(nil, mustParse(f, text)...), []byte("input"))
	}
	f.Fuzz(func(t *testing.T, code, input []byte) {
		insns, err := isa.Decode(code[:len(code)&^7])
		if err != nil || len(insns) == 0 || len(insns) > 2000 {
			return
		}
		runBoth(t, insns, input[:min(len(input), 48)], 300)
	})
}

func skipWithoutNative(t testing.TB) {
	if !nativeAvailable() {
		t.Skip("there is no native code on this machine to compare with")
	}
}

// TestEnginesAgree runs a fixed sample of generated programs, and checks that the
// sample is worth running: programs end in every way there is. BPFVM_PROGRAMS asks
// for more of them, beginning with another seed.
func TestEnginesAgree(t *testing.T) {
	skipWithoutNative(t)
	programs := 400
	if n, err := strconv.Atoi(os.Getenv("BPFVM_PROGRAMS")); err == nil {
		programs = n
	}
	r := rand.New(rand.NewPCG(42, uint64(programs)))
	exits := map[Exit]int{}
	for range programs {
		src, input := make([]byte, 100+r.IntN(900)), make([]byte, r.IntN(49))
		for _, b := range [][]byte{src, input} {
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		}
		exits[runBoth(t, generate(src), input, 1+int64(r.IntN(500)))]++
		if t.Failed() {
			return
		}
	}
	if exits[0] != 0 {
		t.Errorf("%d generated programs were refused by the verifier", exits[0])
	}
	for _, e := range []Exit{Done, Trap, Budget} {
		if exits[e] < programs/30 {
			t.Errorf("only %d programs of %d ended with %v", exits[e], programs, e)
		}
	}
}

// FuzzLoad runs the programs of whatever objects can be loaded.
func FuzzLoad(f *testing.F) {
	for _, name := range []string{"strings_nobtf.o", "globals_nobtf.o", "calls_nobtf.o", "maps.o"} {
		for _, file := range objects(f, name) {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		o, err := Load("fuzz.o", file, Options{Helpers: objectHelpers(t), InputMax: 64})
		if err != nil {
			return
		}
		defer o.Close()
		inst, err := o.NewInstance()
		if err != nil {
			return // too large for this machine
		}
		defer inst.Close()
		task := Task{User: &recorder{}}
		for _, p := range o.Programs() {
			if err := task.Start(inst, p, make([]byte, 32)); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if task.Run(500) != Budget {
					break
				}
			}
			task.Stop()
		}
	})
}
