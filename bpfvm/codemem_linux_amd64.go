package bpfvm

// codemem_linux_amd64.go: executable memory. Pages are written, then made executable,
// and are never both: a program compiled is a program that nothing can change.

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// executable copies code into pages of its own. The result can be read and
// executed; writing to it is a fault.
func executable(code []byte) ([]byte, error) {
	size := (len(code) + pageBytes - 1) &^ (pageBytes - 1)
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for code: %w", size, err)
	}
	copy(mem, code)
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		unix.Munmap(mem)
		return nil, fmt.Errorf("the system does not let memory become executable: %w", err)
	}
	return mem, nil
}

// release unmaps the code.
func (n *nativeCode) release() {
	if n.mem != nil {
		unix.Munmap(n.mem)
		n.mem = nil
	}
}
