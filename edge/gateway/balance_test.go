package gateway

import (
	"fmt"
	"net/netip"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// askedApp sends raw as a client from an address, and says which of two
// applications got it; it answers.
func askedApp(t *testing.T, b *bench, apps [2]*sim.Backend, conns *[2]*sim.Peer, from netip.AddrPort, raw string) int {
	t.Helper()
	p := b.plain.DialFrom(from)
	p.Write(raw)
	b.sim.Idle()
	asked := -1
	for i, app := range apps {
		if conns[i] == nil && app.Waiting() > 0 {
			conns[i] = app.Accept("its first request")
			b.sim.Idle()
		}
		if conns[i] == nil {
			continue
		}
		if got := conns[i].Read(); len(got) > 0 {
			asked = i
			conns[i].Write(okAnswer)
		}
	}
	b.sim.Idle()
	exchanged(t, p.Read(), "GET")
	p.Close()
	b.sim.Idle()
	return asked
}

// TestHashOfAField: the same value leads to the same application, whoever sends it;
// without the field it is the client's address that does.
func TestHashOfAField(t *testing.T) {
	for _, c := range []struct{ balance, head string }{
		{"hash:X-User", "Host: a\r\nx-user: %d\r\n"},
		{"hash:host", "Host: h%d.example\r\n"},
	} {
		b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}, config: func(cfg *config.Config) { cfg.Balance = c.balance }}, true)
		apps := [2]*sim.Backend{b.sim.Serve(appOne), b.sim.Serve(appTwo)}
		var conns [2]*sim.Peer
		var count [2]int
		for user := range 20 {
			raw := fmt.Sprintf("GET /api HTTP/1.1\r\n"+c.head+"\r\n", user)
			first := askedApp(t, b, apps, &conns, sim.AddrOf(1), raw)
			if second := askedApp(t, b, apps, &conns, sim.AddrOf(user+2), raw); first != second {
				t.Errorf("%s: value %d went to %d, then to %d", c.balance, user, first, second)
			}
			count[first]++
		}
		if count[0] < 3 || count[1] < 3 {
			t.Errorf("%s: shares %v", c.balance, count)
		}
		for _, conn := range conns {
			conn.Close()
		}
		b.done()
	}
}

func TestHashFallsBackToTheAddress(t *testing.T) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}, config: func(cfg *config.Config) { cfg.Balance = "hash:X-User" }}, true)
	apps := [2]*sim.Backend{b.sim.Serve(appOne), b.sim.Serve(appTwo)}
	var conns [2]*sim.Peer
	var count [2]int
	for n := range 20 {
		first := askedApp(t, b, apps, &conns, sim.AddrOf(n), get("/api"))
		empty := askedApp(t, b, apps, &conns, sim.AddrOf(n), "GET /api HTTP/1.1\r\nHost: a\r\nX-User:\r\n\r\n")
		if first != empty {
			t.Errorf("client %d: %d without the field, %d with an empty one", n, first, empty)
		}
		count[first]++
	}
	if count[0] < 3 || count[1] < 3 {
		t.Errorf("shares %v", count)
	}
	for _, conn := range conns {
		conn.Close()
	}
	b.done()
}

// TestHashOfARetry: what a second attempt goes to is chosen for the request's own
// client, though another has asked in between.
func TestHashOfARetry(t *testing.T) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}, config: func(cfg *config.Config) { cfg.Balance = config.BalanceHash }}, true)
	apps := [2]*sim.Backend{b.sim.Serve(appOne), b.sim.Serve(appTwo)}
	var conns [2]*sim.Peer
	from := [2]int{-1, -1} // a client of each application
	for n := 0; from[0] < 0 || from[1] < 0; n++ {
		from[askedApp(t, b, apps, &conns, sim.AddrOf(n), get("/api"))] = n
	}
	one, two := b.plain.DialFrom(sim.AddrOf(from[0])), b.plain.DialFrom(sim.AddrOf(from[1]))
	one.Write(get("/api"))
	b.sim.Idle()
	two.Write(get("/api"))
	b.sim.Idle()
	conns[0].Reset() // as it was used again
	again := apps[0].Accept("the second attempt")
	request(t, b, again)
	again.Write(okAnswer)
	conns[1].Read()
	conns[1].Write(okAnswer)
	b.sim.Idle()
	for _, p := range []*sim.Peer{one, two} {
		exchanged(t, p.Read(), "GET")
		p.Close()
	}
	again.Close()
	conns[1].Close()
	b.done()
}

func TestBalanceNeedsAFieldName(t *testing.T) {
	for balance, good := range map[string]bool{"hash:X-User": true, "hash:a b": false, "hash:é": false} {
		cfg := config.New()
		cfg.Balance = balance
		s := &server{cfg: cfg}
		if err := s.setBalance(); (err == nil) != good {
			t.Errorf("%s: %v", balance, err)
		}
	}
}
