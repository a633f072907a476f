package bpfvm

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCodeIsNotWritable reads the process's map of memory: code is readable and
// executable, and nothing in the process is both writable and executable.
func TestCodeIsNotWritable(t *testing.T) {
	skipWithoutNative(t)
	l := loadText(t, Native, "exit")
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	code := uint64(l.object.Programs()[0].entry())
	found := false
	for _, line := range strings.Split(strings.TrimSpace(string(maps)), "\n") {
		var start, end uint64
		var perm string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &start, &end, &perm); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if strings.Contains(perm, "w") && strings.Contains(perm, "x") {
			t.Errorf("writable and executable: %s", line)
		}
		if start <= code && code < end {
			found = true
			if perm != "r-xp" {
				t.Errorf("code is %s", perm)
			}
		}
	}
	if !found {
		t.Error("the code is nowhere")
	}
}

// soakTime is how long TestDisturbed goes on; BPFVM_SOAK sets it ("60s").
func soakTime() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("BPFVM_SOAK")); err == nil {
		return d
	}
	return 400 * time.Millisecond
}

// TestDisturbed runs native code on several goroutines while the collector works,
// goroutine stacks grow and move, profiling signals come a hundred times a second
// and the scheduler wants to preempt. Every result must be right.
func TestDisturbed(t *testing.T) {
	skipWithoutNative(t)
	// All registers carry something over a loop, helper calls and local calls.
	text := `
		mov %r6, %r2
		mov %r7, 1
		mov %r8, 2
		mov %r9, 0
	loop:
		mul %r7, 31
		add %r7, %r9
		xor %r8, %r7
		stxdw [%r10-16], %r8
		mov %r1, %r7
		mov %r3, 3
		mov %r4, 4
		mov %r5, 5
		and %r1, 255
		jne %r1, 7, skip
		call 5
		add %r8, %r0
		call local f
		add %r8, %r0
		add %r8, %r3
		add %r8, %r5
	skip:
		add %r9, 1
		jlt %r9, 20000, loop
		ldxdw %r0, [%r10-16]
		xor %r0, %r8
		exit
	f:
		mov %r6, %r4
		mov %r7, %r5
		mov %r0, %r6
		add %r0, %r7
		exit`
	helper := HelperSpec{5, "grow", func(t *Task) (uint64, bool) { return uint64(grow(int(t.Arg(3)))), true }}
	reference := loadText(t, Interpreter, text, helper)
	reference.start(nil)
	for reference.task.Run(1<<20) == Budget {
	}
	want := reference.task.Result()

	if f, err := os.CreateTemp(t.TempDir(), "profile"); err == nil {
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err == nil {
			defer pprof.StopCPUProfile()
		}
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	spawn := func(work func()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for !stop.Load() {
				work()
			}
		}()
	}
	spawn(func() { runtime.GC() })
	spawn(func() { garbage.Store(new([1 << 12]*int)) })
	var runs atomic.Int64
	for range 3 {
		l := loadText(t, Native, text, helper)
		spawn(func() {
			l.start([]byte("abc"))
			exit := l.task.Run(100000)
			for exit == Budget {
				exit = l.task.Run(100000)
			}
			if exit != Done || l.task.Result() != want {
				stop.Store(true)
				t.Errorf("%v, r0 %#x, want %#x", exit, l.task.Result(), want)
			}
			runs.Add(1)
		})
	}
	deadline := time.Now().Add(soakTime())
	for time.Now().Before(deadline) && !stop.Load() {
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d runs", runs.Load())
	if runs.Load() == 0 {
		t.Error("nothing ran")
	}
}

var garbage atomic.Pointer[[1 << 12]*int]

// grow uses enough stack for the goroutine's to be moved.
func grow(n int) int {
	var room [2048]byte
	room[n%len(room)] = 1
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[n])
}
