package gateway

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Log is where the operator reads what went wrong, in words, a line each. It may
// be used from any goroutine. Between start and stop nobody waits for it: lines
// that are not written in time are dropped and counted.
type Log struct {
	mu    sync.Mutex
	w     io.Writer // written to without start
	path  string    // of the file w is; "" for a stream
	file  *logFile  // from start to stop
	now   func() time.Time
	kinds map[string]*limitedKind
}

// limitedKind is the allowance of one kind of line that peers can cause.
type limitedKind struct {
	second  int64
	lines   int
	dropped int
}

// limitedPerSecond is how many lines of a kind a second may have. What peers can
// cause must not fill a disk.
const limitedPerSecond = 10

// NewLog writes lines to w.
func NewLog(w io.Writer) *Log {
	return &Log{w: w, now: time.Now, kinds: map[string]*limitedKind{}}
}

// OpenLog appends lines to the file at path.
func OpenLog(path string) (*Log, error) {
	file, err := openAppend(path)
	if err != nil {
		return nil, fmt.Errorf("--error-log: %w", err)
	}
	l := NewLog(file)
	l.path = path
	return l, nil
}

// linesMax is how many lines wait to be written.
const linesMax = 1024

// start has lines written off the threads of those who have something to say.
func (l *Log) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = startLogFile("error log", l.path, l.w, linesMax, l.Printf)
}

// stop writes what waits. Lines are written by their authors again, unless the
// old ones cannot be written at all.
func (l *Log) stop() {
	l.mu.Lock()
	file := l.file
	l.file, l.w = nil, io.Discard
	l.mu.Unlock()
	if file.end() {
		l.mu.Lock()
		l.w = file.out
		l.mu.Unlock()
		file.tellLost()
	}
}

// reopen goes on in a new file of the same name: the old one was moved away.
func (l *Log) reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.reopen()
}

// Printf writes one line, with the time in front.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line(fmt.Sprintf(format, args...))
}

func (l *Log) line(s string) {
	b := l.now().UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z ")
	b = append(append(b, s...), '\n')
	if l.file != nil {
		l.file.put(b, 1)
		return
	}
	l.w.Write(b) // there is nobody to tell
}

// limited writes a line of a kind that peers can cause, at most limitedPerSecond
// of them; the first line of a later second says how many were left out.
func (l *Log) limited(kind, format string, args ...any) {
	l.limitedTo(limitedPerSecond, kind, format, args...)
}

// limitedTo is limited with another number of lines a second.
func (l *Log) limitedTo(perSecond int, kind, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[kind]
	if k == nil {
		k = &limitedKind{}
		l.kinds[kind] = k
	}
	if sec := l.now().Unix(); sec != k.second {
		k.second, k.lines = sec, 0
	}
	if k.lines++; k.lines > perSecond {
		k.dropped++
		return
	}
	s := fmt.Sprintf(format, args...)
	if k.dropped > 0 {
		s += fmt.Sprintf(" (%d more lines of this kind were left out)", k.dropped)
		k.dropped = 0
	}
	l.line(s)
}

// printableMax is the most bytes of a peer's that a line shows.
const printableMax = 120

// printable makes a peer's bytes safe in a line.
func printable(b []byte) string {
	if len(b) > printableMax {
		b = b[:printableMax]
	}
	return strconv.QuoteToASCII(string(b))
}
