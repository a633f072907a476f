package bpfvm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestStackIsZero: a run never sees what the last one left on its stack, in any
// frame, nor more of an earlier input than its own length.
func TestStackIsZero(t *testing.T) {
	// Sums the 1024 bytes below r10 (two frames), then fills them.
	text := `
		mov %r3, %r10
		add %r3, -1024
		mov %r0, 0
	sum:
		ldxdw %r4, [%r3+0]
		or %r0, %r4
		stdw [%r3+0], -1
		add %r3, 8
		jlt %r3, %r10, sum
		call local f
		exit
	f:
		exit`
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, text)
		for range 3 {
			l.start([]byte("x"))
			if exit := l.task.Run(1 << 20); exit != Done || l.task.Result() != 0 {
				t.Fatalf("%v, r0 %#x", exit, l.task.Result())
			}
		}
	})
}

func TestInputBounds(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, "add %r1, %r2\nldxb %r0, [%r1-1]\nldxb %r0, [%r1+0]\nexit")
		for _, n := range []int{200, 5, 256, 1} {
			l.start(bytes.Repeat([]byte{7}, n))
			if exit := l.task.Run(100); exit != Trap || l.task.Trap().Place.Insn != 2 {
				t.Errorf("input of %d: reading one byte behind it: %v at %v", n, exit, l.task.Trap())
			}
		}
		err := l.task.Start(l.inst, l.object.Programs()[0], make([]byte, 257))
		if err == nil || !strings.Contains(err.Error(), "InputMax 256") {
			t.Errorf("an input of 257: %v", err)
		}
	})
}

// counterProgram asks helper 5 for each of three numbers and keeps them on the
// stack; then sums stack and input.
const counterProgram = `
	mov %r6, %r1
	mov %r1, 1
	call 5
	stxdw [%r10-8], %r0
	mov %r1, 2
	call 5
	stxdw [%r10-16], %r0
	mov %r1, 3
	call 5
	ldxdw %r1, [%r10-8]
	add %r0, %r1
	ldxdw %r1, [%r10-16]
	add %r0, %r1
	ldxb %r1, [%r6+0]
	add %r0, %r1
	exit`

// TestTasksTakeTurns: while one task waits for a helper, others run on the same
// instance, and each finds its own stack, input and registers again.
func TestTasksTakeTurns(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, counterProgram, HelperSpec{Number: 5, Name: "ask"})
		var tasks [4]Task
		for i := range tasks {
			// Inputs of different length: the bounds must follow.
			if err := tasks[i].Start(l.inst, l.object.Programs()[0], bytes.Repeat([]byte{byte(i)}, 1+10*i)); err != nil {
				t.Fatal(err)
			}
		}
		for step := uint64(1); step <= 3; step++ {
			for i := range tasks {
				if exit := tasks[i].Run(1000); exit != Helper || tasks[i].Helper() != "ask" || tasks[i].HelperNumber() != 5 || tasks[i].Arg(1) != step {
					t.Fatalf("task %d: %v, argument %d", i, exit, tasks[i].Arg(1))
				}
			}
			for i := len(tasks) - 1; i >= 0; i-- {
				tasks[i].Return(step * 100 * uint64(i))
			}
		}
		for i := range tasks {
			if n := len(tasks[i].Input()); n != 1+10*i {
				t.Errorf("task %d: input of %d bytes", i, n)
			}
			if exit := tasks[i].Run(1000); exit != Done || tasks[i].Result() != uint64(600*i+i) {
				t.Errorf("task %d: %v, r0 %d", i, exit, tasks[i].Result())
			}
		}
	})
}

// TestHelperRunsAnother: a helper may run a second task on the same instance.
func TestHelperRunsAnother(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		var l *loaded
		nested := false
		ask := func(outer *Task) (uint64, bool) {
			if nested {
				return 1, true
			}
			arg := outer.Arg(1)
			nested = true
			defer func() { nested = false }()
			var other Task
			if err := other.Start(l.inst, outer.Program(), []byte{40}); err != nil {
				t.Fatal(err)
			}
			if exit := other.Run(1000); exit != Done || other.Result() != 43 {
				t.Errorf("the inner program: %v, r0 %d", exit, other.Result())
			}
			return 100 * arg, true
		}
		l = loadText(t, e, counterProgram, HelperSpec{5, "ask", ask})
		l.start([]byte{9})
		if exit := l.task.Run(1000); exit != Done || l.task.Result() != 609 {
			t.Errorf("%v, r0 %d", exit, l.task.Result())
		}
	})
}

func TestHelperFails(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, "mov %r0, 1\ncall 5\nexit", HelperSpec{5, "five", func(t *Task) (uint64, bool) {
			t.Fail("no such thing")
			return 0, true
		}})
		l.start(nil)
		if exit := l.task.Run(100); exit != Trap || l.task.Trap().Error() != "program p, instruction 1 (call five): helper five: no such thing" {
			t.Errorf("%v: %v", exit, l.task.Trap())
		}
		// The task can be used again, and the failure is not remembered.
		l.start(nil)
		if exit := l.task.Run(100); exit != Trap {
			t.Errorf("the second time: %v", exit)
		}
		waiting := loadText(t, e, "call 5\nexit", HelperSpec{Number: 5, Name: "later"})
		waiting.start(nil)
		if exit := waiting.task.Run(100); exit != Helper {
			t.Fatalf("%v", exit)
		}
		waiting.task.Fail("too late")
		if waiting.task.Active() || !strings.Contains(waiting.task.Trap().Error(), "helper later: too late") {
			t.Errorf("failed while waiting: %v", waiting.task.Trap())
		}
	})
}

