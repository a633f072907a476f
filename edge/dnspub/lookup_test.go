package dnspub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"edge/edge/dnspub/dnstest"
)

// TestLookup follows aliases of both kinds, and ends.
func TestLookup(t *testing.T) {
	records := []string{
		`plain.example.com. 60 IN HTTPS 2 . alpn=h2`,
		`plain.example.com. 60 IN HTTPS 1 . alpn=h3`,
		`cname.example.com. 60 IN CNAME plain.example.com.`,
		`alias.example.com. 60 IN HTTPS 0 cname.example.com.`,
		`alias.example.com. 60 IN HTTPS 1 . alpn=h2`,
		`none.example.com. 60 IN HTTPS 0 .`,
		`empty.example.com. 60 IN A 192.0.2.1`,
		`to-empty.example.com. 60 IN CNAME empty.example.com.`,
		`_8443._https.plain.example.com. 60 IN HTTPS 1 . port=8443`,
		`*.wild.example.com. 60 IN HTTPS 1 . alpn=h2`,
		`self.example.com. 60 IN CNAME self.example.com.`,
		`a.example.com. 60 IN CNAME b.example.com.`,
		`b.example.com. 60 IN HTTPS 0 a.example.com.`,
	}
	for n := range 2 * aliasesMax {
		records = append(records, fmt.Sprintf("chain%d.example.com. 60 IN CNAME chain%d.example.com.", n, n+1))
	}
	there := dnstest.Start(t, []string{zone}, nil, records...)
	s := &Server{Address: there.Address, Timeout: 2 * time.Second}
	const plain = "plain.example.com. 60 IN HTTPS 1 . alpn=\"h3\"\nplain.example.com. 60 IN HTTPS 2 . alpn=\"h2\""
	for _, c := range []struct{ name, at, aliases, want, err string }{
		{"plain.example.com", "plain.example.com.", "", plain, ""},
		{"cname.example.com", "plain.example.com.", "cname.example.com.", plain, ""},
		{"alias.example.com", "plain.example.com.", "alias.example.com. cname.example.com.", plain, ""},
		{"plain.example.com:8443", "_8443._https.plain.example.com.", "", `_8443._https.plain.example.com. 60 IN HTTPS 1 . port="8443"`, ""},
		{"x.wild.example.com", "x.wild.example.com.", "", `x.wild.example.com. 60 IN HTTPS 1 . alpn="h2"`, ""},
		{"none.example.com", "none.example.com.", "", "", ""},
		{"empty.example.com", "empty.example.com.", "", "", ""},
		{"to-empty.example.com", "empty.example.com.", "to-empty.example.com.", "", ""},
		{"missing.example.com", "missing.example.com.", "", "", ""},
		{"self.example.com", "", "", "", "lead nowhere"},
		{"a.example.com", "", "", "", "lead nowhere"},
		{"chain0.example.com", "", "", "", "lead nowhere"},
		{"example.org", "", "", "", "refuses"},
	} {
		a, err := s.Lookup(t.Context(), owner(t, c.name))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || a.Name != c.at || strings.Join(a.Aliases, " ") != c.aliases || shown(a.Records) != c.want || !a.Authoritative {
			t.Errorf("%s: %v, %+v\n%s", c.name, err, a, shown(a.Records))
		}
		if len(a.Records) == 2 && a.Records[0].Priority != 1 {
			t.Errorf("%s: the record of priority 1 is not the first", c.name)
		}
	}
}

func TestUsable(t *testing.T) {
	for text, want := range map[string]bool{
		`a. HTTPS 1 .`: true,
		`a. HTTPS 1 . mandatory=ech,alpn alpn=h2 ech=AAA=`: true,
		`a. HTTPS 1 . mandatory=alpn`:                      false,
		`a. HTTPS 1 . mandatory=key65400 key65400=x`:       false,
		`a. HTTPS 1 . key65400=x`:                          true,
	} {
		rr, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Usable(rr.(*dns.HTTPS)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
