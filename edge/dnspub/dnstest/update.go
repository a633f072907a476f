package dnstest

import (
	"slices"

	"github.com/miekg/dns"
)

// update carries out an update (RFC 2136, 3) and returns the answer's code.
func (s *Server) update(m *dns.Msg) int {
	s.mu.Lock()
	hook := s.faults.BeforeNext
	s.faults.BeforeNext = nil
	s.mu.Unlock()
	if hook != nil {
		hook(s)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	zone := m.Question[0].Name
	if !slices.Contains(s.zones, zone) {
		return dns.RcodeNotAuth
	}
	for _, rr := range slices.Concat(m.Answer, m.Ns) {
		if s.zoneOf(rr.Header().Name) != zone {
			return dns.RcodeNotZone
		}
	}
	if code := s.prerequisites(m.Answer); code != dns.RcodeSuccess {
		return code
	}
	s.updates++
	if s.faults.Ignore {
		return dns.RcodeSuccess
	}
	for _, rr := range m.Ns {
		s.carryOut(rr)
	}
	return dns.RcodeSuccess
}

// prerequisites checks those of whole sets of records (RFC 2136, 3.2).
func (s *Server) prerequisites(want []dns.RR) int {
	var valued []dns.RR
	for _, rr := range want {
		h := rr.Header()
		switch have := len(s.find(h.Name, h.Rrtype)) > 0; {
		case h.Class == dns.ClassANY && !have:
			return dns.RcodeNXRrset
		case h.Class == dns.ClassNONE && have:
			return dns.RcodeYXRrset
		case h.Class == dns.ClassINET:
			valued = append(valued, rr)
		}
	}
	for _, rr := range valued {
		h := rr.Header()
		have := s.find(h.Name, h.Rrtype)
		asked := slices.DeleteFunc(slices.Clone(valued), func(o dns.RR) bool { return !at(o, h.Name, h.Rrtype) })
		if len(have) != len(asked) || !slices.ContainsFunc(have, func(o dns.RR) bool { return dns.IsDuplicate(o, rr) }) {
			return dns.RcodeNXRrset
		}
	}
	return dns.RcodeSuccess
}

// carryOut makes one change (RFC 2136, 3.4.2).
func (s *Server) carryOut(rr dns.RR) {
	h := rr.Header()
	switch h.Class {
	case dns.ClassANY:
		s.remove(func(o dns.RR) bool { return at(o, h.Name, h.Rrtype) })
	case dns.ClassNONE:
		same := dns.Copy(rr)
		same.Header().Class = dns.ClassINET
		s.remove(func(o dns.RR) bool { return dns.IsDuplicate(o, same) })
	default:
		if len(s.find(h.Name, dns.TypeCNAME)) > 0 {
			return // passed over (RFC 2136, 3.4.2.2)
		}
		s.remove(func(o dns.RR) bool { return dns.IsDuplicate(o, rr) })
		s.records = append(s.records, rr)
	}
}
