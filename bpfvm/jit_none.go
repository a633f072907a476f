//go:build !amd64

package bpfvm

// jit_none.go: processors without a compiler run the interpreter.

import "errors"

type nativeCode struct{}

func (nativeCode) release() {}

func (p *Program) compileNative() error {
	return errors.New("there is no compiler for this processor")
}

func (p *Program) entry() uint64 { return resumeAt(0, paidNothing) }

func (p *Program) enter(a *arena) { p.interpret(a) }
