package proxy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

func prefixes(list ...string) (t Trust) {
	for _, s := range list {
		t = append(t, netip.MustParsePrefix(s))
	}
	return t
}

// fields makes a header of "Name: value" lines.
func fields(lines ...string) (h httpmsg.Header) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestTrustHas(t *testing.T) {
	trust := prefixes("10.0.0.0/8", "2001:db8::/32")
	for text, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "11.1.2.3": false,
		"2001:db8::1": true, "2001:db8::1%eth0": true, "2001:db9::1": false,
	} {
		if trust.Has(netip.MustParseAddr(text)) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
	if !append(trust, netip.Prefix{}).Has(netip.Addr{}) {
		t.Error("unix sockets are not trusted")
	}
	if trust.Has(netip.Addr{}) || Trust(nil).Has(netip.MustParseAddr("10.1.2.3")) {
		t.Error("trusted for nothing")
	}
}

func TestParseTrust(t *testing.T) {
	trust, err := ParseTrust([]string{"10.1.2.3/8", "192.0.2.1", "2001:db8::1", "::ffff:198.51.100.0/120", "unix"})
	want := "[10.0.0.0/8 192.0.2.1/32 2001:db8::1/128 198.51.100.0/24 invalid Prefix]"
	if got := fmt.Sprint([]netip.Prefix(trust)); got != want || err != nil {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if !trust.Has(netip.MustParseAddr("198.51.100.7")) || !trust.Has(netip.MustParseAddr("::ffff:198.51.100.7")) || !trust.Has(netip.Addr{}) {
		t.Error("what was named is not trusted")
	}
	for _, value := range []string{"", "localhost", "10.0.0.0/33", "10.0.0", "fe80::1%eth0", "unix:/x"} {
		if trust, err := ParseTrust([]string{value}); err == nil {
			t.Errorf("%q: %v", value, trust)
		}
	}
	if _, err := ParseTrust(make([]string, TrustMax+1)); err == nil {
		t.Error("no end of entries")
	}
}

// TestTrustedUnixPeer: a front on this machine speaks for its clients.
func TestTrustedUnixPeer(t *testing.T) {
	trust, _ := ParseTrust([]string{"unix"})
	h := fields("X-Forwarded-For: 1.2.3.4, 192.0.2.1")
	if got := trust.Client(netip.Addr{}, &h); got.String() != "192.0.2.1" {
		t.Errorf("client %v", got)
	}
}

// Field case P05: the client is the last address that is not trusted.
func TestClient(t *testing.T) {
	trust := prefixes("10.0.0.0/8", "2001:db8::/32", "127.0.0.1/32")
	many := "X-Forwarded-For: 192.0.2.1" + strings.Repeat(", 10.0.0.9", 40)
	for _, c := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"no field", "10.0.0.1", nil, "10.0.0.1"},
		{"untrusted peer", "198.51.100.1", []string{"X-Forwarded-For: 192.0.2.1"}, "198.51.100.1"},
		{"untrusted peer with Forwarded", "198.51.100.1", []string{"Forwarded: for=192.0.2.1"}, "198.51.100.1"},
		{"mapped peer", "::ffff:198.51.100.1", nil, "198.51.100.1"},
		{"one hop", "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{"right-most that is not trusted", "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, 192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		{"over two lines", "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1", "x-forwarded-for: 10.0.0.3,10.0.0.2"}, "192.0.2.1"},
		{"right line counts first", "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
		{"all trusted", "10.0.0.1", []string{"X-Forwarded-For: 10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"unknown", "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, unknown, 10.0.0.2"}, "10.0.0.2"},
		{"junk", "10.0.0.1", []string{"X-Forwarded-For: 1.2.3.4, \"><script>"}, "10.0.0.1"},
		{"loopback as junk of a client", "10.0.0.1", []string{"X-Forwarded-For: ::1"}, "::1"},
		{"empty entries", "10.0.0.1", []string{"X-Forwarded-For: , 192.0.2.1 ,, "}, "192.0.2.1"},
		{"empty", "10.0.0.1", []string{"X-Forwarded-For: "}, "10.0.0.1"},
		{"with ports", "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1:4711, 10.0.0.2:80"}, "192.0.2.1"},
		{"IPv6", "10.0.0.1", []string{"X-Forwarded-For: 2001:db9::1, [2001:db8::1]:80, 2001:db8::2"}, "2001:db9::1"},
		{"mapped", "10.0.0.1", []string{"X-Forwarded-For: ::ffff:192.0.2.1"}, "192.0.2.1"},
		{"zone", "10.0.0.1", []string{"X-Forwarded-For: fe80::1%eth0"}, "10.0.0.1"},
		{"port in words", "10.0.0.1", []string{"X-Forwarded-For: 192.0.2.1:http"}, "10.0.0.1"},
		{"longer than any address", "10.0.0.1", []string{"X-Forwarded-For: " + strings.Repeat("1", 10<<10)}, "10.0.0.1"},
		{"too many hops", "10.0.0.1", []string{many}, "10.0.0.9"},
		{"look-alike", "10.0.0.1", []string{"X_Forwarded_For: 192.0.2.1"}, "10.0.0.1"},
		{"Forwarded", "10.0.0.1", []string{`Forwarded: for=1.2.3.4, For="192.0.2.1:80";proto=https;by=x, for=10.0.0.2`}, "192.0.2.1"},
		{"Forwarded IPv6", "10.0.0.1", []string{`Forwarded: proto=http;for="[2001:db9::1]:80"`}, "2001:db9::1"},
		{"Forwarded over two lines", "10.0.0.1", []string{"Forwarded: for=192.0.2.1", "Forwarded: for=10.0.0.2"}, "192.0.2.1"},
		{"Forwarded hidden", "10.0.0.1", []string{`Forwarded: for=1.2.3.4, for="_x", for=10.0.0.2`}, "10.0.0.2"},
		{"Forwarded without for", "10.0.0.1", []string{"Forwarded: for=1.2.3.4, proto=https"}, "10.0.0.1"},
		{"Forwarded with a comma in quotes", "10.0.0.1", []string{`Forwarded: for=192.0.2.1;host="a,for=1.2.3.4"`}, "192.0.2.1"},
		{"Forwarded with an escape", "10.0.0.1", []string{`Forwarded: for=1.2.3.4;host="a\"b"`}, "10.0.0.1"},
		{"Forwarded open quote", "10.0.0.1", []string{`Forwarded: for="1.2.3.4`}, "10.0.0.1"},
		{"Forwarded junk", "10.0.0.1", []string{`Forwarded: 1.2.3.4`}, "10.0.0.1"},
		{"Forwarded junk between", "10.0.0.1", []string{`Forwarded: for=1.2.3.4 for=5.6.7.8`}, "10.0.0.1"},
		{"Forwarded too many", "10.0.0.1", []string{"Forwarded: for=1.2.3.4" + strings.Repeat(",for=10.0.0.2", 40)}, "10.0.0.1"},
		{"X-Forwarded-For before Forwarded", "10.0.0.1", []string{"Forwarded: for=1.2.3.4", "X-Forwarded-For: 192.0.2.1"}, "192.0.2.1"},
	} {
		h := fields(c.lines...)
		if got := trust.Client(netip.MustParseAddr(c.peer), &h); got.String() != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	h := fields("X-Forwarded-For: 192.0.2.1")
	if got := trust.Client(netip.Addr{}, &h); got.IsValid() {
		t.Errorf("the peer of a unix socket is %v", got)
	}
}

// FuzzClient: the client is the peer unless the peer is trusted, and always an
// address without zone, in its short form.
func FuzzClient(f *testing.F) {
	f.Add("192.0.2.1, 10.0.0.1", `for="[::1]:1";proto=https,for=_x`)
	f.Add(",,", `for=10.0.0.1;by="a\"`)
	trusted, foreign := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.0.2.9")
	trust := prefixes("10.0.0.0/8")
	f.Fuzz(func(t *testing.T, list, forwarded string) {
		for _, lines := range [][]string{{"X-Forwarded-For: " + list}, {"Forwarded: " + forwarded}} {
			h := fields(lines...)
			if got := trust.Client(foreign, &h); got != foreign {
				t.Fatalf("%q: %v was believed", lines, got)
			}
			if got := trust.Client(trusted, &h); !got.IsValid() || got.Zone() != "" || got.Is4In6() {
				t.Fatalf("%q: %v", lines, got)
			}
		}
	})
}
