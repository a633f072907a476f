package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// One address, and one /64 of IPv6, has its share of connections and no more.
func TestConnectionsPerAddress(t *testing.T) {
	const most = 3
	b := newBench(t, benchOptions{config: func(c *config.Config) { c.Limits.ConnectionsPerAddress = most }})
	dial := func(from string, port int) *sim.Peer {
		p := b.plain.DialFrom(netip.AddrPortFrom(netip.MustParseAddr(from), uint16(port)))
		b.sim.Idle()
		return p
	}
	sources := [][]string{
		{"192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"},
		{"192.0.2.2", "192.0.2.2", "192.0.2.2"},
		{"2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:ffff::"},
		{"2001:db8:0:2::1", "2001:db8:0:2::1", "2001:db8:0:2::1"},
	}
	var first []*sim.Peer
	for i, same := range sources {
		for j, from := range same {
			p := dial(from, 1000+100*i+j)
			if p.WasReset() {
				t.Fatalf("connection %d from %s refused", j+1, from)
			}
			if j == 0 {
				first = append(first, p)
			}
		}
		dial(same[0], 2000+i).WantReset(fmt.Sprintf("connection %d from %s", most+1, same[0]))
	}
	if want := "--max-connections-per-address 3 from 2001:db8:0:1::"; !strings.Contains(b.log.String(), want) {
		t.Errorf("log: %s\nwant %q", b.log, want)
	}
	for i, p := range first {
		p.Close()
		b.sim.Idle()
		if p := dial(sources[i][0], 3000+i); p.WasReset() {
			t.Errorf("no connection from %s after one was closed", sources[i][0])
		}
	}
	b.done()
	if n := len(b.w.bySource.count); n != 0 {
		t.Errorf("%d sources are counted with no connection left", n)
	}
}

// Peers at a unix socket have no address: only the limit for all is theirs.
func TestUnixPeersAreNotCountedByAddress(t *testing.T) {
	b := newBench(t, benchOptions{config: func(c *config.Config) { c.Limits.ConnectionsPerAddress = 1 }})
	l := b.sim.Listener("unix")
	l.Unix = true
	if err := b.w.listen(l.FD, listener{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p := l.Dial()
		p.Write(get("/"))
		b.sim.Idle()
		exchanged(t, p.Read(), "GET")
	}
	b.done()
}
