package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// scripted is a look-up that a test answers, with a clock it moves.
type scripted struct {
	answers chan scriptedAnswer
	waits   chan time.Duration
	tick    chan time.Time
	log     chan string
	r       *Resolver
}

type scriptedAnswer struct {
	addrs []netip.Addr
	ttl   time.Duration
	err   error
}

func newScripted(t *testing.T) *scripted {
	s := &scripted{
		answers: make(chan scriptedAnswer, 1),
		waits:   make(chan time.Duration),
		tick:    make(chan time.Time),
		log:     make(chan string, 10),
	}
	s.r = New(t.Context(), func(ctx context.Context, _ string) ([]netip.Addr, time.Duration, error) {
		select {
		case a := <-s.answers:
			return a.addrs, a.ttl, a.err
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}, func(line string) { s.log <- line })
	s.r.after = func(d time.Duration) <-chan time.Time {
		select {
		case s.waits <- d:
		case <-t.Context().Done():
		}
		return s.tick
	}
	return s
}

// next gives the answer to the next look-up and returns how long it is used.
func (s *scripted) next(t *testing.T, a scriptedAnswer) time.Duration {
	t.Helper()
	s.answers <- a
	select {
	case d := <-s.waits:
		return d
	case <-time.After(10 * time.Second):
		t.Fatal("no look-up")
		return 0
	}
}

func addrs(t *testing.T, n *Name) string {
	t.Helper()
	a, err := n.Addrs()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(a)
}

// Field case P07: one look-up for each TTL, and what is kept when there is no answer.
func TestLastGoodAnswerStays(t *testing.T) {
	s := newScripted(t)
	n := s.r.Name("App.Example")
	if s.r.Name("app.example") != n {
		t.Fatal("one name, two Names")
	}
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, step := range []struct {
		answer scriptedAnswer
		wait   time.Duration
		want   string
	}{
		{scriptedAnswer{err: errors.New("refused")}, time.Second, "looking up app.example: refused"},
		{scriptedAnswer{addrs: []netip.Addr{a}, ttl: 5 * time.Second}, 5 * time.Second, "[192.0.2.1]"},
		{scriptedAnswer{addrs: []netip.Addr{b}, ttl: 0}, time.Second, "[192.0.2.2]"},
		{scriptedAnswer{err: ErrNotFound}, time.Second, "[192.0.2.2]"},
		{scriptedAnswer{err: errors.New("server failure")}, 2 * time.Second, "[192.0.2.2]"},
		{scriptedAnswer{}, 4 * time.Second, "[192.0.2.2]"},
		{scriptedAnswer{addrs: []netip.Addr{a, b}, ttl: 100 * time.Hour}, time.Hour, "[192.0.2.1 192.0.2.2]"},
	} {
		if wait := s.next(t, step.answer); wait != step.wait {
			t.Errorf("%+v: used for %v, want %v", step.answer, wait, step.wait)
		}
		if got := addrs(t, n); got != step.want {
			t.Errorf("%+v: addresses %s, want %s", step.answer, got, step.want)
		}
		s.tick <- time.Time{}
	}
	// Each change between failing and not was told once.
	if len(s.log) != 4 {
		t.Errorf("%d lines in the log, want 4", len(s.log))
	}
}

func TestAddressNeedsNoLookUp(t *testing.T) {
	s := newScripted(t)
	for host, want := range map[string]string{"192.0.2.9": "[192.0.2.9]", "[2001:db8::1]": "[2001:db8::1]"} {
		n := s.r.Name(host)
		n.Wait(t.Context())
		if got := addrs(t, n); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}

func TestHostsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	text := "# comment\n127.0.0.1 localhost\n192.0.2.1 a.example A2.example # x\nnonsense b.example\n::1 a.example\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"a.example": "[192.0.2.1 ::1]", "a2.example": "[192.0.2.1]", "b.example": "[]", "x": "[]",
	} {
		if got := fmt.Sprint(fromHosts(path, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// server is a name server on loopback.
func server(t *testing.T, handle dns.HandlerFunc) *dns.ClientConfig {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{PacketConn: pc, Handler: handle}
	go s.ActivateAndServe()
	t.Cleanup(func() { s.Shutdown() })
	_, port, _ := net.SplitHostPort(pc.LocalAddr().String())
	return &dns.ClientConfig{Servers: []string{"127.0.0.1"}, Port: port, Attempts: 1, Timeout: 2}
}

func TestNameServer(t *testing.T) {
	conf := server(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		name, kind := q.Question[0].Name, q.Question[0].Qtype
		rr := func(text string) dns.RR {
			r, err := dns.NewRR(text)
			if err != nil {
				t.Error(err)
			}
			return r
		}
		switch {
		case name == "alias.example." && kind == dns.TypeA:
			m.Answer = append(m.Answer, rr("alias.example. 7 IN CNAME real.example."), rr("real.example. 300 IN A 192.0.2.7"))
		case name == "alias.example." && kind == dns.TypeAAAA:
			m.Answer = append(m.Answer, rr("alias.example. 60 IN CNAME real.example."), rr("real.example. 30 IN AAAA 2001:db8::7"))
		case name == "gone.example.":
			m.Rcode = dns.RcodeNameError
		default:
			m.Rcode = dns.RcodeServerFailure
		}
		w.WriteMsg(m)
	})
	got, ttl, err := fromServers(t.Context(), conf, "alias.example")
	want := []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}
	if err != nil || ttl != 7*time.Second || !slices.Equal(got, want) {
		t.Errorf("alias: %v for %v, %v", got, ttl, err)
	}
	if _, _, err := fromServers(t.Context(), conf, "gone.example"); !errors.Is(err, ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
	if _, _, err := fromServers(t.Context(), conf, "broken.example"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("broken: %v", err)
	}
}

// Short names are completed as the machine's own resolver does it (resolv.conf(5)).
func TestSearchList(t *testing.T) {
	var asked []string
	conf := server(t, func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(q)
		name, kind := q.Question[0].Name, q.Question[0].Qtype
		switch {
		case kind == dns.TypeAAAA: // no data
		case name == "app.b.example.", name == "app.x.example.":
			asked = append(asked, name)
			m.Answer = append(m.Answer, &dns.A{Hdr: dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: 9}, A: net.IPv4(192, 0, 2, 1)})
		case name == "broken.a.example.":
			m.Rcode = dns.RcodeServerFailure
		default:
			asked = append(asked, name)
			m.Rcode = dns.RcodeNameError
		}
		w.WriteMsg(m)
	})
	conf.Search, conf.Ndots = []string{"a.example", "b.example"}, 1
	for _, c := range []struct {
		name  string
		asked []string
		found bool
	}{
		{"app", []string{"app.a.example.", "app.b.example."}, true},
		{"app.x.example", []string{"app.x.example."}, true},
		{"app.", []string{"app."}, false},
		{"none", []string{"none.a.example.", "none.b.example.", "none."}, false},
	} {
		asked = nil
		addrs, _, err := fromServers(t.Context(), conf, c.name)
		if found := len(addrs) > 0; found != c.found || !found && err != ErrNotFound || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: asked for %q, got %v, %v", c.name, asked, addrs, err)
		}
	}
	if _, _, err := fromServers(t.Context(), conf, "broken"); err == nil || err == ErrNotFound {
		t.Errorf("a server that fails: %v", err)
	}
}
