package gateway

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// logFile writes batches of lines off the workers' threads. What its disk cannot
// take in time is dropped and counted: traffic never waits for a log.
type logFile struct {
	path    string // "" for a stream that cannot be opened again
	batches chan []byte
	spare   chan []byte // written batches, to be used again
	reopens chan struct{}
	dropped atomic.Int64 // lines
	done    sync.WaitGroup
	failed  bool // the last write failed, and it was said
}

const (
	// logBatchesMax is how many batches wait for the disk: with logBatchBytes
	// each, 8 MB.
	logBatchesMax = 256
	logBatchBytes = 32 << 10
)

// openLogFile starts the writer of an access log: a file that is appended to, or
// "-" for standard output. "off" gives nil.
func openLogFile(path string, stdout io.Writer, log *Log) (*logFile, error) {
	if path == "" || path == "off" {
		return nil, nil
	}
	f := &logFile{
		batches: make(chan []byte, logBatchesMax),
		spare:   make(chan []byte, logBatchesMax),
		reopens: make(chan struct{}, 1),
	}
	out := stdout
	if path != "-" {
		f.path = path
		file, err := openAppend(path)
		if err != nil {
			return nil, fmt.Errorf("--access-log: %w", err)
		}
		out = file
	}
	f.done.Add(1)
	go f.run(out, log)
	return f, nil
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
}

// run is the writer.
func (f *logFile) run(out io.Writer, log *Log) {
	defer f.done.Done()
	for {
		select {
		case b, open := <-f.batches:
			if !open {
				f.closeOutput(out)
				return
			}
			f.write(out, b, log)
		case <-f.reopens:
			out = f.reopened(out, log)
		}
	}
}

func (f *logFile) write(out io.Writer, b []byte, log *Log) {
	_, err := out.Write(b)
	if err != nil && !f.failed {
		log.Printf("access log %s: %v: lines are lost until this is mended", f.path, err)
	}
	f.failed = err != nil
	select {
	case f.spare <- b[:0]:
	default:
	}
}

// reopened changes to a new file of the same name; the old one was moved away.
func (f *logFile) reopened(out io.Writer, log *Log) io.Writer {
	file, err := openAppend(f.path)
	if err != nil {
		log.Printf("access log: %v: writing on to the old file", err)
		return out
	}
	f.closeOutput(out)
	return file
}

func (f *logFile) closeOutput(out io.Writer) {
	if file, ok := out.(*os.File); ok && f.path != "" {
		file.Close()
	}
}

// reopen has the file opened again under its name.
func (f *logFile) reopen() {
	if f == nil || f.path == "" {
		return
	}
	select {
	case f.reopens <- struct{}{}:
	default: // one is due already
	}
}

// close writes what waits and ends the writer. No worker may use f any more.
func (f *logFile) close() {
	if f != nil {
		close(f.batches)
		f.done.Wait()
	}
}

// batch gives an empty buffer for lines.
func (f *logFile) batch() []byte {
	select {
	case b := <-f.spare:
		return b
	default:
		return make([]byte, 0, logBatchBytes)
	}
}

// put hands over a batch of lines, or drops it.
func (f *logFile) put(b []byte, lines int) {
	select {
	case f.batches <- b:
	default:
		f.dropped.Add(int64(lines))
	}
}
