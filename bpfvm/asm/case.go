package asm

// case.go: one test case as one readable file.
//
//	# what it is about
//	-- asm              the program as text, or
//	-- raw              as 64-bit words: opcode in the low byte, immediate on top
//	-- mem              input bytes in hexadecimal
//	-- result           r0 when it exits, or
//	-- error            words that the refusal or the trap must contain
//	-- mem after        input bytes when it exits (optional)

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"edge/bpfvm/isa"
)

// Case is a program, its input and what must come of it.
type Case struct {
	Insns    []isa.Insn
	Mem      []byte
	MemAfter []byte // nil if the file does not say
	Result   uint64 // r0, if Error is empty
	Error    string
	Skipped  bool // the file holds no program or expects nothing
}

// ReadCase parses a case file.
func ReadCase(r io.Reader) (*Case, error) {
	parts, err := sections(r)
	if err != nil {
		return nil, err
	}
	c := &Case{Error: strings.TrimSpace(parts["error"])}
	if parts["raw"] != "" {
		c.Insns, err = rawWords(parts["raw"])
	} else {
		c.Insns, err = Parse(parts["asm"])
	}
	if err != nil {
		return nil, err
	}
	if c.Mem, err = HexBytes(parts["mem"]); err != nil {
		return nil, err
	}
	if after, ok := parts["mem after"]; ok {
		if c.MemAfter, err = HexBytes(after); err != nil {
			return nil, err
		}
	}
	result := strings.TrimSpace(parts["result"])
	c.Skipped = len(c.Insns) == 0 || result == "" && c.Error == ""
	if result != "" {
		c.Result, err = number64(result)
	}
	return c, err
}

// sections cuts the file at its "-- name" lines. Comment signs and blank lines
// stay in "asm" so that line numbers are those of the section.
func sections(r io.Reader) (map[string]string, error) {
	parts := map[string]string{}
	name := ""
	s := bufio.NewScanner(io.LimitReader(r, sourceBytesMax))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line, _, _ := strings.Cut(s.Text(), "#")
		if title, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSpace(title)
			continue
		}
		if strings.TrimSpace(line) != "" || name == "asm" {
			parts[name] += line + "\n"
		}
	}
	return parts, s.Err()
}

// HexBytes reads pairs of hexadecimal digits separated by blanks.
func HexBytes(text string) ([]byte, error) {
	fields := strings.Fields(text)
	out := make([]byte, len(fields))
	for i, f := range fields {
		v, err := strconv.ParseUint(strings.TrimPrefix(f, "0x"), 16, 8)
		if err != nil {
			return nil, fmt.Errorf("asm: bad byte %q", f)
		}
		out[i] = byte(v)
	}
	return out, nil
}

func rawWords(text string) ([]isa.Insn, error) {
	var code []byte
	for _, f := range strings.Fields(text) {
		v, err := strconv.ParseUint(f, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("asm: bad word %q", f)
		}
		code = binary.LittleEndian.AppendUint64(code, v)
	}
	return isa.Decode(code)
}
