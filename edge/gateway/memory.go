package gateway

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// tidyLook is how often the handshakes are counted.
	tidyLook = 500 * time.Millisecond
	// tidyQuiet is the most handshakes of a look that still is a quiet one.
	tidyQuiet = 50
	// tidyWorth is how many handshakes leave behind what is worth collecting: at
	// some 10 KB each, 2.5 MB.
	tidyWorth = 256
	// tidyAgain is how many quiet looks after that memory is tidied once more: by
	// then connections rest (conn.rest), and pools have been looked at twice.
	tidyAgain = int(restAfter / tidyLook)
)

// tidyMemory gives the kernel back what the start, a reload, or a burst of
// handshakes has left behind, once it is over, until ctx ends. The collector itself is set to be rare: it
// would otherwise run through a burst, and let the memory lie for minutes after.
func (s *server) tidyMemory(ctx context.Context) {
	look := time.NewTicker(tidyLook)
	defer look.Stop()
	t := newTidier()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		if t.look(s.litter()) {
			debug.FreeOSMemory()
		}
	}
}

// tidier decides when memory is tidied.
type tidier struct {
	last   int64 // litter at the last look
	tidied int64 // and when memory was tidied
	again  int   // quiet looks until it is tidied once more; 0: it is not
}

// newTidier is for a server that has just loaded everything.
func newTidier() tidier { return tidier{tidied: -tidyWorth} }

// look is told how much litter there has ever been, every tidyLook; true means
// that memory is to be tidied now.
func (t *tidier) look(litter int64) bool {
	quiet := litter-t.last <= tidyQuiet
	t.last = litter
	switch {
	case !quiet:
		return false
	case litter-t.tidied >= tidyWorth:
		t.tidied, t.again = litter, tidyAgain
		return true
	case t.again > 0:
		t.again--
		return t.again == 0
	}
	return false
}

// litter is how much was left behind so far, counted in handshakes.
func (s *server) litter() int64 {
	n := tidyWorth * int64(s.reloads.Load()+s.reloadsFailed.Load())
	for i := range s.stats {
		n += s.stats[i].handshakes.Load()
	}
	return n
}
