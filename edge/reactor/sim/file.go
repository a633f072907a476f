// Files, in memory or real.

package sim

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// File is a file in memory that ReadFile can read by its FD.
type File struct {
	// FD is what ReadFile is given.
	FD int
	// Data is the content; make it shorter to truncate the file under a reader.
	Data []byte
	// Err has reads fail.
	Err error
	// Slow: reads do not complete.
	Slow bool
}

// fileRead is a ReadFile in flight.
type fileRead struct {
	file   int
	bufs   [][]byte
	offset int64
}

// File makes a file with the content given.
func (s *Reactor) File(data []byte) *File {
	s.nextFD++
	f := &File{FD: s.nextFD, Data: data}
	s.files[f.FD] = f
	return f
}

func (s *Reactor) slowFile(fd int) bool {
	f := s.files[fd]
	return f != nil && f.Slow
}

func (s *Reactor) readFile(sl *slot) {
	if !sl.Op.reading {
		return
	}
	r := sl.Op.read
	sl.Op.reading, sl.Op.read = false, fileRead{}
	sl.Pending--
	n, err := s.fill(r)
	s.h.FileRead(sl.Sock, n, err)
}

// fill reads as preadv does, from memory or from a real descriptor.
func (s *Reactor) fill(r fileRead) (n int, err error) {
	for _, b := range r.bufs {
		got, err := s.readAt(r.file, b, r.offset+int64(n))
		n += got
		if err != nil && n == 0 {
			return 0, err
		}
		if got < len(b) {
			break
		}
	}
	return n, nil
}

func (s *Reactor) readAt(fd int, b []byte, offset int64) (int, error) {
	f := s.files[fd]
	if f == nil {
		n, err := unix.Pread(fd, b, offset)
		return max(n, 0), err
	}
	if f.Err != nil {
		return 0, f.Err
	}
	if offset < 0 {
		return 0, syscall.EINVAL
	}
	if offset >= int64(len(f.Data)) {
		return 0, nil
	}
	return copy(b, f.Data[offset:]), nil
}
