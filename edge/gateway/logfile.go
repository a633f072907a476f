package gateway

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// logFile writes lines off the workers' threads. What its disk, or whoever reads
// its pipe, cannot take in time is dropped and counted: traffic never waits for
// a log. The count is told once there is something to tell it to.
type logFile struct {
	name    string // for messages
	path    string // "" for a stream that cannot be opened again
	report  func(format string, a ...any)
	batches chan []byte
	spare   chan []byte // written batches, to be used again
	reopens chan struct{}
	ended   chan struct{} // closed after the last write

	dropped atomic.Int64 // lines for which there was no room

	// Of the writer alone:
	out    io.Writer
	lost   int64 // lines that nobody was told of yet
	told   time.Time
	failed bool // the last write failed, and it was said
	torn   bool // the last line in the file has no end
}

const (
	// logBatchesMax is how many batches wait for the disk: with logBatchBytes
	// each, 8 MB.
	logBatchesMax = 256
	logBatchBytes = 32 << 10

	// tellEvery is how often lost lines are told of.
	tellEvery = 10 * time.Second

	// logEndTime is how long the end of the process waits for a log.
	logEndTime = 2 * time.Second
)

// openLogFile starts the writer of an access log: a file that is appended to, or
// "-" for standard output. "off" gives nil.
func openLogFile(path string, stdout io.Writer, report func(string, ...any)) (*logFile, error) {
	switch path {
	case "", "off":
		return nil, nil
	case "-":
		return startLogFile("access log", "", stdout, logBatchesMax, report), nil
	}
	file, err := openAppend(path)
	if err != nil {
		return nil, fmt.Errorf("--access-log: %w", err)
	}
	return startLogFile("access log", path, file, logBatchesMax, report), nil
}

// startLogFile starts the writer of out, which is the file at path unless that
// is empty. At most waiting batches wait for it.
func startLogFile(name, path string, out io.Writer, waiting int, report func(string, ...any)) *logFile {
	f := &logFile{
		name: name, path: path, report: report, out: out,
		batches: make(chan []byte, waiting),
		spare:   make(chan []byte, waiting),
		reopens: make(chan struct{}, 1),
		ended:   make(chan struct{}),
	}
	go f.run()
	return f
}

func openAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o640)
}

// run is the writer.
func (f *logFile) run() {
	defer close(f.ended)
	for {
		select {
		case b, open := <-f.batches:
			if !open {
				f.lost += f.dropped.Swap(0)
				return
			}
			f.write(b)
		case <-f.reopens:
			f.reopened()
		}
	}
}

// write writes a batch, and tells what became of others.
func (f *logFile) write(b []byte) {
	if f.torn {
		f.out.Write([]byte{'\n'}) // what fails here fails below
	}
	n, err := f.out.Write(b)
	f.torn = n > 0 && b[n-1] != '\n' || n == 0 && f.torn
	f.lost += f.dropped.Swap(0)
	if err != nil {
		f.lost += int64(bytes.Count(b[n:], []byte{'\n'}))
		if !f.failed {
			f.report("%s: %v: lines are lost until this is mended", f.name, err)
		}
	} else if f.lost > 0 && (f.failed || time.Since(f.told) >= tellEvery) {
		f.tellLost()
	}
	f.failed = err != nil
	select {
	case f.spare <- b[:0]:
	default:
	}
}

// tellLost says how many lines there are not.
func (f *logFile) tellLost() {
	if f.lost > 0 {
		f.report("%s: %d lines were lost: it could not be written fast enough, or not at all", f.name, f.lost)
		f.lost, f.told = 0, time.Now()
	}
}

// reopened changes to a new file of the same name; the old one was moved away.
func (f *logFile) reopened() {
	file, err := openAppend(f.path)
	if err != nil {
		f.report("%s: %v: writing on to the old file", f.name, err)
		return
	}
	f.closeOutput()
	f.out, f.torn = file, false
}

func (f *logFile) closeOutput() {
	if file, ok := f.out.(*os.File); ok && f.path != "" {
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

// end writes what waits and ends the writer; false: it did not end in time, and
// still uses its output. Nobody may put to f any more.
func (f *logFile) end() bool {
	close(f.batches)
	select {
	case <-f.ended:
		return true
	case <-time.After(logEndTime):
		return false
	}
}

// close is end, for a log whose output is its own.
func (f *logFile) close() {
	if f != nil && f.end() {
		f.tellLost()
		f.closeOutput()
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

// put hands over a batch of whole lines, or drops it.
func (f *logFile) put(b []byte, lines int) {
	select {
	case f.batches <- b:
	default:
		f.dropped.Add(int64(lines))
	}
}
