package traffic

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process is a running program that is watched from outside (proc(5)).
type Process int

// Usage is what a process uses.
type Usage struct {
	Resident int64 // bytes of memory
	Buffers  int64 // of those, in maps of bufferMapLeast and more that are no Go heap
	Files    int   // open descriptors
}

// bufferMapLeast tells the memory for data in flight from everything else.
const bufferMapLeast = 32 << 20

// Usage looks at the process.
func (p Process) Usage() (u Usage, err error) {
	files, err := os.ReadDir(p.file("fd"))
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	maps, err := os.ReadFile(p.file("smaps"))
	if err != nil {
		return u, err
	}
	u.Resident, u.Buffers = residents(maps)
	return u, nil
}

func (p Process) file(name string) string { return fmt.Sprintf("/proc/%d/%s", int(p), name) }

// residents adds up what is resident of all maps, and of the large ones:
//
//	7f0000000000-7f0010000000 rw-p 00000000 00:00 0  [name]
//	Size:             262144 kB
//	Rss:                1024 kB
func residents(smaps []byte) (all, large int64) {
	var size int64
	goHeap := false
	for s := bufio.NewScanner(bytes.NewReader(smaps)); s.Scan(); {
		line := s.Text()
		field := strings.Fields(line)
		if len(field) > 1 && !strings.HasSuffix(field[0], ":") {
			goHeap = strings.Contains(line, "Go:")
			continue
		}
		if len(field) != 3 {
			continue
		}
		n, _ := strconv.ParseInt(field[1], 10, 64)
		switch n *= 1 << 10; field[0] {
		case "Size:":
			size = n
		case "Rss:":
			all += n
			if size >= bufferMapLeast && !goHeap {
				large += n
			}
		}
	}
	return all, large
}

// String is the usage in words.
func (u Usage) String() string {
	return fmt.Sprintf("%.1f MB, %.1f of them buffers, %d files", float64(u.Resident)/(1<<20), float64(u.Buffers)/(1<<20), u.Files)
}
