// Command bpfasm assembles, shows and runs single eBPF programs.
//
//	bpfasm run [--engine E] FILE.data…    run test cases (testvectors/bpf)
//	bpfasm asm FILE                       assemble text to hexadecimal
//	bpfasm dis                            hexadecimal on standard input to text
//	bpfasm [MEMORY] [--engine E] [--elf]  plugin of the bpf_conformance suite
//
// E is native, interpreter or, for run, both (the default there). As a plugin it
// reads the program from standard input, its memory from the first argument, both
// as hexadecimal bytes, and prints r0; --elf says that the program is an object.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"edge/bpfvm"
	"edge/bpfvm/asm"
	"edge/bpfvm/isa"
)

func main() {
	if err := command(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bpfasm:", err)
		os.Exit(1)
	}
}

func command(args []string, in io.Reader, out io.Writer) error {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "run":
		return runCases(args[1:], out)
	case "asm":
		return assemble(args[1:], out)
	case "dis":
		return disassemble(in, out)
	}
	return plugin(args, in, out)
}

func assemble(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("asm takes one file")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	insns, err := asm.Parse(string(text))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "% x\n", isa.Append(nil, insns...))
	return err
}

func disassemble(in io.Reader, out io.Writer) error {
	insns, err := readProgram(in)
	if err != nil {
		return err
	}
	for _, line := range isa.Format(insns) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

func readHex(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	return asm.HexBytes(string(text))
}

func readProgram(in io.Reader) ([]isa.Insn, error) {
	code, err := readHex(in)
	if err != nil {
		return nil, err
	}
	return isa.Decode(code)
}

// plugin runs one program the way the conformance suite asks.
func plugin(args []string, in io.Reader, out io.Writer) error {
	var memory []byte
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		var err error
		if memory, err = asm.HexBytes(args[0]); err != nil {
			return err
		}
		args = args[1:]
	}
	flags := flag.NewFlagSet("bpfasm", flag.ContinueOnError)
	engine := flags.String("engine", "native", "native or interpreter")
	object := flags.Bool("elf", false, "the program is an ELF object")
	if err := flags.Parse(args); err != nil {
		return err
	}
	e, err := engineNamed(*engine)
	if err != nil {
		return err
	}
	code, err := readHex(in)
	if err != nil {
		return err
	}
	r0, _, err := run(load(code, *object), memory, e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%x\n", r0)
	return err
}

func engineNamed(name string) (bpfvm.Engine, error) {
	for _, e := range []bpfvm.Engine{bpfvm.Native, bpfvm.Interpreter} {
		if e.String() == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("no engine is called %q", name)
}
