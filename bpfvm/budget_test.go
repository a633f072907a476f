package bpfvm

import (
	"testing"

	"edge/bpfvm/isa"
)

// loaded is a program of a test with an instance.
type loaded struct {
	testing.TB
	object *Object
	inst   *Instance
	task   Task
}

// loadText loads a program from text for the length of the test.
func loadText(t testing.TB, e Engine, text string, helpers ...HelperSpec) *loaded {
	t.Helper()
	table, err := NewHelperTable(append(MapHelpers(), helpers...)...)
	if err != nil {
		t.Fatal(err)
	}
	o, err := LoadInsns("p", mustParse(t, text), Options{Engine: e, Helpers: table, InputMax: 256})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := o.NewInstance()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		inst.Close()
		o.Close()
	})
	return &loaded{TB: t, object: o, inst: inst}
}

func (l *loaded) start(input []byte) {
	l.Helper()
	if err := l.task.Start(l.inst, l.object.Programs()[0], input); err != nil {
		l.Fatal(err)
	}
}

// eachEngine runs a test in every engine that there is.
func eachEngine(t *testing.T, test func(t *testing.T, e Engine)) {
	for _, e := range engines() {
		t.Run(e.String(), func(t *testing.T) { test(t, e) })
	}
}

// TestEndlessLoops: whatever the loop is made of, Run comes back, again and again (B07).
func TestEndlessLoops(t *testing.T) {
	for name, text := range map[string]string{
		"self":           "ja -1",
		"long jump":      "ja32 -1",
		"two":            "a: ja b\nb: ja a",
		"conditional":    "l: jeq %r0, 0, l\nexit",
		"32-bit":         "l: jeq32 %r0, 0, l\nexit",
		"helper":         "l: call 5\nja l",
		"entry":          "add %r6, 1\nja -2",
		"over the head":  "ja mid\nhead: mov %r1, 1\nmid: add %r6, 1\nja head",
		"nested":         "a: mov %r7, 0\nb: add %r7, 1\njlt %r7, 5, b\nja a",
		"call":           "l: call local f\nja l\nf: mov %r0, 0\nexit",
		"call in a loop": "call local f\nexit\nf: jeq %r0, 0, f\nexit",
		"division":       "l: div %r6, %r7\nja l",
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, e Engine) {
				l := loadText(t, e, text, HelperSpec{5, "five", func(*Task) (uint64, bool) { return 0, true }})
				l.start(nil)
				for range 50 {
					if exit := l.task.Run(1000); exit != Budget {
						t.Fatalf("leaves with %v", exit)
					}
				}
				l.task.Stop()
				if l.task.Active() {
					t.Error("a stopped task is active")
				}
			})
		})
	}
}

// TestChargesBoundWork: with a budget of n, no more than a fixed multiple of n
// instructions are executed, however the program is built.
func TestChargesBoundWork(t *testing.T) {
	// Calls without a loop: 7 levels of functions that each call the next ten
	// times would be ten million calls.
	text := ""
	for _, level := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		text += level + ":\n"
		for range 10 {
			text += "call local " + string(level[0]+1) + "\n"
		}
		text += "exit\n"
	}
	text += "h: add %r0, 1\nexit\n"
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, text)
		l.start(nil)
		if exit := l.task.Run(10000); exit != Budget {
			t.Fatalf("leaves with %v", exit)
		}
		// Each call of h costs two and adds one to r0.
		if r0 := l.task.state().regs[0]; r0 == 0 || r0 > 5000 {
			t.Errorf("%d innermost calls for a budget of 10000", r0)
		}
	})
}

// TestResumeAnywhere cuts a program with loops, calls and helpers at every budget,
// and wants the same result.
func TestResumeAnywhere(t *testing.T) {
	text := `
		mov %r6, 0
		mov %r7, 0
	outer:
		mov %r8, 0
	inner:
		mov %r1, %r6
		mov %r2, %r8
		call 5
		xor %r6, %r0
		mul %r6, 31
		stxdw [%r10-8], %r6
		mov %r1, %r10
		add %r1, -8
		call local f
		add %r6, %r0
		add %r8, 1
		jlt %r8, 5, inner
		add %r7, 1
		jlt %r7, 7, outer
		mov %r0, %r6
		exit
	f:
		ldxdw %r6, [%r1+0]
		mov %r0, 0
	bits:
		add %r0, 1
		rsh %r6, 9
		jne %r6, 0, bits
		exit`
	mix := HelperSpec{5, "mix", func(t *Task) (uint64, bool) { return t.Arg(1) + 3*t.Arg(2), true }}
	var want uint64
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, text, mix)
		for slice := int64(1 << 20); slice > 0; slice = slice*3/4 - 1 {
			l.start(nil)
			turns := 0
			for l.task.Run(slice) == Budget {
				if turns++; turns > 10000 {
					t.Fatalf("slice %d: does not end", slice)
				}
			}
			if want == 0 {
				want = l.task.Result()
			}
			if got := l.task.Result(); got != want {
				t.Fatalf("slice %d: r0 is %#x, want %#x", slice, got, want)
			}
		}
	})
}

// TestZeroBudget: a program makes progress even when each slice is too small for
// its next charge, because what was charged is done when it goes on.
func TestZeroBudget(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, "l: add %r0, 1\njlt %r0, 10, l\nexit")
		l.start(nil)
		turns := 1
		for l.task.Run(0) == Budget {
			if turns++; turns > 100 {
				t.Fatal("no progress")
			}
		}
		if l.task.Result() != 10 {
			t.Errorf("r0 is %d", l.task.Result())
		}
	})
}

// TestLoopCosts fixes what is charged where.
func TestLoopCosts(t *testing.T) {
	insns := mustParse(t, `
		mov %r6, 0
	head:
		add %r6, 1
		lddw %r1, 5
		div %r1, 3
		jlt %r6, 5, head
		ja head
		exit`)
	f, bad := analyse(insns)
	if bad != nil {
		t.Fatal(bad.reason)
	}
	// add, lddw, div (16), jlt, ja: the longer of the two ways round.
	want := map[int]int32{1: 1 + 1 + weightSlow + 1 + 1}
	for i, cost := range f.loopCost {
		if cost != want[i] {
			t.Errorf("slot %d costs %d, want %d", i, cost, want[i])
		}
	}
}

// TestHelperCharge: Charge takes part in the budget.
func TestHelperCharge(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, "l: call 5\nadd %r6, 1\nja l", HelperSpec{5, "heavy", func(t *Task) (uint64, bool) {
			t.Charge(1000)
			return 0, true
		}})
		l.start(nil)
		if exit := l.task.Run(10000); exit != Budget {
			t.Fatalf("leaves with %v", exit)
		}
		if n := l.task.state().regs[isa.R6]; n == 0 || n > 10 {
			t.Errorf("%d helpers of 1000 each ran on a budget of 10000", n)
		}
	})
}

// TestSlice: a loop uses up the default slice, and then has executed about as many
// instructions.
func TestSlice(t *testing.T) {
	eachEngine(t, func(t *testing.T, e Engine) {
		l := loadText(t, e, "l: add %r0, 1\nja l")
		l.start(nil)
		slice := l.object.Slice()
		if exit := l.task.Run(slice); exit != Budget {
			t.Fatalf("leaves with %v", exit)
		}
		if n := int64(l.task.state().regs[isa.R0]); n != slice/2 {
			t.Errorf("%d rounds of two instructions for a slice of %d", n, slice)
		}
	})
}
