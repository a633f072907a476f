// Package dnstest is an authoritative DNS server on loopback for tests. It holds
// a few zones, answers queries, and takes updates (RFC 2136) signed by its keys
// (RFC 8945), over UDP and TCP on one port.
//
// It is not a server for anything else: it does what the tests need of RFC 1034,
// 2136 and 4592, in the plainest way.
package dnstest

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Server is a running server. All methods may be called at any time.
type Server struct {
	Address string // HOST:PORT

	mu      sync.Mutex
	faults  Faults
	zones   []string
	records []dns.RR
	updates int
}

// Faults are the ways in which a server may misbehave. The zero value has none.
type Faults struct {
	CutUDP     bool           // answers over UDP are cut short
	DropUDP    bool           // nothing is answered over UDP
	Code       map[string]int // answers for the names are this code
	Ignore     bool           // updates succeed and change nothing
	NoTSIG     bool           // answers are not signed
	BeforeNext func(*Server)  // called once, before the next update is looked at
}

// Fail sets the faults.
func (s *Server) Fail(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

func (s *Server) currentFaults() Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults
}

// Start runs a server with zones (names with their final dot) and records in
// zone-file form until the test ends. secrets are TSIG keys: names with their
// final dot, base64.
func Start(t *testing.T, zones []string, secrets map[string]string, records ...string) *Server {
	t.Helper()
	s := &Server{zones: zones}
	for _, zone := range zones {
		s.Add(t, zone+" 3600 IN SOA ns. host. 1 3600 600 86400 60")
	}
	s.Add(t, records...)
	tcp, udp := listen(t)
	s.Address = tcp.Addr().String()
	for _, server := range []*dns.Server{{Listener: tcp}, {PacketConn: udp}} {
		server.Handler, server.TsigSecret = s, secrets
		server.MsgAcceptFunc = func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept } // updates too
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		done := make(chan struct{})
		go func() {
			defer close(done)
			server.ActivateAndServe()
		}()
		<-started
		t.Cleanup(func() {
			server.Shutdown()
			<-done
		})
	}
	return s
}

// listen takes a port that is free for both transports.
func listen(t *testing.T) (net.Listener, net.PacketConn) {
	t.Helper()
	for range 16 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err == nil {
			return tcp, udp
		}
		tcp.Close()
	}
	t.Fatal("no port is free for both TCP and UDP")
	return nil, nil
}

// Add adds records in zone-file form.
func (s *Server) Add(t *testing.T, records ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		s.records = append(s.records, rr)
	}
}

// Remove takes away all records of a name and type.
func (s *Server) Remove(name string, rrtype uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(func(rr dns.RR) bool { return at(rr, name, rrtype) })
}

// HTTPS returns the HTTPS records of a name.
func (s *Server) HTTPS(name string) []*dns.HTTPS {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*dns.HTTPS
	for _, rr := range s.find(name, dns.TypeHTTPS) {
		out = append(out, dns.Copy(rr).(*dns.HTTPS))
	}
	return out
}

// Updates returns how many updates succeeded.
func (s *Server) Updates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updates
}

func at(rr dns.RR, name string, rrtype uint16) bool {
	h := rr.Header()
	return strings.EqualFold(h.Name, name) && (h.Rrtype == rrtype || rrtype == dns.TypeANY)
}

func (s *Server) find(name string, rrtype uint16) []dns.RR {
	var out []dns.RR
	for _, rr := range s.records {
		if at(rr, name, rrtype) {
			out = append(out, rr)
		}
	}
	return out
}

func (s *Server) remove(which func(dns.RR) bool) {
	s.records = slices.DeleteFunc(s.records, which)
}

// ServeDNS answers one message.
func (s *Server) ServeDNS(w dns.ResponseWriter, m *dns.Msg) {
	faults := s.currentFaults()
	_, udp := w.RemoteAddr().(*net.UDPAddr)
	if udp && faults.DropUDP {
		return
	}
	r := new(dns.Msg).SetReply(m)
	r.Authoritative = true
	signed := m.IsTsig()
	code, given := faults.Code[strings.ToLower(m.Question[0].Name)]
	switch {
	case signed != nil && w.TsigStatus() != nil:
		s.refuseSignature(w, m, r)
		return
	case given:
		r.Rcode = code
	case m.Opcode == dns.OpcodeUpdate && signed == nil:
		r.Rcode = dns.RcodeRefused
	case m.Opcode == dns.OpcodeUpdate:
		r.Rcode = s.update(m)
	default:
		s.answer(m, r)
	}
	if udp && faults.CutUDP {
		r.Truncated, r.Answer = true, nil
	}
	if signed != nil && !faults.NoTSIG {
		r.SetTsig(signed.Hdr.Name, signed.Algorithm, signed.Fudge, int64(signed.TimeSigned))
	}
	w.WriteMsg(r)
}

// refuseSignature answers as RFC 8945, 5.2 says, without a signature.
func (s *Server) refuseSignature(w dns.ResponseWriter, m, r *dns.Msg) {
	t := *m.IsTsig()
	t.MAC, t.MACSize = "", 0
	switch w.TsigStatus() {
	case dns.ErrSecret:
		t.Error = dns.RcodeBadKey
	case dns.ErrTime:
		t.Error = dns.RcodeBadTime
	default:
		t.Error = dns.RcodeBadSig
	}
	r.Rcode = dns.RcodeNotAuth
	r.Extra = append(r.Extra, &t)
	if wire, err := r.Pack(); err == nil {
		w.Write(wire)
	}
}

// zoneOf returns the longest zone that a name is in, empty for none.
func (s *Server) zoneOf(name string) string {
	best := ""
	for _, zone := range s.zones {
		if dns.IsSubDomain(zone, name) && len(zone) > len(best) {
			best = zone
		}
	}
	return best
}

// answer looks a question up, through aliases and wildcards.
func (s *Server) answer(m, r *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := m.Question[0]
	zone := s.zoneOf(q.Name)
	if zone == "" {
		r.Rcode = dns.RcodeRefused
		return
	}
	found := s.lookup(q.Name, dns.TypeCNAME)
	if len(found) == 0 || q.Qtype == dns.TypeCNAME {
		found = s.lookup(q.Name, q.Qtype)
	}
	for _, rr := range found {
		rr = dns.Copy(rr)
		rr.Header().Name = q.Name
		r.Answer = append(r.Answer, rr)
	}
	if len(found) > 0 {
		return
	}
	r.Ns = append(r.Ns, s.find(zone, dns.TypeSOA)...)
	if !slices.ContainsFunc(s.records, func(rr dns.RR) bool { return dns.IsSubDomain(q.Name, rr.Header().Name) }) {
		r.Rcode = dns.RcodeNameError
	}
}

// lookup finds records at a name or, when it has none of any type, at the
// wildcard beside it (RFC 4592).
func (s *Server) lookup(name string, rrtype uint16) []dns.RR {
	if len(s.find(name, dns.TypeANY)) > 0 {
		return s.find(name, rrtype)
	}
	_, parent, _ := strings.Cut(name, ".")
	return s.find("*."+parent, rrtype)
}
