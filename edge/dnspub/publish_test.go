package dnspub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"edge/edge/dnspub/dnstest"
)

const zone = "example.com."

// signedServer starts a server that takes updates by the key "key.", and a client
// that has it.
func signedServer(t *testing.T, records ...string) (*dnstest.Server, *Server) {
	t.Helper()
	there := dnstest.Start(t, []string{zone, "sub.example.com."}, map[string]string{"key.": secret}, records...)
	return there, &Server{there.Address, &TSIG{"key.", dns.HmacSHA256, secret}, 2 * time.Second}
}

func publication(t *testing.T, name string) Publication {
	t.Helper()
	return Publication{
		Owner: owner(t, name), List: list,
		New: Service{Priority: 1, Target: ".", Params: params(t, "alpn=h2")}, NewTTL: 300,
	}
}

// shown are records as zone lines, sorted, tabs as blanks.
func shown(records []*dns.HTTPS) string {
	var lines []string
	for _, rr := range records {
		lines = append(lines, strings.ReplaceAll(zoneLine(rr), "\t", " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestPublish: what is there, what is asked, what must be there then. "NEW" stands
// for the published list.
func TestPublish(t *testing.T) {
	ttl := uint32(60)
	for _, c := range []struct {
		what, name string
		there      []string
		change     func(*Publication)
		outcome    Outcome
		zone       string
		want       string
	}{
		{"new", "www.example.com", nil, nil, Created, zone, `www.example.com. 300 IN HTTPS 1 . alpn="h2" ech="NEW"`},
		{"apex", "example.com", nil, nil, Created, zone, `example.com. 300 IN HTTPS 1 . alpn="h2" ech="NEW"`},
		{"port", "www.example.com:8443", nil, nil, Created, zone, `_8443._https.www.example.com. 300 IN HTTPS 1 www.example.com. alpn="h2" ech="NEW"`},
		{"wildcard", "*.example.com", nil, nil, Created, zone, `*.example.com. 300 IN HTTPS 1 . alpn="h2" ech="NEW"`},
		{"zone below", "a.sub.example.com", nil, nil, Created, "sub.example.com.", `a.sub.example.com. 300 IN HTTPS 1 . alpn="h2" ech="NEW"`},
		{"beside other types", "www.example.com", []string{"www.example.com. 60 IN A 192.0.2.1"}, nil, Created, zone, `www.example.com. 300 IN HTTPS 1 . alpn="h2" ech="NEW"`},

		{"everything else is kept", "www.example.com", []string{`www.example.com. 7200 IN HTTPS 3 svc.example. mandatory=key65400 alpn="h3,h2" port=8443 ipv4hint=192.0.2.7 key65400=x`}, nil,
			Updated, zone, `www.example.com. 7200 IN HTTPS 3 svc.example. mandatory="key65400" alpn="h3,h2" port="8443" ipv4hint="192.0.2.7" ech="NEW" key65400="x"`},
		{"old list", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . ech="AAT+DQAB"`}, nil, Updated, zone, `www.example.com. 60 IN HTTPS 1 . ech="NEW"`},
		{"right already", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . ech="NEW"`}, nil, Unchanged, "", `www.example.com. 60 IN HTTPS 1 . ech="NEW"`},
		{"another TTL", "www.example.com", []string{`www.example.com. 7200 IN HTTPS 1 . ech="NEW"`}, func(p *Publication) { p.TTL = &ttl }, Updated, zone, `www.example.com. 60 IN HTTPS 1 . ech="NEW"`},
		{"asked parameters", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . alpn=h3 port=1 ech="NEW"`},
			func(p *Publication) { p.Set, p.Unset = params(t, "alpn=h2"), []dns.SVCBKey{dns.SVCB_PORT} }, Updated, zone, `www.example.com. 60 IN HTTPS 1 . alpn="h2" ech="NEW"`},
		{"several records", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . alpn=h2`, `www.example.com. 60 IN HTTPS 2 other.example. alpn=h2`}, nil,
			Updated, zone, "www.example.com. 60 IN HTTPS 1 . alpn=\"h2\" ech=\"NEW\"\nwww.example.com. 60 IN HTTPS 2 other.example. alpn=\"h2\""},
		{"several by target", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . alpn=h2`, `www.example.com. 60 IN HTTPS 2 other.example. alpn=h2`},
			func(p *Publication) { p.Target = "Other.Example." },
			Updated, zone, "www.example.com. 60 IN HTTPS 1 . alpn=\"h2\"\nwww.example.com. 60 IN HTTPS 2 other.example. alpn=\"h2\" ech=\"NEW\""},
		{"several for a port", "www.example.com:8443", []string{`_8443._https.www.example.com. 60 IN HTTPS 1 www.example.com. alpn=h2`, `_8443._https.www.example.com. 60 IN HTTPS 2 other.example. alpn=h2`}, nil,
			Updated, zone, "_8443._https.www.example.com. 60 IN HTTPS 1 www.example.com. alpn=\"h2\" ech=\"NEW\"\n_8443._https.www.example.com. 60 IN HTTPS 2 other.example. alpn=\"h2\""},

		{"taken away", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . mandatory=ech,alpn alpn=h2 ech="NEW"`}, func(p *Publication) { p.List = nil },
			Updated, zone, `www.example.com. 60 IN HTTPS 1 . mandatory="alpn" alpn="h2"`},
		{"taken away, was the only one mandatory", "www.example.com", []string{`www.example.com. 60 IN HTTPS 1 . mandatory=ech ech="NEW"`}, func(p *Publication) { p.List = nil },
			Updated, zone, `www.example.com. 60 IN HTTPS 1 .`},
		{"nothing to take away", "www.example.com", nil, func(p *Publication) { p.List = nil }, Unchanged, "", ""},
	} {
		for i := range c.there {
			c.there[i] = strings.ReplaceAll(c.there[i], "NEW", "AAT+DQAA")
		}
		c.want = strings.ReplaceAll(c.want, "NEW", "AAT+DQAA")
		there, s := signedServer(t, c.there...)
		p := publication(t, c.name)
		if c.change != nil {
			c.change(&p)
		}
		before := shown(there.HTTPS(p.Owner.Name()))
		if dry := s.Publish(t.Context(), p, true); dry.Err != nil || dry.Outcome != c.outcome || shown(dry.Records) != c.want || shown(there.HTTPS(p.Owner.Name())) != before {
			t.Errorf("%s, dry run: %s %v\n%s", c.what, dry.Outcome, dry.Err, shown(dry.Records))
		}
		res := s.Publish(t.Context(), p, false)
		if res.Err != nil || res.Outcome != c.outcome || res.Zone != c.zone {
			t.Errorf("%s: %s in %q, %v", c.what, res.Outcome, res.Zone, res.Err)
		}
		if got := shown(there.HTTPS(p.Owner.Name())); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
		if again := s.Publish(t.Context(), p, false); again.Outcome != Unchanged {
			t.Errorf("%s again: %s, %v", c.what, again.Outcome, again.Err)
		}
	}
}

func fail(f dnstest.Faults) func(*dnstest.Server, *Server, *Publication) {
	return func(d *dnstest.Server, _ *Server, _ *Publication) { d.Fail(f) }
}

func TestPublishFails(t *testing.T) {
	for _, c := range []struct {
		what, name string
		there      []string
		change     func(*dnstest.Server, *Server, *Publication)
		want       string
	}{
		{"alias", "www.example.com", []string{"www.example.com. 60 IN CNAME other.example."}, nil, "alias (CNAME) of other.example."},
		{"AliasMode", "www.example.com", []string{"www.example.com. 60 IN HTTPS 0 other.example."}, nil, "an alias of other.example. (AliasMode)"},
		{"from a wildcard", "www.example.com", []string{"*.example.com. 60 IN HTTPS 1 . alpn=h2"}, nil, "comes from a wildcard: publish for that, perhaps *.example.com"},
		{"other targets", "www.example.com", []string{"www.example.com. 60 IN HTTPS 1 a.example.", "www.example.com. 60 IN HTTPS 2 b.example."}, nil, "choose by --target"},
		{"no such target", "www.example.com", []string{"www.example.com. 60 IN HTTPS 1 a.example."}, func(_ *dnstest.Server, _ *Server, p *Publication) { p.Target = "b.example." }, "no record with the target b.example."},
		{"no such zone", "www.example.org", nil, nil, "refuses"},
		{"refused", "www.example.com", nil, fail(dnstest.Faults{Code: map[string]int{zone: dns.RcodeRefused}}), "allow it for this key"},
		{"not authoritative", "www.example.com", nil, fail(dnstest.Faults{Code: map[string]int{zone: dns.RcodeNotAuth}}), "ask the primary"},
		{"server failure", "www.example.com", nil, fail(dnstest.Faults{Code: map[string]int{"www.example.com.": dns.RcodeServerFailure}}), "SERVFAIL"},
		{"wrong secret", "www.example.com", nil, func(_ *dnstest.Server, s *Server, _ *Publication) { s.TSIG.secret = "AAAA" }, "another secret for the key key (hmac-sha256) (BADSIG)"},
		{"unknown key", "www.example.com", nil, func(_ *dnstest.Server, s *Server, _ *Publication) { s.TSIG.Name = "other." }, "does not know the key other (hmac-sha256) (BADKEY)"},
		{"no key", "www.example.com", nil, func(_ *dnstest.Server, s *Server, _ *Publication) { s.TSIG = nil }, "allow it for this key"},
		{"unsigned answer", "www.example.com", nil, fail(dnstest.Faults{NoTSIG: true}), "not signed"},
		{"ignored", "www.example.com", nil, fail(dnstest.Faults{Ignore: true}), "gives the record as it was"},
		{"bad record", "www.example.com", []string{"www.example.com. 60 IN HTTPS 1 . no-default-alpn"}, nil, "no-default-alpn needs alpn"},
	} {
		there, s := signedServer(t, c.there...)
		p := publication(t, c.name)
		if c.change != nil {
			c.change(there, s, &p)
		}
		res := s.Publish(t.Context(), p, false)
		if res.Outcome != Failed || res.Err == nil || !strings.Contains(res.Err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want %q", c.what, res.Outcome, res.Err, c.want)
		}
		if res.Err != nil && strings.Contains(res.Err.Error(), secret) {
			t.Errorf("%s: shows the secret", c.what)
		}
	}
}

// What others change between our question and our update is kept.
func TestConcurrentChange(t *testing.T) {
	there, s := signedServer(t, "www.example.com. 60 IN HTTPS 1 . alpn=h2")
	there.Fail(dnstest.Faults{BeforeNext: func(d *dnstest.Server) {
		d.Remove("www.example.com.", dns.TypeHTTPS)
		d.Add(t, "www.example.com. 60 IN HTTPS 1 . alpn=h3,h2 port=8443")
	}})
	res := s.Publish(t.Context(), publication(t, "www.example.com"), false)
	const want = `www.example.com. 60 IN HTTPS 1 . alpn="h3,h2" port="8443" ech="AAT+DQAA"`
	if got := shown(there.HTTPS("www.example.com.")); res.Outcome != Updated || got != want {
		t.Errorf("%s, %v: %s", res.Outcome, res.Err, got)
	}

	there, s = signedServer(t)
	there.Fail(dnstest.Faults{BeforeNext: func(d *dnstest.Server) { d.Add(t, `www.example.com. 60 IN HTTPS 1 . ech="AAT+DQAA"`) }})
	if res := s.Publish(t.Context(), publication(t, "www.example.com"), false); res.Outcome != Unchanged || there.Updates() != 0 {
		t.Errorf("%s, %v, %d updates: someone else published the same", res.Outcome, res.Err, there.Updates())
	}
}

// A record that always changes ends the attempts.
func TestEndlessChange(t *testing.T) {
	there, s := signedServer(t)
	n := 0
	var change func(d *dnstest.Server)
	change = func(d *dnstest.Server) {
		n++
		d.Remove("www.example.com.", dns.TypeHTTPS)
		d.Add(t, "www.example.com. 60 IN HTTPS 1 . port="+strings.Repeat("1", n))
		d.Fail(dnstest.Faults{BeforeNext: change})
	}
	there.Fail(dnstest.Faults{BeforeNext: change})
	if res := s.Publish(t.Context(), publication(t, "www.example.com"), false); !errors.Is(res.Err, errChanged) || n != attemptsMax {
		t.Errorf("%v after %d attempts", res.Err, n)
	}
}

// Answers that are cut short, or do not come, over UDP come over TCP.
func TestTCP(t *testing.T) {
	there, s := signedServer(t)
	there.Fail(dnstest.Faults{CutUDP: true})
	if res := s.Publish(t.Context(), publication(t, "www.example.com"), false); res.Err != nil {
		t.Error(res.Err)
	}
	there.Fail(dnstest.Faults{DropUDP: true})
	s.Timeout = 100 * time.Millisecond
	if res := s.Publish(t.Context(), publication(t, "www.example.com"), false); res.Err != nil || res.Outcome != Unchanged {
		t.Error(res.Outcome, res.Err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	s := &Server{Address: "127.0.0.1:1", Timeout: 100 * time.Millisecond}
	if res := s.Publish(t.Context(), publication(t, "www.example.com"), false); res.Err == nil || !strings.Contains(res.Err.Error(), "127.0.0.1:1: ") {
		t.Error(res.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := s.Publish(ctx, publication(t, "www.example.com"), false); !errors.Is(res.Err, context.Canceled) {
		t.Error(res.Err)
	}
}

func TestParseServer(t *testing.T) {
	for in, want := range map[string]string{
		"ns1.example": "ns1.example:53", "ns1.example:5353": "ns1.example:5353", "192.0.2.1": "192.0.2.1:53",
		"2001:db8::1": "[2001:db8::1]:53", "[2001:db8::1]": "[2001:db8::1]:53", "[2001:db8::1]:5353": "[2001:db8::1]:5353",
		"": "", ":53": "", "a:b:c": "", "ns1.example:": "", "ns1.example:0": "", "ns1.example:x": "", "https://ns": "", "a@b": "",
	} {
		if got, err := ParseServer(in); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestResolvers(t *testing.T) {
	for text, want := range map[string]string{
		"nameserver 192.0.2.1\nnameserver 2001:db8::1\n": "192.0.2.1:53 [2001:db8::1]:53",
		"search example\n": "",
	} {
		file := secretFile(t, text)
		got, err := resolversOf(file)
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := resolversOf("/nowhere/resolv.conf"); err == nil {
		t.Error("no error for a missing file")
	}
}
