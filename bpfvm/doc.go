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
// # Questions
//
// Why a budget and not a timer? A timer has to stop native code from outside, by a
// signal or by taking its pages away, and either kills or confuses a Go process.
// A subtraction at the head of each loop costs less than a nanosecond, stops a
// program at the same instruction every time, and can be tested.
//
// Why offsets into an arena and not real pointers in a cage of guard pages? A cage
// needs a handler for the fault when a program leaves it. Here a bad address is an
// ordinary comparison, and the answer names the source line.
//
// Why does a helper leave the program? So that Go code is called by Go code: on its
// own stack, seen by the collector, free to block, to allocate or to run another
// program. It costs about ten nanoseconds. A helper that has to wait is then no
// different from one that does not.
//
// Why one arena for many tasks? A worker serves thousands of requests and nearly
// every run ends in one go. The few that wait are copied out when another needs
// the place: a stack of a few frames and a small input.
//
// # What it does not do
//
// There is no proof that a program terminates or that its pointers are good: a
// bad pointer is a trap at run time, named by file and line. Tail calls, calls
// through a register, kernel type information (CO-RE) and the retired packet
// loads are refused at load.
package bpfvm
