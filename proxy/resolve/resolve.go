// Package resolve keeps the addresses of a few host names known: each is looked
// up again when its time to live is over, and the last good answer stays as long
// as there is no new one. Reading the addresses neither waits nor locks.
//
// It works on goroutines of its own, with /etc/hosts and the name servers of
// /etc/resolv.conf. It chooses no address and connects to none.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The time to live of an answer is kept within these, and a failed look-up is
// repeated after retryFirst, then twice as long each time up to retryMost.
const (
	ttlLeast   = time.Second
	ttlMost    = time.Hour
	retryFirst = time.Second
	retryMost  = 30 * time.Second
)

// ErrNotFound: the name exists nowhere. The last good addresses stay: a zone
// that is being changed says this too.
var ErrNotFound = errors.New("no such host, or it has no address")

// LookUp finds the addresses of a name and how long they may be used.
type LookUp func(ctx context.Context, name string) (addrs []netip.Addr, ttl time.Duration, err error)

// Resolver looks names up. It is safe for concurrent use.
type Resolver struct {
	lookUp LookUp
	log    func(line string)
	after  func(time.Duration) <-chan time.Time
	ctx    context.Context
	mu     sync.Mutex
	names  map[string]*Name
}

// New makes a resolver that works until ctx ends. log is told, once per change,
// which names cannot be looked up.
func New(ctx context.Context, lookUp LookUp, log func(line string)) *Resolver {
	return &Resolver{lookUp: lookUp, log: log, after: time.After, ctx: ctx, names: map[string]*Name{}}
}

// Name is one host name whose addresses are kept known.
type Name struct {
	host  string
	state atomic.Pointer[answer]
	first chan struct{} // closed after the first look-up, however it ended
}

type answer struct {
	addrs []netip.Addr
	err   error
}

// Name starts to keep host known; the same host gives the same Name. A dot at its
// end says that it is whole (resolv.conf(5): search). An IP address is known at once and for ever.
func (r *Resolver) Name(host string) *Name {
	host = strings.ToLower(host)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.names[host]; n != nil {
		return n
	}
	n := &Name{host: host, first: make(chan struct{})}
	r.names[host] = n
	if a, err := netip.ParseAddr(strings.Trim(strings.TrimSuffix(host, "."), "[]")); err == nil {
		n.state.Store(&answer{addrs: []netip.Addr{a}})
		close(n.first)
		return n
	}
	go r.keep(n)
	return n
}

// Addrs returns the addresses last heard of, best first, and an error when there
// never were any. The slice is shared: do not change it.
func (n *Name) Addrs() ([]netip.Addr, error) {
	s := n.state.Load()
	switch {
	case s == nil:
		return nil, fmt.Errorf("%s: not looked up yet", n.host)
	case len(s.addrs) == 0:
		return nil, s.err
	}
	return s.addrs, nil
}

// Known says that the first look-up has ended, however.
func (n *Name) Known() bool { return n.state.Load() != nil }

// Wait waits for the first look-up to end, or for ctx.
func (n *Name) Wait(ctx context.Context) {
	select {
	case <-n.first:
	case <-ctx.Done():
	}
}

// keep looks n up again and again.
func (r *Resolver) keep(n *Name) {
	retry := retryFirst
	for {
		addrs, ttl, err := r.lookUp(r.ctx, n.host)
		if r.ctx.Err() != nil {
			return
		}
		if err == nil && len(addrs) == 0 {
			err = ErrNotFound
		}
		r.store(n, addrs, err)
		wait := min(max(ttl, ttlLeast), ttlMost)
		if err != nil {
			wait = retry
			retry = min(2*retry, retryMost)
		} else {
			retry = retryFirst
		}
		select {
		case <-r.after(wait):
		case <-r.ctx.Done():
			return
		}
	}
}

// store puts a look-up's outcome in place of the one before; a failure leaves
// the addresses.
func (r *Resolver) store(n *Name, addrs []netip.Addr, err error) {
	old := n.state.Load()
	next := &answer{addrs: addrs}
	if err != nil {
		next.err = fmt.Errorf("looking up %s: %w", n.host, err)
		if old != nil {
			next.addrs = old.addrs
		}
		if old == nil || old.err == nil {
			r.log(next.err.Error() + stays(next.addrs))
		}
	} else if old != nil && old.err != nil {
		r.log(fmt.Sprintf("looking up %s: found again", n.host))
	}
	n.state.Store(next)
	if old == nil {
		close(n.first)
	}
}

func stays(addrs []netip.Addr) string {
	if len(addrs) == 0 {
		return ""
	}
	return fmt.Sprintf("; its last known addresses stay in use: %v", addrs)
}
