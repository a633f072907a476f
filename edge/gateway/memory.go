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
)

// tidyMemory gives the kernel back what a burst of handshakes has left behind,
// once it is over, until ctx ends. The collector itself is set to be rare: it
// would otherwise run through a burst, and let the memory lie for minutes after.
func (s *server) tidyMemory(ctx context.Context) {
	look := time.NewTicker(tidyLook)
	defer look.Stop()
	var last, tidied int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		now := s.handshakes()
		if now-last <= tidyQuiet && now-tidied >= tidyWorth {
			debug.FreeOSMemory()
			tidied = now
		}
		last = now
	}
}

// handshakes is how many there were on all workers.
func (s *server) handshakes() (n int64) {
	for i := range s.stats {
		n += s.stats[i].handshakes.Load()
	}
	return n
}
