package gateway

import (
	"fmt"

	"edge/proxy"
	"edge/proxy/bridge"
)

// bridgeKey is what targets share that share a bridge.
func bridgeKey(t *proxy.Target) proxy.Target {
	return proxy.Target{TLS: true, Host: t.Host, Port: t.Port, ServerName: t.ServerName, Insecure: t.Insecure}
}

// startBridges makes a way to each https target.
func (s *server) startBridges() error {
	s.bridges = map[proxy.Target]*bridge.Bridge{}
	options, err := s.bridgeOptions()
	if err != nil {
		return err
	}
	s.bridgeTo = options
	for _, r := range s.routes {
		for i := range r.Targets {
			if err := s.startBridge("--proxy", &r.Targets[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// startBridge makes a way to t, if it is an https target without one. by is where t
// was named.
func (s *server) startBridge(by string, t *proxy.Target) error {
	s.bridgesMu.Lock()
	defer s.bridgesMu.Unlock()
	key := bridgeKey(t)
	if !t.TLS || s.bridges[key] != nil {
		return nil
	}
	o := s.bridgeTo
	o.Name, o.ServerName, o.Insecure = key.String(), t.VerifyName(), t.Insecure
	if o.Insecure {
		s.log.Printf("%s %s: the certificate there is not verified: whoever is on the way can read and change everything", by, t)
	}
	b, err := bridge.New(o)
	if err == nil {
		s.bridges[key] = b
	}
	return err
}

// bridge is the way to t.
func (s *server) bridge(t *proxy.Target) *bridge.Bridge {
	s.bridgesMu.Lock()
	defer s.bridgesMu.Unlock()
	return s.bridges[bridgeKey(t)]
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

// verdictFailures is what a bridge's word means for the request that waits for the
// connection.
var verdictFailures = map[bridge.Verdict]proxy.Failure{
	bridge.Connected:   proxy.NotFailed,
	bridge.Unreachable: proxy.NotConnected,
	bridge.Late:        proxy.ConnectTimeout,
	bridge.Untrusted:   proxy.TLSRefused,
}

// greetBridge tells the bridge where to connect; its verdict is awaited before
// anything of the request goes there.
func (u *upstream) greetBridge() {
	b := u.w.r.Buffers().Get(proxyHeaderBytes)
	if b == nil {
		u.c.upstreamFailed(u.x, proxy.PoolFull)
		return
	}
	var header []byte
	if u.pool.target.ProxyProtocol != 0 {
		header = u.c.appendProxyHeader(u.w.scratch[:0], u.pool.target.ProxyProtocol)
		u.w.scratch = header[:0]
	}
	u.sending = bridge.AppendPreface(b, u.link.ID(), u.to, header)
	u.w.r.Send(u.sock, u.sending)
	u.w.r.Receive(u.sock)
}

// hearBridge takes the bridge's verdict.
func (u *upstream) hearBridge(b []byte) {
	switch f, known := verdictFailures[bridge.Verdict(b[0])]; {
	case !known || len(b) > 1: // the upstream speaks unasked: what it means is unknown
		u.fail(proxy.NotConnected)
	case f != proxy.NotFailed:
		u.fail(f)
	default:
		u.open = true
		u.sendRequest()
	}
}

// cutOff says that the target, which ended its side, did so without close_notify:
// what has no length of its own may be a part (RFC 9112, 9.8).
func (u *upstream) cutOff() bool { return u.link != nil && !u.link.Ended() }
