package bpfvm

// run.go: entering and leaving programs. A task's life:
//
//	      Start            Run                     Done, Trap
//	idle -------> ready ---------> (executing) ---------------> idle
//	                ^                   |
//	                |  Run              | Budget
//	                +-------------------+
//	                |  Return, Run      | Helper
//	                +-------------------+
//
// While a helper is performed the task is running; Fail and Finish, called from
// there, end the program when the helper comes back.
//
// An instance executes one task at a time in its arena. When another task starts
// or goes on while one is in the middle, the first is put aside: its state, stack
// and input are copied out, and back when it goes on. A program that ends in one
// go is never copied.

import "fmt"

// Instance is an object's memory on one worker. It is used by one goroutine.
type Instance struct {
	object   *Object
	arena    *arena
	resident *Task // whose state, stack and input are in the arena
	maps     []mapView
	inputLen int // that the bounds are set for
}

// NewInstance maps memory for the object's programs.
func (o *Object) NewInstance() (*Instance, error) {
	a, err := newArena(o.layout)
	if err != nil {
		return nil, err
	}
	inst := &Instance{object: o, arena: a}
	for i, d := range o.data {
		copy(a.mem[o.layout.data[i]:], d.Bytes)
	}
	if err := inst.openMaps(); err != nil {
		a.close()
		return nil, err
	}
	a.setInput(&o.layout, 0, o.inputWritable)
	o.instances.Add(1)
	return inst, nil
}

// Close unmaps the instance. Its tasks are stopped.
func (inst *Instance) Close() error {
	if inst.resident != nil {
		inst.resident.Stop()
	}
	inst.object.instances.Add(-1)
	return inst.arena.close()
}

// Task is one execution of a program. The zero value is ready for Start and may
// be used again after it has ended; it is part of the request that it serves.
type Task struct {
	// User is the caller's, for helpers to find what they work on.
	User any

	inst    *Instance
	program *Program
	phase   phase
	result  uint64
	aside   *aside // kept for the next time
	trap    TrapError
}

type phase uint8

const (
	idle    phase = iota
	ready         // Run may be called
	waiting       // a helper's result is awaited
	running
	failed   // by Fail, in a helper
	finished // by Finish, in a helper
)

// aside is a task put aside.
type aside struct {
	st    state
	stack []byte
	input []byte
}

// Start prepares the program p to run on inst with a copy of input: r1 is its
// address, r2 its length, the stack and all other registers are zero. A task in
// the middle is stopped first. It fails if the input is larger than the object
// allows.
func (t *Task) Start(inst *Instance, p *Program, input []byte) error {
	if p.object != inst.object {
		panic("BUG: program and instance are of different objects")
	}
	if inst.arena.mem == nil {
		panic("BUG: task started on a closed instance")
	}
	if len(input) > inst.object.inputMax {
		return fmt.Errorf("%s: input of %d bytes is more than InputMax %d", p.place(0), len(input), inst.object.inputMax)
	}
	t.Stop()
	inst.makeRoom()
	inst.resident = t
	t.inst, t.program, t.phase = inst, p, ready

	l := &inst.object.layout
	a := inst.arena
	clear(a.mem[l.stack:l.stackEnd])
	copy(a.mem[l.input:], input)
	inst.boundInput(len(input))
	st := a.st
	st.regs = [11]uint64{1: guestBase + uint64(l.input), 2: uint64(len(input)), 10: guestBase + uint64(l.stackEnd)}
	st.depth = 0
	st.resume = p.entry()
	return nil
}

func (inst *Instance) boundInput(n int) {
	if n != inst.inputLen {
		inst.inputLen = n
		inst.arena.setInput(&inst.object.layout, n, inst.object.inputWritable)
	}
}

