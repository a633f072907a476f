package sim

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"edge/edge/reactor"
)

// echo sends back what it receives, one Send at a time.
type echo struct {
	r    *Reactor
	bufs map[reactor.Sock][]byte
	busy map[reactor.Sock]bool
	end  map[reactor.Sock]bool
}

func newEcho(r *Reactor) *echo {
	e := &echo{r, map[reactor.Sock][]byte{}, map[reactor.Sock]bool{}, map[reactor.Sock]bool{}}
	r.Attach(e)
	return e
}

func (e *echo) Accepted(_, s reactor.Sock, _ netip.AddrPort) {
	e.r.Receive(s)
	e.r.SetDeadline(s, e.r.Now().Add(time.Minute))
}
func (e *echo) AcceptFailed(reactor.Sock, error)     {}
func (e *echo) Connected(reactor.Sock, error)        {}
func (e *echo) FileRead(reactor.Sock, int, error)    {}
func (e *echo) Expired(s reactor.Sock)               { e.r.Close(s) }
func (e *echo) Fired(uint64)                         {}
func (e *echo) Closed(s reactor.Sock)                { delete(e.bufs, s); delete(e.busy, s); delete(e.end, s) }
func (e *echo) ReceiveEnded(s reactor.Sock, _ error) { e.end[s] = true }
func (e *echo) Sent(s reactor.Sock, _ error)         { e.busy[s] = false }
func (e *echo) Received(s reactor.Sock, b []byte, _ reactor.BufID) bool {
	e.bufs[s] = append(e.bufs[s], b...)
	return false
}
func (e *echo) TurnEnd() {
	for s, b := range e.bufs {
		if !e.busy[s] && len(b) > 0 {
			e.busy[s] = true
			e.r.Send(s, append([]byte(nil), b...))
			e.bufs[s] = b[:0]
		}
	}
	for s := range e.end {
		if !e.busy[s] && len(e.bufs[s]) == 0 {
			e.r.Close(s)
		}
	}
}

func TestEcho(t *testing.T) {
	for seed := range uint64(50) {
		s := New(t, Options{Seed: seed + 1})
		l := s.Listener("echo")
		newEcho(s)
		k, err := s.Listen(l.FD)
		if err != nil {
			t.Fatal(err)
		}
		s.Receive(k)
		p, q := l.Dial(), l.Dial()
		p.Write("hello")
		p.Want("echo", "hello")
		p.WantIdle("nothing more")
		long := strings.Repeat("0123456789", 30000)
		q.Write(long)
		q.CloseWrite()
		q.Want("long echo", long)
		q.WantEOF("after FIN")
		s.Advance(59 * time.Second)
		p.WantIdle("not yet")
		s.Advance(2 * time.Second)
		p.WantEOF("idle")
		s.WantClean()
	}
}
