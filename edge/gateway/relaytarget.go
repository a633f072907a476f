package gateway

import (
	"fmt"
	"net"
	"net/netip"

	"edge/certstore"
	"edge/ech"
	"edge/edge/config"
	"edge/proxy/resolve"
)

// relayTarget is where connections for one name go.
type relayTarget struct {
	target        config.HostPort
	resolved      *resolve.Name
	proxyProtocol bool
}

func (t *relayTarget) String() string { return t.target.String() }

// relayTargets are the names that are relayed: those of --relay, and with
// --relay-public the public names of our ECH keys. A target never comes from
// what a client wrote: this table is all there is.
func (s *server) relayTargets(keys *ech.Set) map[string]*relayTarget {
	targets := map[string]*relayTarget{}
	add := func(name string, to config.HostPort) {
		normal, err := certstore.AppendName(nil, []byte(name))
		if err != nil {
			s.log.Printf("nothing is relayed for %q: %v", name, err)
			return
		}
		targets[string(normal)] = &relayTarget{to, s.resolver.Name(to.Host), s.cfg.RelayProxyProtocol}
	}
	if s.cfg.RelayPublic && keys != nil {
		for _, k := range keys.Keys() {
			add(k.Config.PublicName, config.HostPort{Host: k.Config.PublicName, Port: 443})
		}
	}
	for _, r := range s.cfg.Relays {
		add(r.Name, r.Target)
	}
	return targets
}

// address is where to connect now. A target that leads back to one of our own
// listeners is refused: it would be relayed again, for ever.
func (t *relayTarget) address(s *server) (netip.AddrPort, error) {
	addrs, err := t.resolved.Addrs()
	if err != nil {
		return netip.AddrPort{}, err
	}
	to := netip.AddrPortFrom(addrs[0], t.target.Port)
	if s.isOurs(to) {
		return to, fmt.Errorf("%s is this server itself", to)
	}
	return to, nil
}

// isOurs says whether a connection to the address would come back to us.
func (s *server) isOurs(to netip.AddrPort) bool {
	for _, a := range s.addresses {
		if a.Port() != to.Port() {
			continue
		}
		if a.Addr().Unmap() == to.Addr().Unmap() || a.Addr().IsUnspecified() && s.isLocal(to.Addr().Unmap()) {
			return true
		}
	}
	return false
}

func (s *server) isLocal(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() || s.local[a] }

// localAddresses are the addresses of this machine, as of the start.
func localAddresses() map[netip.Addr]bool {
	local := map[netip.Addr]bool{}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return local // loops over other addresses than loopback are then not seen
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			local[p.Addr().Unmap()] = true
		}
	}
	return local
}

// relayTargetOf is where the connection goes when its hello is not for us: what
// we could not decrypt, for a name that is relayed and that we hold no
// certificate for. nil: it is for us.
func (c *conn) relayTargetOf() *relayTarget {
	info := c.tls.Info()
	if len(c.gen.relays) == 0 || info.ECH == ech.Accepted || info.ServerName == "" {
		return nil
	}
	var buf nameBuffer
	name := normalName(&buf, []byte(info.ServerName))
	to := c.gen.relays[string(name)]
	if to == nil || c.gen.holds(name) {
		return nil
	}
	return to
}