// Run executes until the program ends, waits for a helper, or has used budget
// instructions, counted as flow.go says.
func (t *Task) Run(budget int64) Exit {
	if t.phase != ready {
		panic("BUG: Run of a task that is not ready")
	}
	t.settle()
	st := t.inst.arena.st
	st.budget = budget
	for {
		t.phase = running
		t.program.enter(t.inst.arena)
		switch st.exit {
		case exitHelper:
			if exit, more := t.perform(); !more {
				return exit
			}
		case exitDone:
			t.result = st.regs[0]
			t.end()
			return Done
		case exitBudget:
			t.phase = ready
			return Budget
		default:
			t.setTrap(trapReason(st.exit, t.program.insns[st.pc].Width(), st.addr))
			return Trap
		}
	}
}

// perform runs a helper's function. Unless the program goes on at once, it gives
// what Run returns.
func (t *Task) perform() (exit Exit, more bool) {
	h := t.program.helpers[t.inst.arena.st.helper]
	if h.Func == nil {
		t.phase = waiting
		return Helper, false
	}
	result, done := h.Func(t)
	switch t.phase {
	case running:
		if !done {
			t.phase = waiting
			return Helper, false
		}
		t.settle() // the helper may have run another task here
		t.inst.arena.st.regs[0] = result
		return 0, true
	case finished:
		t.end()
		return Done, false
	case failed:
		t.settle()
		t.setTrap(t.trap.Reason)
		return Trap, false
	}
	panic("BUG: helper " + h.Name + " stopped or started its own task")
}

// Return gives the result of the helper that the task waits for.
func (t *Task) Return(result uint64) {
	if t.phase != waiting {
		panic("BUG: Return to a task that waits for no helper")
	}
	t.state().regs[0] = result
	t.phase = ready
}

// Fail ends the program with a trap instead of the result of the helper that is
// being performed or waited for.
func (t *Task) Fail(reason string) {
	reason = "helper " + t.Helper() + ": " + reason
	if t.phase == waiting {
		t.settle()
		t.setTrap(reason)
		return
	}
	t.phase, t.trap.Reason = failed, reason
}

// Finish ends the program as if it had returned result, when the helper that calls
// it comes back: for helpers that are the last word, as an answer to a request is.
func (t *Task) Finish(result uint64) {
	if t.phase != running {
		panic("BUG: Finish outside a helper")
	}
	t.phase, t.result = finished, result
}

// Stop ends a task in the middle, without a result. Stopping an idle task does
// nothing.
func (t *Task) Stop() {
	if t.phase != idle {
		t.end()
	}
}

func (t *Task) end() {
	t.phase = idle
	if t.inst.resident == t {
		t.inst.resident = nil
	}
}

func (t *Task) setTrap(reason string) {
	t.trap = TrapError{t.program.place(int(t.inst.arena.st.pc)), reason}
	t.end()
}

// Result returns r0 of a program that has ended with Done.
func (t *Task) Result() uint64 { return t.result }

// Trap returns why the last run ended, after Run has returned Trap. It is good
// until the task is started again.
func (t *Task) Trap() *TrapError { return &t.trap }

// Active says whether the task is between Start and its end.
func (t *Task) Active() bool { return t.phase != idle }

// Program returns the program last started.
func (t *Task) Program() *Program { return t.program }

// Helper returns the name of the helper being performed or waited for.
func (t *Task) Helper() string { return t.program.helpers[t.state().helper].Name }

// HelperNumber returns the number of the helper being performed or waited for.
func (t *Task) HelperNumber() int32 { return t.program.helpers[t.state().helper].Number }

// Arg returns the n-th argument of that helper, from 1 to 5.
func (t *Task) Arg(n int) uint64 { return t.state().regs[n] }

// Charge takes n instructions from the budget, for a helper whose work grows with
// its arguments.
func (t *Task) Charge(n int) { t.state().budget -= int64(n) }

// state is where the registers are now.
func (t *Task) state() *state {
	if t.inst.resident == t {
		return t.inst.arena.st
	}
	return &t.aside.st
}
