package bpfvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edge/bpfvm/asm"
)

// engines lists what this machine can run.
func engines() []Engine {
	if nativeAvailable() {
		return []Engine{Interpreter, Native}
	}
	return []Engine{Interpreter}
}

// conformanceHelpers are what the public suite calls: helper 5 gives back its
// first argument.
func conformanceHelpers(t testing.TB) *HelperTable {
	table, err := NewHelperTable(append(MapHelpers(), HelperSpec{5, "unwind", func(t *Task) (uint64, bool) { return t.Arg(1), true }})...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// runCase runs a case file's program and gives r0 or what stopped it, and the
// input afterwards.
func runCase(t testing.TB, c *asm.Case, e Engine) (r0 uint64, mem []byte, err error) {
	o, err := LoadInsns("case", c.Insns, Options{Engine: e, InputMax: len(c.Mem), InputWritable: true, Helpers: conformanceHelpers(t)})
	if err != nil {
		return 0, nil, err
	}
	defer o.Close()
	inst, err := o.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	var task Task
	if err := task.Start(inst, o.Programs()[0], c.Mem); err != nil {
		t.Fatal(err)
	}
	exit := task.Run(1 << 20)
	mem = append(mem, inst.arena.mem[o.layout.input:int(o.layout.input)+len(c.Mem)]...)
	switch exit {
	case Done:
		return task.Result(), mem, nil
	case Trap:
		return 0, mem, task.Trap()
	}
	t.Fatalf("program leaves with %v", exit)
	return 0, nil, nil
}

// TestCases runs every file of testvectors/bpf in every engine. BPF_CONFORMANCE
// may name a folder with the public suite's files, which are run as well.
func TestCases(t *testing.T) {
	dirs := []string{"../testvectors/bpf"}
	if d := os.Getenv("BPF_CONFORMANCE"); d != "" {
		dirs = append(dirs, d)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.data"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no cases in %s: %v", dir, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) { checkCase(t, file) })
		}
	}
}

func checkCase(t *testing.T, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := asm.ReadCase(f)
	if err != nil || c.Skipped {
		t.Fatalf("cannot read: %v", err)
	}
	for _, e := range engines() {
		r0, mem, err := runCase(t, c, e)
		switch {
		case c.Error != "" && (err == nil || !strings.Contains(err.Error(), c.Error)):
			t.Errorf("%v: got %#x, %v; want an error with %q", e, r0, err, c.Error)
		case c.Error == "" && err != nil:
			t.Errorf("%v: %v", e, err)
		case c.Error == "" && r0 != c.Result:
			t.Errorf("%v: r0 is %#x, want %#x", e, r0, c.Result)
		case c.MemAfter != nil && string(mem) != string(c.MemAfter):
			t.Errorf("%v: input became % x, want % x", e, mem, c.MemAfter)
		}
	}
}

func nativeAvailable() bool {
	insns, _ := asm.Parse("exit")
	o, err := LoadInsns("probe", insns, Options{Engine: Native})
	if err != nil {
		return false
	}
	o.Close()
	return true
}
