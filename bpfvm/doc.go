// Package bpfvm runs eBPF programs (RFC 9669) in user space: it loads them from
// ELF objects, verifies their shape, compiles them to native code on amd64, and
// runs them one small step at a time between the callers' own work.
//
//	object  := Load(file, bytes, Options{Helpers: table})   once per file
//	instance := object.NewInstance()                         once per worker
//	task.Start(instance, program, input)                     once per request
//	for { switch task.Run(budget) { … } }                    done, helper, budget, trap
//
// # What it promises
//
// Memory safety does not rest on the verifier. Every guest address is an offset
// into an arena that the instance owns; every access is compared with the
// arena's bounds and masked to its size before it is made, so that no program
// can name memory outside it and no fault is ever needed. Stores reach the
// stack, the data sections, map values and, if asked for, the input; nothing
// else. The one exception to the check, loads and stores at a constant offset
// from r10, rests on r10 being unwritable and the offset being inside the frame,
// both of which the verifier and the compiler check.
//
// Time is bounded without signals: instructions are charged at the head of each
// loop, at each call and at each helper, in both engines alike, and a program
// whose budget is spent leaves where it is and goes on there later.
//
// Native code never calls Go. It leaves with an exit code, its registers stored,
// and is entered again where it left (see enter_amd64.s).
//
// # What it does not do
//
// There is no proof that a program terminates or that its pointers are good: a
// bad pointer is a trap at run time, named by file and line. Tail calls, calls
// through a register, kernel type information (CO-RE) and the retired packet
// loads are refused at load.
package bpfvm
