// Reading files without waiting for a disk.

package epoll

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// A file is read at once when that does not have to wait (RWF_NOWAIT: the pages
// are in memory), and on a goroutine otherwise.

// readersMax bounds the goroutines, each of which may block in the kernel and
// then costs a thread.
const readersMax = 16

// rwfNowait is RWF_NOWAIT of preadv2 (Linux 4.14).
const rwfNowait = 0x8

// files is the reads that may have to wait.
type files struct {
	post    func(func())
	running int
	waiting []fileRead
	vector  [reactor.FileBuffersMax]syscall.Iovec
	group   sync.WaitGroup
}

// fileRead is a ReadFile.
type fileRead struct {
	sock   reactor.Sock
	file   int
	bufs   [reactor.FileBuffersMax][]byte
	offset int64
}

// ReadFile reads from file into bufs.
func (r *Reactor) ReadFile(s reactor.Sock, file int, bufs [][]byte, offset int64) {
	sl := r.slots.Live(s)
	if sl == nil {
		return
	}
	if sl.Op.reading {
		panic("BUG: second ReadFile in flight on a socket")
	}
	reactor.CheckFileBuffers(bufs)
	sl.Op.reading = true
	sl.Pending++
	if n, errno := r.files.now(file, bufs, offset); errno == 0 && n == total(bufs) {
		r.finish(s, outcomeFileRead, n, 0)
		return
	}
	// Not in memory, the end of the file, an error: whichever it is, a read that
	// may wait tells.
	later := fileRead{sock: s, file: file, offset: offset}
	copy(later.bufs[:], bufs)
	r.readLater(later)
}

func total(bufs [][]byte) (n int) {
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

// now reads what is in memory.
func (f *files) now(file int, bufs [][]byte, offset int64) (n int, errno syscall.Errno) {
	for i, b := range bufs {
		f.vector[i] = syscall.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}
	}
	got, _, errno := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(file), uintptr(unsafe.Pointer(&f.vector[0])),
		uintptr(len(bufs)), uintptr(offset), 0, rwfNowait)
	clear(f.vector[:len(bufs)])
	return int(got), errno
}

// readLater reads on a goroutine, when there are not too many.
func (r *Reactor) readLater(q fileRead) {
	f := &r.files
	if f.running == readersMax {
		f.waiting = append(f.waiting, q)
		return
	}
	f.running++
	f.group.Add(1)
	go func() {
		defer f.group.Done()
		n, errno := q.read()
		f.post(func() { r.fileRead(q.sock, n, errno) })
	}()
}

// fileRead hands over the outcome of a read on a goroutine, and starts the next.
func (r *Reactor) fileRead(s reactor.Sock, n int, errno syscall.Errno) {
	r.finish(s, outcomeFileRead, n, errno)
	f := &r.files
	f.running--
	if len(f.waiting) > 0 {
		next := f.waiting[0]
		f.waiting = f.waiting[:copy(f.waiting, f.waiting[1:])]
		r.readLater(next)
	}
}

// read fills the buffers, up to the end of the file.
func (q *fileRead) read() (n int, errno syscall.Errno) {
	for _, b := range q.bufs {
		for len(b) > 0 {
			got, err := unix.Pread(q.file, b, q.offset+int64(n))
			switch {
			case err == unix.EINTR:
				continue
			case err != nil && n == 0:
				return 0, err.(syscall.Errno)
			case err != nil || got == 0:
				return n, 0
			}
			n += got
			b = b[got:]
		}
	}
	return n, 0
}

// wait waits for the goroutines: they write to memory that is given back next.
func (f *files) wait() { f.group.Wait() }
