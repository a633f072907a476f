// Package asm reads eBPF programs written as text, in the spelling of the public
// conformance suite, and the test-case files built around it.
//
//	mov %r0, 0            # registers are %r0 to %r10, or r0 to r10
//	loop:                 # a label; without one, "exit" names the first exit
//	jlt %r1, 10, loop     # or a distance: +2, -3
package asm

// parse.go: lines to instructions, in one pass with labels patched at the end.

import (
	"fmt"
	"strconv"
	"strings"

	"edge/bpfvm/isa"
)

// sourceBytesMax bounds the text of one program.
const sourceBytesMax = 8 << 20

// Parse assembles a whole program. Errors name the line, counted from 1.
func Parse(text string) ([]isa.Insn, error) {
	if len(text) > sourceBytesMax {
		return nil, fmt.Errorf("asm: source is %d bytes, more than %d", len(text), sourceBytesMax)
	}
	p := parser{labels: map[string]int{}}
	for n, line := range strings.Split(text, "\n") {
		p.line = n + 1
		if err := p.readLine(line); err != nil {
			return nil, fmt.Errorf("asm: line %d: %w", p.line, err)
		}
	}
	if err := p.patch(); err != nil {
		return nil, err
	}
	return p.insns, nil
}

type parser struct {
	insns  []isa.Insn
	labels map[string]int
	fixups []fixup
	line   int
}

// fixup is a jump whose label was not known when it was read.
type fixup struct {
	at    int
	label string
	line  int
	wide  bool // the distance goes in the immediate
}

func (p *parser) readLine(line string) error {
	for _, mark := range []string{"#", ";", "//"} {
		line, _, _ = strings.Cut(line, mark)
	}
	line = strings.TrimSpace(line)
	for {
		name, rest, found := strings.Cut(line, ":")
		if !found {
			break
		}
		if err := p.define(strings.TrimSpace(name)); err != nil {
			return err
		}
		line = strings.TrimSpace(rest)
	}
	if line == "" {
		return nil
	}
	return p.instruction(line)
}

func (p *parser) define(label string) error {
	if label == "" || strings.ContainsAny(label, " \t,[]%") {
		return fmt.Errorf("bad label %q", label)
	}
	if _, twice := p.labels[label]; twice {
		return fmt.Errorf("label %q is defined twice", label)
	}
	p.labels[label] = len(p.insns)
	return nil
}

// instruction splits "word word op, op, op" and hands the parts to the encoder
// that the mnemonic names.
func (p *parser) instruction(line string) error {
	words, ops := splitOperands(line)
	enc, ok := mnemonics[words]
	if !ok {
		return fmt.Errorf("unknown instruction %q", words)
	}
	if len(ops) != enc.operands {
		return fmt.Errorf("%s takes %d operands, not %d", words, enc.operands, len(ops))
	}
	return enc.encode(p, ops)
}

// splitOperands separates the mnemonic, which may be several words ("lock fetch
// add"), from the comma-separated operands.
func splitOperands(line string) (mnemonic string, ops []string) {
	fields := strings.Fields(line)
	n := 1
	for n < len(fields) && n < 3 {
		if _, ok := mnemonics[strings.Join(fields[:n+1], " ")]; !ok && fields[0] != "lock" {
			break
		}
		if isOperand(fields[n]) {
			break
		}
		n++
	}
	mnemonic = strings.Join(fields[:n], " ")
	rest := strings.TrimSpace(strings.Join(fields[n:], " "))
	if rest == "" {
		return mnemonic, nil
	}
	for _, op := range strings.Split(rest, ",") {
		ops = append(ops, strings.TrimSpace(op))
	}
	return mnemonic, ops
}

func isOperand(s string) bool {
	return strings.HasPrefix(s, "%") || strings.HasPrefix(s, "[")
}

func (p *parser) emit(in isa.Insn) { p.insns = append(p.insns, in) }

// emitJump adds a jump to a label or a signed distance.
func (p *parser) emitJump(in isa.Insn, target string, wide bool) error {
	if strings.HasPrefix(target, "+") || strings.HasPrefix(target, "-") {
		d, err := strconv.ParseInt(target, 0, 32)
		if err != nil {
			return fmt.Errorf("bad distance %q", target)
		}
		in, err = withDistance(in, d, wide)
		p.emit(in)
		return err
	}
	p.fixups = append(p.fixups, fixup{len(p.insns), target, p.line, wide})
	p.emit(in)
	return nil
}

func withDistance(in isa.Insn, d int64, wide bool) (isa.Insn, error) {
	if wide {
		in.Imm = int32(d)
		return in, nil
	}
	if d != int64(int16(d)) {
		return in, fmt.Errorf("distance %d does not fit 16 bits", d)
	}
	in.Off = int16(d)
	return in, nil
}

func (p *parser) patch() error {
	for _, f := range p.fixups {
		to, ok := p.target(f.label)
		if !ok {
			return fmt.Errorf("asm: line %d: no label %q", f.line, f.label)
		}
		in, err := withDistance(p.insns[f.at], int64(to-f.at-1), f.wide)
		if err != nil {
			return fmt.Errorf("asm: line %d: %w", f.line, err)
		}
		p.insns[f.at] = in
	}
	return nil
}

// target finds a label. "exit", when not defined, is the first exit instruction,
// as in the conformance suite.
func (p *parser) target(label string) (int, bool) {
	if at, ok := p.labels[label]; ok {
		return at, true
	}
	if label != "exit" {
		return 0, false
	}
	for at, in := range p.insns {
		if in.Op == isa.OpExit {
			return at, true
		}
	}
	return 0, false
}
