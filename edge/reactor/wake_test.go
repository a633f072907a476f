package reactor

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWake(t *testing.T) {
	w, err := NewWake()
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	w.Post(func() { ran++; w.Post(func() { ran += 10 }) })
	w.Post(func() { ran++ })
	var b [8]byte
	if n, err := unix.Read(w.FD(), b[:]); n != 8 || err != nil {
		t.Fatalf("the eventfd was not written: %d, %v", n, err)
	}
	w.Run()
	if ran != 2 {
		t.Fatalf("ran %d, want both that were posted before", ran)
	}
	// What was posted meanwhile has woken the worker again.
	if n, err := unix.Read(w.FD(), b[:]); n != 8 || err != nil {
		t.Fatalf("the eventfd was not written again: %d, %v", n, err)
	}
	w.Run()
	if ran != 12 {
		t.Fatalf("ran %d", ran)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Post(func() { t.Error("ran after Close") })
	w.Run()
}

// TestWakeCloseRace: Post from others while Close happens touches no descriptor
// that may be somebody else's by then.
func TestWakeCloseRace(t *testing.T) {
	for range 50 {
		w, err := NewWake()
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 20 {
					w.Post(func() {})
				}
			}()
		}
		_ = w.Close()
		wg.Wait()
	}
}
