package gateway

import (
	"net/netip"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy"
)

// Field case P05: programs are given the client that a trusted peer names, and nobody
// else's word for it.
func TestProgramsSeeTheClientThatATrustedPeerNames(t *testing.T) {
	trust, err := proxy.ParseTrust([]string{"10.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, withScripts(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) { c.Trust = []string{"10.0.0.0/8"} }}, "facts.o"))
	b.s.trust = trust
	for from, want := range map[string]string{"10.0.0.1:7": "192.0.2.7 0", "192.0.2.1:7": "192.0.2.1 7"} {
		p := b.plain.DialFrom(netip.MustParseAddrPort(from))
		p.Write("GET /facts HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.66, 192.0.2.7, 10.0.0.9\r\n\r\n")
		b.sim.Idle()
		got := fields(string(bodyOf(t, exchanged(t, p.Read(), "GET")[0])))
		if got["peer"]+" "+got["port"] != want || got["family"] != "4" {
			t.Errorf("from %s: %v, want %s", from, strings.Join([]string{got["peer"], got["port"], got["family"]}, " "), want)
		}
		p.Close()
	}
	b.done()
}
