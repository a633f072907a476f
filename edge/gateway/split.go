package gateway

import (
	"fmt"

	"edge/proxy"
)

// Split mode (RFC 9849, 3.1) from both of its sides. In front, hellos that our
// keys open go on to the origin of the name inside (relay.go, ech/split). Behind,
// we are that origin: connections from the client-facing servers named carry inner
// hellos, and we give the signal that ECH was accepted.

// setUpSplit reads who the client-facing servers are.
func (s *server) setUpSplit() (err error) {
	if s.fronts, err = proxy.ParseTrust(s.cfg.ECHBackend); err != nil {
		return fmt.Errorf("--ech-backend: %w", err)
	}
	return nil
}

// splitInto gives a generation what split mode needs.
func (s *server) splitInto(g *generation) {
	g.origins = s.newTargets(s.cfg.Origins)
	if len(s.fronts) > 0 {
		g.fronts = s.fronts
		g.tlsOfFront = new(*g.tls)
		g.tlsOfFront.ECH, g.tlsOfFront.ECHBackend = nil, true
	}
}
