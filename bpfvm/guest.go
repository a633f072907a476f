package bpfvm

// guest.go: what helpers see of a program's memory. The slices are views of the
// arena, good until the task runs again or another task runs on the instance.

import "bytes"

// Readable returns n bytes of guest memory at addr, if a program could load all
// of them.
func (t *Task) Readable(addr uint64, n int) ([]byte, bool) {
	t.settle()
	a, l := t.inst.arena, &t.inst.object.layout
	off := addr - guestBase
	end := uint64(l.input) + uint64(t.inst.inputLen)
	if n < 0 || off > end || uint64(n) > end-off {
		return nil, false
	}
	return a.mem[off : off+uint64(n) : off+uint64(n)], true
}

// Input returns the input as it stands in guest memory. A program may have changed
// it if Options.InputWritable is set.
func (t *Task) Input() []byte {
	t.settle()
	at := int(t.inst.object.layout.input)
	return t.inst.arena.mem[at : at+t.inst.inputLen : at+t.inst.inputLen]
}

// Writable returns n bytes of guest memory at addr, if a program could store to
// all of them.
func (t *Task) Writable(addr uint64, n int) ([]byte, bool) {
	t.settle()
	l := &t.inst.object.layout
	off := addr - guestBase
	end := uint64(l.input)
	if t.inst.object.inputWritable {
		end += uint64(t.inst.inputLen)
	}
	if n < 0 || off < uint64(l.stack) || off > end || uint64(n) > end-off {
		return nil, false
	}
	return t.inst.arena.mem[off : off+uint64(n) : off+uint64(n)], true
}

// CString returns the bytes from addr up to a zero byte, without it, if there is
// one among the first limit bytes that a program could load.
func (t *Task) CString(addr uint64, limit int) ([]byte, bool) {
	t.settle()
	end := guestBase + uint64(t.inst.object.layout.input) + uint64(t.inst.inputLen)
	if addr < guestBase || addr >= end {
		return nil, false
	}
	b, ok := t.Readable(addr, int(min(uint64(max(limit, 0)), end-addr)))
	if !ok {
		return nil, false
	}
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return nil, false
	}
	return b[:n:n], true
}

// settle brings the task's state, stack and input into the arena.
func (t *Task) settle() {
	if t.phase == idle || t.inst.resident != t {
		t.bringBack()
	}
}

func (t *Task) bringBack() {
	if t.phase == idle {
		panic("BUG: memory of a task that is not started or has ended")
	}
	inst := t.inst
	if inst.arena.mem == nil {
		panic("BUG: task goes on in a closed instance")
	}
	inst.makeRoom()
	a, l := inst.arena, &inst.object.layout
	restoreState(a.st, &t.aside.st)
	copy(a.mem[l.stack:l.stackEnd], t.aside.stack)
	copy(a.mem[l.input:], t.aside.input)
	inst.boundInput(len(t.aside.input))
	inst.resident = t
}

// restoreState copies everything but the bounds, which boundInput sets.
func restoreState(to, from *state) {
	loads, stores := to.loadLimit, to.storeLimit
	*to = *from
	to.loadLimit, to.storeLimit = loads, stores
}

// makeRoom puts the resident task aside.
func (inst *Instance) makeRoom() {
	t := inst.resident
	if t == nil {
		return
	}
	if t.aside == nil {
		t.aside = new(aside)
	}
	a, l := inst.arena, &inst.object.layout
	t.aside.st = *a.st
	t.aside.stack = append(t.aside.stack[:0], a.mem[l.stack:l.stackEnd]...)
	t.aside.input = append(t.aside.input[:0], a.mem[l.input:int(l.input)+inst.inputLen]...)
	inst.resident = nil
}
