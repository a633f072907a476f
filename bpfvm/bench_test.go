package bpfvm

// bench_test.go: what entering, a helper, and typical loops cost. Run with
//
//	go test -bench . -run XXX ./bpfvm

import (
	"bytes"
	"testing"
)

// benchProgram runs text once per iteration in each engine.
func benchProgram(b *testing.B, text string, input []byte, want uint64, helpers ...HelperSpec) {
	for _, e := range engines() {
		b.Run(e.String(), func(b *testing.B) {
			table, err := NewHelperTable(append(MapHelpers(), helpers...)...)
			if err != nil {
				b.Fatal(err)
			}
			o, err := LoadInsns("p", mustParse(b, text), Options{Engine: e, Helpers: table})
			if err != nil {
				b.Fatal(err)
			}
			defer o.Close()
			inst, err := o.NewInstance()
			if err != nil {
				b.Fatal(err)
			}
			defer inst.Close()
			var task Task
			p := o.Programs()[0]
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := task.Start(inst, p, input); err != nil {
					b.Fatal(err)
				}
				if task.Run(1<<30) != Done {
					b.Fatal(task.Trap())
				}
			}
			b.StopTimer()
			if got := task.Result(); got != want {
				b.Fatalf("r0 is %#x, want %#x", got, want)
			}
		})
	}
}

// BenchmarkEmpty is Start, the way in, the way out.
func BenchmarkEmpty(b *testing.B) {
	benchProgram(b, "exit", bytes.Repeat([]byte{1}, 64), 0)
}

// BenchmarkHelper makes 1,000 helper calls a run: divide by 1,000.
func BenchmarkHelper(b *testing.B) {
	benchProgram(b, `
		mov %r6, 0
		mov %r7, 0
	l:	mov %r1, %r6
		call 5
		add %r7, %r0
		add %r6, 1
		jlt %r6, 1000, l
		mov %r0, %r7
		exit`, nil, 1000*999/2, HelperSpec{5, "same", func(t *Task) (uint64, bool) { return t.Arg(1), true }})
}

// BenchmarkHash is FNV-1a over 4 KiB, byte by byte.
func BenchmarkHash(b *testing.B) {
	input := bytes.Repeat([]byte("0123456789abcdef"), 256)
	want := uint64(0xcbf29ce484222325)
	for _, c := range input {
		want = (want ^ uint64(c)) * 0x100000001b3
	}
	b.SetBytes(int64(len(input)))
	benchProgram(b, `
		lddw %r0, 0xcbf29ce484222325
		lddw %r4, 0x100000001b3
		add %r2, %r1
	l:	ldxb %r3, [%r1+0]
		xor %r0, %r3
		mul %r0, %r4
		add %r1, 1
		jlt %r1, %r2, l
		exit`, input, want)
}

// BenchmarkCompare compares two strings of 1 KiB that are equal, byte by byte.
func BenchmarkCompare(b *testing.B) {
	input := bytes.Repeat([]byte("abcdefgh"), 256)
	b.SetBytes(int64(len(input) / 2))
	benchProgram(b, `
		rsh %r2, 1
		mov %r3, %r1
		add %r3, %r2
		add %r2, %r1
	l:	ldxb %r4, [%r1+0]
		ldxb %r5, [%r3+0]
		jne %r4, %r5, out
		add %r1, 1
		add %r3, 1
		jlt %r1, %r2, l
		mov %r0, 1
	out:	exit`, input, 1)
}

// BenchmarkCalls makes 1,000 local calls a run: divide by 1,000.
func BenchmarkCalls(b *testing.B) {
	benchProgram(b, `
		mov %r6, 0
	l:	mov %r1, %r6
		call local f
		add %r6, %r0
		jlt %r6, 1000, l
		mov %r0, %r6
		exit
	f:	mov %r6, 1
		mov %r0, %r6
		exit`, nil, 1000)
}

// BenchmarkAside is two tasks that take turns in one instance: two changes an
// iteration.
func BenchmarkAside(b *testing.B) {
	l := loadText(b, Auto, "l: call 5\nja l", HelperSpec{Number: 5, Name: "wait"})
	var tasks [2]Task
	for i := range tasks {
		if err := tasks[i].Start(l.inst, l.object.Programs()[0], make([]byte, 64)); err != nil {
			b.Fatal(err)
		}
		tasks[i].Run(1000)
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range tasks {
			tasks[i].Return(0)
			tasks[i].Run(1000)
		}
	}
}
