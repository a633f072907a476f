package gateway

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"edge/edge/reactor"
	"edge/proxy"
	"edge/proxy/bridge"
	"edge/proxy/resolve"
)

// upstreams is what one worker knows of the targets of one route.
type upstreams struct {
	route    *proxy.Route
	group    *proxy.Group
	pools    []*pool // by target
	baseMost int     // bytes of the longest base path

	limit   int       // connections to each target; 0: none
	waiting []waiting // for one, in the order they came
	queued  bool      // on the worker's list of those that are waited for
}

const (
	// poolIdleMax is how many idle connections a worker keeps to one target.
	poolIdleMax = 128
	// poolIdleTime is how long one is kept.
	poolIdleTime = 30 * time.Second
)

// pool is one worker's connections to one target.
type pool struct {
	target *proxy.Target
	name   *resolve.Name  // nil for a unix socket
	known  []netip.Addr   // addresses that all in idle may be connected to
	turn   int            // which of the addresses is asked, modulo their number
	limit  int            // of connections, idle or not; 0: none
	bridge *bridge.Bridge // of https; nil for plain HTTP
	idle   []*upstream    // the last one used is used first
}

// setUpProxy reads the flags of the proxy.
func (s *server) setUpProxy() (err error) {
	if s.routes, err = proxy.ParseRoutes(s.cfg.Proxy); err != nil {
		return fmt.Errorf("--proxy: %w", err)
	}
	if s.trust, err = proxy.ParseTrust(s.cfg.Trust); err != nil {
		return fmt.Errorf("--trust: %w", err)
	}
	if err = s.setBalance(); err != nil {
		return err
	}
	if err = s.setChecks(); err != nil {
		return err
	}
	s.awaitNames()
	return s.startBridges()
}

// awaitNames waits until the names of the targets were looked up, or for
// lookUpTime: a request that comes before is answered 502.
func (s *server) awaitNames() {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTime)
	defer cancel()
	var names []*resolve.Name // all are asked for before the first is waited for
	for _, r := range s.routes {
		for i := range r.Targets {
			if t := &r.Targets[i]; t.Unix == "" {
				names = append(names, s.resolver.Name(t.Host))
			}
		}
	}
	for _, n := range names {
		n.Wait(ctx)
	}
}

// newUpstreams makes a worker's state of all routes.
func newUpstreams(w *worker) []*upstreams {
	var all []*upstreams
	for i := range w.server.routes {
		all = append(all, newUpstream(w, &w.server.routes[i]))
	}
	return all
}

// newUpstream makes a worker's state of one route.
func newUpstream(w *worker, r *proxy.Route) *upstreams {
	s := w.server
	u := &upstreams{route: r, group: proxy.NewGroup(r.Targets, s.balance, s.healthPolicy())}
	u.limit = share(s.cfg.Limits.ProxyConnections, s.cfg.Workers, w.index)
	u.group.Limit(u.limit)
	for j := range r.Targets {
		t := &r.Targets[j]
		p := &pool{target: t, limit: u.limit}
		u.baseMost = max(u.baseMost, len(t.Base))
		if t.TLS {
			p.bridge = s.bridge(t)
		}
		if t.Unix == "" {
			p.name = s.resolver.Name(t.Host)
		}
		u.pools = append(u.pools, p)
	}
	return u
}

// address is where to connect now, nothing for a unix socket.
func (p *pool) address() (netip.AddrPort, error) {
	if p.name == nil {
		return netip.AddrPort{}, nil
	}
	addrs, err := p.name.Addrs()
	if err != nil {
		return netip.AddrPort{}, errNameUnknown
	}
	p.forget(addrs)
	return netip.AddrPortFrom(addrs[p.turn%len(addrs)], p.target.Port), nil
}

// reached is the socket that leads to the address.
func (p *pool) reached(to netip.AddrPort) reactor.Address {
	switch {
	case p.bridge != nil:
		return reactor.Address{Unix: p.bridge.Name()}
	case p.name == nil:
		return reactor.Address{Unix: p.target.Unix}
	}
	return reactor.Address{TCP: to}
}

// nextAddress goes on to the next address of the name after one could not be
// connected to; false: the tries attempts of the request were as many as there are.
// New connections of other requests begin there, too: it is likely to answer.
func (p *pool) nextAddress(tries int) bool {
	if p.name == nil {
		return false
	}
	addrs, err := p.name.Addrs()
	p.turn++
	return err == nil && tries < len(addrs)
}

// forget closes idle connections to addresses that the name no longer has. They
// are looked through when the name was looked up anew, not for each request.
func (p *pool) forget(addrs []netip.Addr) {
	if len(addrs) == len(p.known) && &addrs[0] == &p.known[0] {
		return
	}
	p.known = addrs
	kept := p.idle[:0]
	for _, u := range p.idle {
		if slices.Contains(addrs, u.to.Addr()) {
			kept = append(kept, u)
		} else {
			u.close()
		}
	}
	p.idle = kept
}

// vanished says that u leads to an address that the name no longer has.
func (p *pool) vanished(u *upstream) bool {
	return p.known != nil && !slices.Contains(p.known, u.to.Addr())
}

// take gives an idle connection that may carry requests of c, nil if there is none.
func (p *pool) take(c *conn) *upstream {
	if p.name != nil {
		if addrs, err := p.name.Addrs(); err == nil {
			p.forget(addrs)
		}
	}
	if p.target.ProxyProtocol != 0 {
		return c.takeKept(p)
	}
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	u := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return u
}

// put keeps a connection that may be used again, after a request of c.
func (p *pool) put(u *upstream, c *conn) {
	if len(p.idle) >= poolIdleMax || p.vanished(u) || u.w.draining {
		u.close()
		return
	}
	u.pooled = true
	if u.paused {
		u.resumeReading() // to hear its FIN
	}
	if p.target.ProxyProtocol != 0 {
		if p.limit > 0 { // it would be a connection that nobody else can use
			u.close()
			return
		}
		c.keepUpstream(u)
	} else {
		p.idle = append(p.idle, u)
	}
	u.w.r.SetDeadline(u.sock, u.w.r.Now().Add(poolIdleTime))
}

// makeRoom closes an idle connection if a new one for a request, of now active,
// would be one too many.
func (p *pool) makeRoom(active int) {
	if p.limit > 0 && len(p.idle) > 0 && active+len(p.idle) > p.limit {
		p.idle[0].close()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
}

// drop takes a connection that is gone out of the idle ones.
func (p *pool) drop(u *upstream) {
	if u.keeper != nil {
		u.keeper.kept, u.keeper = nil, nil
		return
	}
	if i := slices.Index(p.idle, u); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
}

// connect starts a new connection.
func (p *pool) connect(w *worker) (*upstream, error) {
	to, err := p.address()
	if err != nil {
		return nil, err
	}
	sock, err := w.r.Connect(p.reached(to))
	if err != nil {
		return nil, err
	}
	u := &upstream{w: w, pool: p, sock: sock, to: to}
	u.parser.Limits = &w.answerLimits
	if p.bridge != nil {
		u.link = p.bridge.Link()
	}
	w.ends[sock.Index()] = u
	w.r.SetDeadline(sock, w.r.Now().Add(w.server.cfg.Timeouts.Connect))
	return u, nil
}
