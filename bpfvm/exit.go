package bpfvm

// exit.go: what Run returns, and traps.

import (
	"fmt"
	"strings"
)

// Exit says why Run came back.
type Exit uint8

const (
	// Done: the program has ended; Task.Result is its r0.
	Done Exit = iota + 1
	// Helper: the helper Task.Helper waits to be performed. Give its result with
	// Task.Return, then Run again.
	Helper
	// Budget: the budget is spent. Run again to go on.
	Budget
	// Trap: the program did what it may not; Task.Trap says what. It has ended.
	Trap
)

// String names the exit.
func (e Exit) String() string {
	switch e {
	case Done:
		return "done"
	case Helper:
		return "helper"
	case Budget:
		return "budget"
	case Trap:
		return "trap"
	}
	return "none"
}

// Place is an instruction of a loaded program, for people to find.
type Place struct {
	File    string // object file
	Section string
	Program string
	Insn    int    // slot in the program
	Text    string // the instruction
	Source  string // source file, if the object has line information
	Line    int
}

// String gives "file: section S, program P, instruction N (text) at source:line".
func (p Place) String() string {
	var b strings.Builder
	if p.File != "" {
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	if p.Section != "" {
		fmt.Fprintf(&b, "section %s, ", p.Section)
	}
	fmt.Fprintf(&b, "program %s, instruction %d", p.Program, p.Insn)
	if p.Text != "" {
		fmt.Fprintf(&b, " (%s)", p.Text)
	}
	if p.Source != "" {
		fmt.Fprintf(&b, " at %s:%d", p.Source, p.Line)
	}
	return b.String()
}

// LoadError refuses a program, with the place and the reason.
type LoadError struct {
	Place  Place
	Reason string
}

func (e *LoadError) Error() string { return e.Place.String() + ": " + e.Reason }

// TrapError is why a run was ended.
type TrapError struct {
	Place  Place
	Reason string
}

func (e *TrapError) Error() string { return e.Place.String() + ": " + e.Reason }

// trapReason words an engine's trap.
func trapReason(code exitCode, width int, addr uint64) string {
	switch code {
	case exitLoad:
		return fmt.Sprintf("load of %d bytes at address %#x is out of bounds", width, addr)
	case exitStore:
		return fmt.Sprintf("store of %d bytes at address %#x is out of bounds or read-only", width, addr)
	case exitAlign:
		return fmt.Sprintf("atomic access to address %#x is not aligned to %d bytes", addr, width)
	case exitDepth:
		return fmt.Sprintf("functions nest deeper than %d", framesMax)
	}
	panic("BUG: trap with no reason")
}
