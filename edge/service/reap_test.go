package service

import (
	"os/exec"
	"testing"
)

// A child that somebody waits for is not taken from them.
func TestReapingHeld(t *testing.T) {
	for range 20 {
		release := HoldReaping()
		child := exec.Command("/bin/sh", "-c", "exit 3")
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		reaped := make(chan struct{})
		go func() {
			reapAll()
			close(reaped)
		}()
		err := child.Wait()
		if child.ProcessState == nil || child.ProcessState.ExitCode() != 3 {
			t.Fatalf("the end of a child of ours: %v", err)
		}
		release()
		<-reaped
	}
}