// TestHelperFinishes: a helper may be the last word, two functions deep.
func TestHelperFinishes(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, "call local f\nmov %r0, 1\nexit\nf: call 5\nmov %r0, 2\nexit", HelperSpec{5, "last", func(t *Task) (uint64, bool) {
			t.Finish(77)
			return 0, true
		}})
		for range 2 {
			l.start(nil)
			if exit := l.task.Run(100); exit != Done || l.task.Result() != 77 || l.task.Active() {
				t.Errorf("%v, r0 %d", exit, l.task.Result())
			}
		}
	})
}

func TestMisusePanics(t *testing.T) {
	l := loadText(t, Interpreter, "call 5\nexit", HelperSpec{Number: 5, Name: "later"})
	other := loadText(t, Interpreter, "exit")
	for name, misuse := range map[string]func(){
		"Run before Start":       func() { new(Task).Run(1) },
		"Return without a call":  func() { l.start(nil); l.task.Return(1) },
		"Run while waiting":      func() { l.start(nil); l.task.Run(100); l.task.Run(100) },
		"program of another":     func() { l.task.Start(l.inst, other.object.Programs()[0], nil) },
		"memory of an idle task": func() { new(Task).Input() },
		"Close under instances":  func() { l.object.Close() },
		"Finish by itself":       func() { l.start(nil); l.task.Finish(1) },
		"Stop in a helper": func() {
			own := loadText(t, Interpreter, "call 5\nexit", HelperSpec{5, "stop", func(t *Task) (uint64, bool) {
				t.Stop()
				return 0, true
			}})
			own.start(nil)
			own.task.Run(100)
		},
		"going on when closed": func() {
			inst, err := l.object.NewInstance()
			if err != nil {
				t.Fatal(err)
			}
			var first, second Task
			for _, task := range []*Task{&first, &second} {
				if err := task.Start(inst, l.object.Programs()[0], nil); err != nil {
					t.Fatal(err)
				}
			}
			inst.Close()
			first.Run(100)
		},
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "BUG: ") {
					t.Errorf("%s: %v", name, p)
				}
			}()
			misuse()
		}()
	}
}

func TestGuestMemoryBounds(t *testing.T) {
	l := loadText(t, Interpreter, "exit")
	l.start([]byte("hello\x00tail"))
	input := l.task.state().regs[1]
	stack := l.task.state().regs[10] - 512
	for _, c := range []struct {
		addr           uint64
		n              int
		readable, writ bool
	}{
		{input, 10, true, false}, {input, 11, false, false}, {input + 10, 0, true, false}, {input + 11, 0, false, false},
		{input - 1, 2, true, false}, {stack, 512, true, true}, {stack - 1, 2, false, false}, {0, 0, false, false}, {0, 1, false, false},
		{^uint64(0), 1, false, false}, {^uint64(0) - 3, 8, false, false}, {stack, -1, false, false}, {stack, 1 << 40, false, false},
		{guestBase, 0, true, true}, {guestBase - 1, 1, false, false}, {1 << 63, 1, false, false},
	} {
		if b, ok := l.task.Readable(c.addr, c.n); ok != c.readable || ok && len(b) != c.n {
			t.Errorf("%d bytes at %#x: readable is %v", c.n, c.addr, ok)
		}
		if b, ok := l.task.Writable(c.addr, c.n); ok != c.writ || ok && len(b) != c.n {
			t.Errorf("%d bytes at %#x: writable is %v", c.n, c.addr, ok)
		}
	}
	for _, c := range []struct {
		addr  uint64
		limit int
		want  string
		ok    bool
	}{
		{input, 100, "hello", true}, {input, 6, "hello", true}, {input, 5, "", false}, {input + 5, 1, "", true},
		{input + 6, 100, "", false}, {input, -1, "", false}, {input + 100, 5, "", false}, {0, 5, "", false}, {^uint64(0), 5, "", false},
	} {
		if b, ok := l.task.CString(c.addr, c.limit); ok != c.ok || string(b) != c.want {
			t.Errorf("string at %#x, at most %d: %q, %v", c.addr, c.limit, b, ok)
		}
	}
}

// TestNoAllocation: a run costs no allocation, with helpers, maps and turns.
func TestNoAllocation(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, counterProgram, HelperSpec{5, "ask", func(t *Task) (uint64, bool) {
			_, ok := t.Readable(t.state().regs[10]-8, 8)
			return t.Arg(1), ok
		}})
		input := []byte{1, 2, 3}
		if n := testing.AllocsPerRun(100, func() {
			l.start(input)
			if l.task.Run(1000) != Done {
				t.Fatal("not done")
			}
		}); n != 0 {
			t.Errorf("a run makes %v allocations", n)
		}
		waiting := loadText(t, e, counterProgram, HelperSpec{Number: 5, Name: "ask"})
		var a, b Task
		start := func(task *Task) {
			if err := task.Start(waiting.inst, waiting.object.Programs()[0], input); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(100, func() {
			start(&a)
			start(&b)
			for _, task := range []*Task{&a, &b, &a, &b} {
				task.Run(1000)
				task.Return(5)
			}
			a.Stop()
			b.Stop()
		}); n != 0 {
			t.Errorf("two tasks in turn make %v allocations", n)
		}
	})
}

func TestHelperTable(t *testing.T) {
	for _, specs := range [][]HelperSpec{
		{{Number: 1, Name: "a"}, {Number: 1, Name: "b"}},
		{{Number: 1, Name: "a"}, {Number: 2, Name: "a"}},
		{{Number: 1}},
	} {
		if _, err := NewHelperTable(specs...); err == nil {
			t.Errorf("%v was accepted", specs)
		}
	}
}
