package gateway

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"

	"edge/proxy"
	"edge/proxy/bridge"
	"edge/proxy/httpmsg"
	"edge/proxy/probe"
	"edge/proxy/resolve"
)

// Active checks (--proxy-health) ask each application on a goroutine of their own,
// once for the process, and tell all workers what changed. A target that is in
// several routes with the same check is asked once. They begin when we serve, and
// end when we drain: a successor asks for itself. A reload changes no route, so it
// leaves them, and what they found, alone.

// checked is a target, and where it stands.
type checked struct {
	target *proxy.Target
	path   string // of the request
	places []targetPlace
}

// targetPlace is a target by its index within a route, and that by its own.
type targetPlace struct{ route, target int }

// setChecks reads --proxy-health.
func (s *server) setChecks() error {
	if len(s.cfg.ProxyHealth) == 0 {
		return nil
	}
	paths := make([]string, len(s.routes)) // to ask for, by route
	for _, value := range s.cfg.ProxyHealth {
		at, path, err := parseCheck(value)
		if err != nil {
			return err
		}
		found := false
		for i := range s.routes {
			if own := s.routes[i].Path == at; own || at == "" && paths[i] == "" {
				paths[i], found = path, true
			}
		}
		if !found {
			return fmt.Errorf("--proxy-health %s: no --proxy is for that path", value)
		}
	}
	if host := s.cfg.ProxyHealthHost; host != "" && httpmsg.CheckAuthority([]byte(host)) != nil {
		return fmt.Errorf("--proxy-health-host %q: give HOST or HOST:PORT", host)
	}
	s.gatherChecks(paths)
	return nil
}

// parseCheck reads [PATH=]URLPATH; at is empty for all routes.
func parseCheck(value string) (at, path string, err error) {
	path = value
	if left, right, ok := strings.Cut(value, "="); ok && !strings.Contains(left, "?") {
		at, path = left, right
		if at = strings.TrimRight(at, "/"); at == "" {
			at = "/"
		}
	}
	bad := !strings.HasPrefix(path, "/") || at != "" && at[0] != '/'
	for i := range len(path) {
		bad = bad || path[i] <= ' ' || path[i] >= 0x7f || path[i] == '#'
	}
	if bad {
		return "", "", fmt.Errorf("--proxy-health %q: give [PATH=]URLPATH, such as /healthz or /api=/healthz", value)
	}
	return at, path, nil
}

// gatherChecks makes the list of what is asked, from the paths by route.
func (s *server) gatherChecks(paths []string) {
	type key struct {
		target proxy.Target
		path   string
	}
	seen := map[key]*checked{}
	for r, path := range paths {
		for i := range s.routes[r].Targets {
			if path == "" {
				continue
			}
			t := s.routes[r].Targets[i]
			t.Weight, t.Base = 1, "" // make no difference to a check
			c := seen[key{t, path}]
			if c == nil {
				c = &checked{target: &t, path: path}
				seen[key{t, path}] = c
				s.checks = append(s.checks, c)
			}
			c.places = append(c.places, targetPlace{r, i})
		}
	}
}

// check asks all of them until ctx ends.
func (s *server) check(ctx context.Context) {
	var all sync.WaitGroup
	for _, c := range s.checks {
		all.Go(func() { s.prober(c).Run(ctx) })
	}
	all.Wait()
}

func (s *server) prober(c *checked) *probe.Prober {
	host := s.cfg.ProxyHealthHost
	if host == "" {
		host = c.target.Authority()
	}
	var name *resolve.Name
	if c.target.Unix == "" {
		name = s.resolver.Name(c.target.Host)
	}
	return &probe.Prober{
		Policy: probe.Policy{
			Interval: s.cfg.ProxyHealthInterval, Timeout: s.cfg.ProxyHealthTimeout,
			Fall: s.cfg.ProxyHealthFall, Rise: s.cfg.ProxyHealthRise,
			StatusLeast: s.cfg.ProxyHealthStatus.Least, StatusMost: s.cfg.ProxyHealthStatus.Most,
		},
		Request: probe.AppendRequest(nil, c.path, host),
		Dial:    func(ctx context.Context) (net.Conn, error) { return s.dialCheck(ctx, c.target, name) },
		Changed: func(up bool, why error) { s.checkChanged(c, up, why) },
	}
}

// checkChanged tells the workers what a check found, and the log.
func (s *server) checkChanged(c *checked, up bool, why error) {
	for _, w := range s.workers {
		w.r.Post(func() {
			for _, p := range c.places {
				w.routes[p.route].group.Check(p.target, up)
				w.freed = true // for those that wait
			}
		})
	}
	if up {
		s.log.Printf("upstream %s is up: GET %s is answered again", c.target, c.path)
	} else {
		s.log.Printf("upstream %s is down: GET %s: %v", c.target, c.path, why)
	}
}

// dialCheck connects to a target as a worker does, to the first of its addresses
// that takes the connection.
func (s *server) dialCheck(ctx context.Context, t *proxy.Target, name *resolve.Name) (conn net.Conn, err error) {
	header := localHeader(t.ProxyProtocol)
	if name == nil {
		return dialGreeting(ctx, "unix", t.Unix, header)
	}
	addrs, err := name.Addrs()
	for _, a := range addrs {
		to := netip.AddrPortFrom(a, t.Port)
		if t.TLS {
			conn, err = s.dialBridge(ctx, t, to, header)
		} else {
			conn, err = dialGreeting(ctx, "tcp", to.String(), header)
		}
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return conn, err
}

// dialBridge connects over the bridge of an https target.
func (s *server) dialBridge(ctx context.Context, t *proxy.Target, to netip.AddrPort, header []byte) (net.Conn, error) {
	b := s.bridge(t)
	link := b.Link()
	conn, err := dialGreeting(ctx, "unix", b.Name(), bridge.AppendPreface(nil, link.ID(), to, header))
	if err != nil {
		link.Leave()
		return nil, err
	}
	checked := checkConn{conn, link}
	end := context.AfterFunc(ctx, func() { checked.Close() })
	defer end()
	verdict := []byte{0}
	if _, err := conn.Read(verdict); err != nil {
		checked.Close()
		return nil, err
	}
	if f, known := verdictFailures[bridge.Verdict(verdict[0])]; !known || f != proxy.NotFailed {
		checked.Close()
		return nil, fmt.Errorf("%s: %s", to, f)
	}
	return checked, nil
}

// checkConn is the connection of a check over a bridge.
type checkConn struct {
	net.Conn
	link *bridge.Link
}

// Close implements net.Conn.
func (c checkConn) Close() error {
	defer c.link.Leave()
	return c.Conn.Close()
}

// dialGreeting connects, and begins with greeting.
func dialGreeting(ctx context.Context, network, address string, greeting []byte) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || len(greeting) == 0 {
		return conn, err
	}
	if _, err := conn.Write(greeting); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
