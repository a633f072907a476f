package uring

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// TestIdleWorkerGivesMemoryBack: after a burst, with nothing more to wake it, a
// worker still goes on to give back what the burst has left, all of it.
func TestIdleWorkerGivesMemoryBack(t *testing.T) {
	r := newReactor(t, reactor.Options{})
	locked(t, r)
	var left [][]byte
	for range 8 {
		b := r.Buffers().Get(reactor.BufferBytesMax)
		b = b[:cap(b)]
		for i := range b {
			b[i] = 1
		}
		left = append(left, b)
	}
	for _, b := range left {
		r.Buffers().Put(b[:0])
	}
	r.Post(r.Worked)
	go func() {
		for end := time.Now().Add(20 * time.Second); pages(t, left) > 0 && time.Now().Before(end); {
			time.Sleep(20 * time.Millisecond)
		}
		r.Post(r.Stop)
	}()
	if err := r.Run(&mute{}); err != nil {
		t.Fatal(err)
	}
	if n := pages(t, left); n > 0 {
		t.Errorf("%d pages are still there", n)
	}
}

// pages counts the pages that are there, of whole pages.
func pages(t *testing.T, of [][]byte) (n int) {
	for _, b := range of {
		there := make([]byte, len(b)/unix.Getpagesize())
		if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&there[0]))); e != 0 {
			t.Errorf("mincore: %v", e)
			return 0
		}
		for _, p := range there {
			n += int(p & 1)
		}
	}
	return n
}
