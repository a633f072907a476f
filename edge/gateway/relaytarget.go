package gateway

import (
	"context"
	"net"
	"net/netip"
	"time"

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
	local         map[netip.Addr]bool // addresses of this machine
}

func (t *relayTarget) String() string { return t.target.String() }

// targets is the table of relayed names. A target never comes from what a client
// wrote: the tables are all there is.
type targets map[string]*relayTarget

// newTargets makes a table of names and targets, and starts to look up what is new
// among them.
func (s *server) newTargets(relays []config.Relay) targets {
	t := targets{}
	local := localAddresses()
	for _, r := range relays {
		normal, err := certstore.AppendName(nil, []byte(r.Name))
		if err != nil {
			s.log.Printf("nothing is relayed for %q: %v", r.Name, err)
			continue
		}
		t[string(normal)] = &relayTarget{r.Target, s.resolver.Name(r.Target.Host), s.cfg.RelayProxyProtocol, local}
	}
	return t
}

// relayTargets are the names that are relayed: those of --relay, and with
// --relay-public the public names of our ECH keys.
func (s *server) relayTargets(keys *ech.Set) targets {
	var relays []config.Relay
	if s.cfg.RelayPublic {
		for _, k := range keys.Keys() {
			name := k.Config.PublicName
			relays = append(relays, config.Relay{Name: name, Target: config.HostPort{Host: name, Port: 443}})
		}
	}
	return s.newTargets(append(relays, s.cfg.Relays...)) // what is said of a name stands last
}

// lookUpTime is how long the start, or a reload, waits for names to be looked up:
// a connection that comes before its target is known is refused.
const lookUpTime = 3 * time.Second

// await waits until each target was looked up, or for lookUpTime.
func (t targets) await() {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpTime)
	defer cancel()
	for _, to := range t {
		to.resolved.Wait(ctx)
	}
}

// isOurs says whether a connection to the address would come back to us.
func (s *server) isOurs(to netip.AddrPort, local map[netip.Addr]bool) bool {
	for _, a := range s.addresses {
		if a.Port() != to.Port() {
			continue
		}
		at, ours := to.Addr().Unmap(), a.Addr().Unmap()
		if ours == at || ours.IsUnspecified() && (at.IsLoopback() || at.IsUnspecified() || local[at]) {
			return true
		}
	}
	return false
}

// localAddresses are the addresses of this machine.
func localAddresses() map[netip.Addr]bool {
	local := map[netip.Addr]bool{}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return local // the loop guard is left
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			local[p.Addr().Unmap()] = true
		}
	}
	return local
}
