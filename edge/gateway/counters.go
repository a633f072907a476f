package gateway

import (
	"fmt"
	"sync/atomic"
)

// sum adds one counter up over the workers.
func (s *server) sum(counter func(*stats) *atomic.Int64) (n int64) {
	for i := range s.stats {
		n += counter(&s.stats[i]).Load()
	}
	return n
}

// counterGroups are the counters as a line tells them: groups by what they count.
var counterGroups = []struct {
	name     string
	counters []namedCounter
}{
	{"connections", []namedCounter{
		{"accepted", func(s *stats) *atomic.Int64 { return &s.accepted }},
		{"refused", func(s *stats) *atomic.Int64 { return &s.refused }},
		{"not accepted", func(s *stats) *atomic.Int64 { return &s.acceptFailed }},
		{"without a buffer", func(s *stats) *atomic.Int64 { return &s.noBuffer }},
		{"timed out", func(s *stats) *atomic.Int64 { return &s.timeouts }},
	}},
	{"handshakes", []namedCounter{
		{"done", func(s *stats) *atomic.Int64 { return &s.handshakes }},
		{"resumed", func(s *stats) *atomic.Int64 { return &s.resumed }},
		{"failed", func(s *stats) *atomic.Int64 { return &s.tlsFailed }},
	}},
	{"ECH", []namedCounter{
		{"accepted", func(s *stats) *atomic.Int64 { return &s.echAccepted }},
		{"rejected", func(s *stats) *atomic.Int64 { return &s.echRejected }},
		{"grease", func(s *stats) *atomic.Int64 { return &s.echGrease }},
		{"none", func(s *stats) *atomic.Int64 { return &s.echNone }},
		{"ech_required", func(s *stats) *atomic.Int64 { return &s.echRequired }},
	}},
	{"relayed", []namedCounter{
		{"all", func(s *stats) *atomic.Int64 { return &s.relayed }},
		{"to origins", func(s *stats) *atomic.Int64 { return &s.split }},
		{"failed", func(s *stats) *atomic.Int64 { return &s.relayFailed }},
		{"bytes", func(s *stats) *atomic.Int64 { return &s.relayBytes }},
	}},
	{"requests", []namedCounter{
		{"all", func(s *stats) *atomic.Int64 { return &s.requests }},
		{"bad", func(s *stats) *atomic.Int64 { return &s.badRequests }},
		{"cut short", func(s *stats) *atomic.Int64 { return &s.cutShort }},
		{"no application", func(s *stats) *atomic.Int64 { return &s.upstreamFailed }},
	}},
}

type namedCounter struct {
	name string
	of   func(*stats) *atomic.Int64
}

// logCounters writes a line with the counters:
//
//	counters: connections: 7 accepted, 0 refused, …; handshakes: …; ECH: …
func (s *server) logCounters() {
	b := []byte("counters")
	for i, g := range counterGroups {
		if i > 0 {
			b = append(b, ';')
		} else {
			b = append(b, ':')
		}
		b = fmt.Appendf(b, " %s:", g.name)
		for j, c := range g.counters {
			if j > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, " %d %s", s.sum(c.of), c.name)
		}
	}
	s.log.Printf("%s; reloads: %d done, %d failed", b, s.reloads.Load(), s.reloadsFailed.Load())
}
