package gateway

import "net/netip"

// sources counts one worker's connections by client address, IPv6 by its /64:
// that is what one customer is given.
type sources struct {
	max   int // 0: no limit
	count map[netip.Addr]int
}

// sourcePrefix6 is the part of an IPv6 address that stands for one client.
const sourcePrefix6 = 64

func sourceOf(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		p, err := a.WithZone("").Prefix(sourcePrefix6)
		if err == nil {
			return p.Addr()
		}
	}
	return a
}

// enter counts a connection; false: its source has as many as it may have. A
// peer without an address (a unix socket) is not counted.
func (s *sources) enter(a netip.Addr) bool {
	if s.max == 0 || !a.IsValid() {
		return true
	}
	key := sourceOf(a)
	n := s.count[key]
	if n >= s.max {
		return false
	}
	s.count[key] = n + 1
	return true
}

// leave takes back what enter counted.
func (s *sources) leave(a netip.Addr) {
	if s.max == 0 || !a.IsValid() {
		return
	}
	key := sourceOf(a)
	if n := s.count[key]; n > 1 {
		s.count[key] = n - 1
	} else {
		delete(s.count, key)
	}
}

// hasRoom says whether there is room for one more connection.
func (w *worker) hasRoom() bool {
	if w.open >= w.server.cfg.Limits.Connections {
		w.server.log.limited("max-connections", "connection refused: worker %d has --max-connections %d", w.index, w.open)
		return false
	}
	return true
}

// admitsSource says whether a client may have one more connection. If so it is
// counted.
func (w *worker) admitsSource(from netip.Addr) bool {
	switch {
	case w.server.bans.has(from, w.r.Wall()):
		return false
	case !w.bySource.enter(from):
		w.server.log.limited("max-connections-per-address", "connection from %s refused: worker %d has --max-connections-per-address %d from %s",
			from, w.index, w.bySource.max, sourceOf(from))
		return false
	}
	return true
}
