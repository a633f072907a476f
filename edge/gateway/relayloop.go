package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"edge/tlsstack/wire"
)

// A relay may lead back to us by ways that no address shows: through a port that
// is mapped to ours, or another relay. What comes back is the very same hello, so
// that its random value tells: one that is being relayed several times over is
// going round, and ends there.

var errLoop = errors.New("it leads back here: the same hello came again")

// loopsMax is how often one hello may be relayed at the same time: now and then
// something replays a recorded one.
const loopsMax = 4

// helloKey stands for a ClientHello: the first half of its random.
type helloKey [16]byte

func keyOf(hello *wire.ClientHello) (k helloKey) {
	copy(k[:], hello.Random)
	return k
}

// loopGuard counts the hellos being relayed, on all workers.
type loopGuard struct {
	mu    sync.Mutex
	count map[helloKey]int
}

// enter counts a hello; false: it is going round.
func (g *loopGuard) enter(k helloKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count == nil {
		g.count = map[helloKey]int{}
	}
	if g.count[k] >= loopsMax {
		return false
	}
	g.count[k]++
	return true
}

// leave takes back what enter counted; the zero key was not.
func (g *loopGuard) leave(k helloKey) {
	if k == (helloKey{}) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count[k]--; g.count[k] <= 0 {
		delete(g.count, k)
	}
}

// selfError: an address of a target is one of our own listeners.
type selfError struct{ at netip.AddrPort }

func (e *selfError) Error() string { return fmt.Sprintf("%s is this server itself", e.at) }
