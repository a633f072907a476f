package gateway

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"edge/edge/reactor"
	"edge/proxy"
	"edge/proxy/bridge"
	"edge/proxy/resolve"
)

// upstreams is what one worker knows of the targets of one route.
type upstreams struct {
	route *proxy.Route
	group *proxy.Group
	pools []*pool // by target
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
	name   *resolve.Name // nil for a unix socket
	known  []netip.Addr  // addresses that all in idle may be connected to
	turn   int           // which of the addresses is asked, modulo their number
	bridge string        // abstract socket of the TLS bridge; "" for plain HTTP
	idle   []*upstream   // the last one used is used first
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
	return s.startBridges()
}

// startBridges makes a way to each https target.
func (s *server) startBridges() error {
	s.bridges = map[string]*bridge.Bridge{}
	options, err := s.bridgeOptions()
	if err != nil {
		return err
	}
	for _, r := range s.routes {
		for i := range r.Targets {
			t := &r.Targets[i]
			if !t.TLS || s.bridges[t.Authority()] != nil {
				continue
			}
			o := options
			o.Address, o.ServerName = net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))), t.Host
			b, err := bridge.New(o)
			if err != nil {
				return err
			}
			s.bridges[t.Authority()] = b
		}
	}
	return nil
}

func (s *server) bridgeOptions() (o bridge.Options, err error) {
	o.Connect = s.cfg.Timeouts.Connect
	o.Log = func(line string) { s.log.limited("upstream", "%s", line) }
	if s.cfg.ProxyCA != "" {
		if o.Roots, err = bridge.LoadRoots(s.cfg.ProxyCA); err != nil {
			return o, fmt.Errorf("--proxy-ca: %w", err)
		}
	}
	if s.cfg.ProxyCert != "" {
		if o.Client, err = bridge.LoadClient(s.cfg.ProxyCert); err != nil {
			return o, fmt.Errorf("--proxy-client-cert: %w", err)
		}
	}
	return o, nil
}

// endBridges ends what startBridges made, after the workers.
func (s *server) endBridges() {
	for _, b := range s.bridges {
		b.Close()
	}
}

// newUpstreams makes a worker's state of all routes.
func newUpstreams(s *server) []*upstreams {
	var all []*upstreams
	for i := range s.routes {
		r := &s.routes[i]
		u := &upstreams{route: r, group: proxy.NewGroup(r.Targets, s.balance, nil)}
		for j := range r.Targets {
			t := &r.Targets[j]
			p := &pool{target: t}
			if t.TLS {
				p.bridge = s.bridges[t.Authority()].Name()
			} else if t.Unix == "" {
				p.name = s.resolver.Name(t.Host)
			}
			u.pools = append(u.pools, p)
		}
		all = append(all, u)
	}
	return all
}

// address is where to connect now.
func (p *pool) address() (reactor.Address, error) {
	switch {
	case p.bridge != "":
		return reactor.Address{Unix: p.bridge}, nil
	case p.name == nil:
		return reactor.Address{Unix: p.target.Unix}, nil
	}
	addrs, err := p.name.Addrs()
	if err != nil {
		return reactor.Address{}, err
	}
	p.forget(addrs)
	return reactor.Address{TCP: netip.AddrPortFrom(addrs[p.turn%len(addrs)], p.target.Port)}, nil
}

// nextAddress goes on to the next address of the name after one could not be
// connected to; false: the tries attempts of the request were as many as there are.
// New connections of other requests begin there, too: it is likely to answer.
func (p *pool) nextAddress(tries int) bool {
	if p.name == nil || p.bridge != "" {
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
		if containsAddr(addrs, u.to) {
			kept = append(kept, u)
		} else {
			u.close()
		}
	}
	p.idle = kept
}

func containsAddr(addrs []netip.Addr, a netip.Addr) bool {
	for _, b := range addrs {
		if a == b {
			return true
		}
	}
	return false
}

// take gives an idle connection, nil if there is none.
func (p *pool) take() *upstream {
	if p.name != nil {
		if addrs, err := p.name.Addrs(); err == nil {
			p.forget(addrs)
		}
	}
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	u := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return u
}

// put keeps a connection that may be used again.
func (p *pool) put(u *upstream) {
	vanished := p.known != nil && !containsAddr(p.known, u.to)
	if len(p.idle) >= poolIdleMax || vanished || u.w.draining {
		u.close()
		return
	}
	u.pooled = true
	if u.paused {
		u.resumeReading() // to hear its FIN
	}
	p.idle = append(p.idle, u)
	u.w.r.SetDeadline(u.sock, u.w.r.Now().Add(poolIdleTime))
}

// drop takes a connection that is gone out of the idle ones.
func (p *pool) drop(u *upstream) {
	for i, v := range p.idle {
		if u == v {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return
		}
	}
}

// connect starts a new connection.
func (p *pool) connect(w *worker) (*upstream, error) {
	to, err := p.address()
	if err != nil {
		return nil, errNameUnknown
	}
	sock, err := w.r.Connect(to)
	if err != nil {
		return nil, err
	}
	u := &upstream{w: w, pool: p, sock: sock, to: to.TCP.Addr()}
	w.ends[sock.Index()] = u
	w.r.SetDeadline(sock, w.r.Now().Add(w.server.cfg.Timeouts.Connect))
	return u, nil
}
