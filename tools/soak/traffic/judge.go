package traffic

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"edge/tools/soak/websocket"
)

// patience is how long one request may take before it is said to hang.
const patience = 60 * time.Second

// faultsMax is how many faults are kept in words; all are counted.
const faultsMax = 50

// judge decides what became of a request.
type judge struct {
	restarting atomic.Bool  // an address of the application is being started anew
	restarted  atomic.Int64 // when it last was, in ns of the wall clock

	mu     sync.Mutex
	tally  map[string]*Tally
	faults []string
	wrong  int
}

// Tally is what became of the requests of one kind.
type Tally struct {
	Right   int // answered, every byte as it must be
	Left    int // the client went away, as it meant to
	Excused int // failed, visibly, while the application was started anew
}

func newJudge() *judge { return &judge{tally: map[string]*Tally{}} }

// begin counts from nothing again; faults stay.
func (j *judge) begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.tally)
}

// faultWords begin the errors that nothing excuses.
var faultWords = []string{"MIXED UP", "TRUNCATED", "DOUBLED", "HUNG"}

func isFault(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, websocket.ErrFrame) {
		return true
	}
	return slices.ContainsFunc(faultWords, func(w string) bool { return strings.Contains(err.Error(), w) })
}

// fault takes down what must not happen.
func (j *judge) fault(kind string, t Token, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wrong++
	if len(j.faults) < faultsMax {
		j.faults = append(j.faults, fmt.Sprintf("%s: %s %s: %v", time.Now().Format("15:04:05.000"), kind, t, err))
	}
}

// outcome judges n requests of a kind that began at start.
func (j *judge) outcome(kind string, t Token, n int, start time.Time, err error) {
	var e net.Error
	if errors.As(err, &e) && e.Timeout() {
		err = fmt.Errorf("HUNG for %v: %w", time.Since(start).Round(time.Second), err)
	}
	switch {
	case err == nil:
	case isFault(err) || !j.restartSince(start):
		j.fault(kind, t, err)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	k := j.tally[kind]
	if k == nil {
		k = new(Tally)
		j.tally[kind] = k
	}
	switch {
	case err != nil:
		k.Excused += n
	case kind == kindLeaving:
		k.Left += n
	default:
		k.Right += n
	}
}

// restartSince says that the application was being started anew at some time after
// start. The proxy may take a moment to hear of it.
func (j *judge) restartSince(start time.Time) bool {
	const hearing = 100 * time.Millisecond
	return j.restarting.Load() || j.restarted.Load() > start.Add(-hearing).UnixNano()
}

// Report is what came of a run.
type Report struct {
	Kinds    map[string]Tally
	Total    Tally
	Faults   []string // the first of them, in words
	Wrong    int      // how many there were
	Restarts int
	Took     time.Duration
}

func (j *judge) report() (r Report) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Kinds = map[string]Tally{}
	for kind, k := range j.tally {
		r.Kinds[kind] = *k
		r.Total.Right += k.Right
		r.Total.Left += k.Left
		r.Total.Excused += k.Excused
	}
	r.Faults, r.Wrong = slices.Clone(j.faults), j.wrong
	return r
}

// String is a table, and the faults below it.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %10s %10s %10s\n", "", "right", "left", "excused")
	row := func(kind string, k Tally) {
		fmt.Fprintf(&b, "%-14s %10d %10d %10d\n", kind, k.Right, k.Left, k.Excused)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		row(kind, r.Kinds[kind])
	}
	row("all", r.Total)
	done := r.Total.Right + r.Total.Left + r.Total.Excused
	fmt.Fprintf(&b, "%d restarts of the application, %v, %.0f requests a second, %d faults\n",
		r.Restarts, r.Took.Round(time.Second), float64(done)/r.Took.Seconds(), r.Wrong)
	for _, f := range r.Faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
