package main

// run.go: running a program and checking cases.

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"edge/bpfvm"
	"edge/bpfvm/asm"
	"edge/bpfvm/isa"
)

// budget stops a case that does not end, after some seconds of interpreting.
const budget = 1 << 30

// loader makes an object with the options that it is given.
type loader func(bpfvm.Options) (*bpfvm.Object, error)

func load(code []byte, object bool) loader {
	return func(opt bpfvm.Options) (*bpfvm.Object, error) {
		if object {
			return bpfvm.Load("program", code, opt)
		}
		insns, err := isa.Decode(code)
		if err != nil {
			return nil, err
		}
		return bpfvm.LoadInsns("program", insns, opt)
	}
}

// helpers are those of the kernel's maps, and number 5 of the conformance suite,
// which gives back its first argument.
func helpers() (*bpfvm.HelperTable, error) {
	return bpfvm.NewHelperTable(append(bpfvm.MapHelpers(),
		bpfvm.HelperSpec{Number: 5, Name: "unwind", Func: func(t *bpfvm.Task) (uint64, bool) { return t.Arg(1), true }})...)
}

// run executes the first program with memory as its input, and gives r0 and the
// memory afterwards.
func run(load loader, memory []byte, e bpfvm.Engine) (r0 uint64, after []byte, err error) {
	table, err := helpers()
	if err != nil {
		return 0, nil, err
	}
	o, err := load(bpfvm.Options{Helpers: table, Engine: e, InputMax: max(len(memory), 1), InputWritable: true})
	if err != nil {
		return 0, nil, err
	}
	defer o.Close()
	inst, err := o.NewInstance()
	if err != nil {
		return 0, nil, err
	}
	defer inst.Close()
	var task bpfvm.Task
	if err := task.Start(inst, o.Programs()[0], memory); err != nil {
		return 0, nil, err
	}
	input := task.Input()
	exit := task.Run(budget)
	after = slices.Clone(input) // the memory goes with the instance
	switch exit {
	case bpfvm.Done:
		return task.Result(), after, nil
	case bpfvm.Trap:
		return 0, after, task.Trap()
	}
	return 0, nil, fmt.Errorf("program does not end within %d instructions", budget)
}

// runCases prints one line per failing case and the count, and fails if any did.
func runCases(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	engine := flags.String("engine", "both", "native, interpreter or both")
	if err := flags.Parse(args); err != nil {
		return err
	}
	engines := []bpfvm.Engine{bpfvm.Interpreter, bpfvm.Native}
	if *engine != "both" {
		e, err := engineNamed(*engine)
		if err != nil {
			return err
		}
		engines = []bpfvm.Engine{e}
	}
	failed := 0
	for _, file := range flags.Args() {
		for _, e := range engines {
			if err := checkCase(file, e); err != nil {
				failed++
				fmt.Fprintf(out, "FAIL %s (%v): %v\n", file, e, err)
			}
		}
	}
	total := len(flags.Args()) * len(engines)
	fmt.Fprintf(out, "%d passed, %d failed\n", total-failed, failed)
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}

func checkCase(file string, e bpfvm.Engine) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	c, err := asm.ReadCase(f)
	if err != nil {
		return err
	}
	if c.Skipped {
		return fmt.Errorf("no program or no expectation")
	}
	r0, after, err := run(load(isa.Append(nil, c.Insns...), false), c.Mem, e)
	switch {
	case c.Error != "" && err == nil:
		return fmt.Errorf("got r0 %#x, want an error with %q", r0, c.Error)
	case c.Error != "" && !strings.Contains(err.Error(), c.Error):
		return fmt.Errorf("got %q, want an error with %q", err, c.Error)
	case c.Error != "":
		return nil
	case err != nil:
		return err
	case r0 != c.Result:
		return fmt.Errorf("got r0 %#x, want %#x", r0, c.Result)
	case c.MemAfter != nil && string(after) != string(c.MemAfter):
		return fmt.Errorf("memory became % x, want % x", after, c.MemAfter)
	}
	return nil
}
