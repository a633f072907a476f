// Package probe asks an application again and again whether it is well, with a
// request of its own on a connection of its own:
//
//	connect, GET PATH, status   within Timeout, every Interval or so
//	Fall failures in a row      → down
//	Rise successes in a row     → up
//
// The first probe of all decides alone: it counts as up before that. A probe works
// on the goroutine of Run; how to connect, and what follows of a change, is its
// user's. It knows nothing of TLS, and reads no more than the head of an answer.
package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"edge/proxy/http1"
)

// Policy says how often an application is asked and what its answers mean.
type Policy struct {
	Interval    time.Duration // from one probe's start to the next one's, give or take a tenth
	Timeout     time.Duration // of one probe, connecting included
	Fall        int           // that many failures in a row find it down
	Rise        int           // that many successes in a row find it up again
	StatusLeast int           // a status from here
	StatusMost  int           // to here is a success
}

// Prober asks one application.
type Prober struct {
	Policy
	Request []byte                                      // as it is sent; see AppendRequest
	Dial    func(ctx context.Context) (net.Conn, error) // makes a connection for one probe
	Changed func(up bool, why error)                    // is called once for each change; why is nil for up
}

// AppendRequest appends the request for a path at a host.
func AppendRequest(dst []byte, path, host string) []byte {
	dst = append(append(dst, "GET "...), path...)
	dst = append(append(dst, " HTTP/1.1\r\nHost: "...), host...)
	return append(dst, "\r\nUser-Agent: edge-health\r\nAccept: */*\r\nConnection: close\r\n\r\n"...)
}

// firstWithin spreads the first probes of many applications.
const firstWithin = 250 * time.Millisecond

// Run probes until ctx ends.
func (p *Prober) Run(ctx context.Context) {
	var s state
	for wait := rand.N(min(p.Interval, firstWithin)); ; {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		start := time.Now()
		err := p.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.take(err == nil, &p.Policy) {
			p.Changed(!s.down, err)
		}
		wait = max(0, time.Until(start.Add(jittered(p.Interval))))
	}
}

// jittered is d, give or take a tenth: several of us do not ask in step.
func jittered(d time.Duration) time.Duration { return d - d/10 + rand.N(max(d/5, 1)) }

// state is what the probes so far have found.
type state struct {
	known bool // one has ended
	down  bool
	row   int // probes in a row that found otherwise
}

// take counts a probe, and says whether it changed what is found.
func (s *state) take(well bool, p *Policy) (changed bool) {
	first := !s.known
	s.known = true
	if well == !s.down {
		s.row = 0
		return false
	}
	need := p.Fall
	if s.down {
		need = p.Rise
	}
	if s.row++; s.row < need && !first {
		return false
	}
	s.down, s.row = !well, 0
	return true
}

// ask makes one probe.
func (p *Prober) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	conn, err := p.Dial(ctx)
	if err != nil {
		return p.late(ctx, err)
	}
	defer conn.Close()
	end := context.AfterFunc(ctx, func() { conn.Close() })
	defer end()
	if _, err := conn.Write(p.Request); err != nil {
		return p.late(ctx, err)
	}
	status, err := readStatus(conn)
	if err != nil {
		return p.late(ctx, err)
	}
	if status < p.StatusLeast || status > p.StatusMost {
		return fmt.Errorf("status %d", status)
	}
	return nil
}

// late says that the time was over, if that is what was behind err.
func (p *Prober) late(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", p.Timeout)
	}
	return err
}

var errCut = errors.New("closed without a whole answer")

// readStatus reads the final head of an answer, and no more heads than that of an
// answer may hold bytes.
func readStatus(conn net.Conn) (int, error) {
	var parser http1.Parser
	var head http1.ResponseHead
	buf, got := make([]byte, http1.DefaultLimits.HeadBytes), 0
	for {
		n, err := parser.ParseResponse(buf[:got], &head, []byte("GET"))
		if err != nil {
			return 0, err
		}
		if n > 0 && head.Status >= 200 {
			return head.Status, nil
		}
		if n > 0 {
			got = copy(buf, buf[n:got])
			continue
		}
		n, err = conn.Read(buf[got:])
		if got += n; n == 0 && err != nil {
			return 0, fmt.Errorf("%w (%v)", errCut, err)
		}
	}
}
