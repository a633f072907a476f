package gateway

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/netip"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// Field case E12: a target that is one of our own listeners is refused, by whatever address.
func TestRelayToItself(t *testing.T) {
	for name, c := range map[string]struct{ listen, target string }{
		"the address itself":         {"192.0.2.1:443", "192.0.2.1:443"},
		"mapped":                     {"192.0.2.1:443", "[::ffff:192.0.2.1]:443"},
		"all addresses, loopback":    {"0.0.0.0:443", "127.0.0.1:443"},
		"all addresses, unspecified": {"[::]:443", "0.0.0.0:443"},
	} {
		t.Run(name, func(t *testing.T) {
			to := netip.MustParseAddrPort(c.target)
			b := newRelayBench(t, benchOptions{
				config: func(conf *config.Config) {
					conf.Relays = []config.Relay{{Name: "self.example", Target: config.HostPort{Host: to.Addr().String(), Port: to.Port()}}}
				},
				server: func(s *server) { s.addresses = []netip.AddrPort{netip.MustParseAddrPort(c.listen)} },
			})
			b.sim.Serve(to.String())
			client := b.secure.Dial()
			client.Write(helloFor(t, &tls.Config{ServerName: "self.example"}))
			client.WantReset("a loop")
			if b.sim.Serve(to.String()).Waiting() != 0 || b.w.stats.relayFailed.Load() != 1 {
				t.Error("it was dialled")
			}
			b.done()
		})
	}
}

// One hello that comes round again and again is cut off after a few rounds; each
// of them ends, and then it may be relayed again.
func TestRelayLoopIsCut(t *testing.T) {
	b := newRelayBench(t, benchOptions{sim: sim.Options{Calm: true}})
	backend := b.sim.Serve(targetAddr)
	hello := relayedHello(t)
	for range 2 {
		first := b.secure.Dial()
		first.Write(hello)
		rounds := 0
		var back []*sim.Peer
		// What reaches the target is sent to us again, as a loop outside would do.
		for b.sim.Idle(); backend.Waiting() > 0; b.sim.Idle() {
			p := backend.Accept("a round")
			b.sim.Idle()
			again := b.secure.Dial()
			again.Write(p.Read())
			back = append(back, p, again)
			if rounds++; rounds > 2*loopsMax {
				t.Fatal("it goes round for ever")
			}
		}
		if rounds != loopsMax {
			t.Errorf("%d rounds, want %d", rounds, loopsMax)
		}
		// The end of the innermost goes outwards.
		back[len(back)-1].WantReset("the last round")
		for _, p := range back {
			p.Reset()
		}
		first.WantReset("a loop")
		if n := len(b.s.loops.count); n != 0 {
			t.Fatalf("%d hellos on the books", n)
		}
	}
	b.done()
}

// Field case E12: nothing that a stranger writes into a hello is ever dialled, with
// ECH or without.
func TestRelayIsNoOpenProxy(t *testing.T) {
	for _, strict := range []bool{false, true} {
		b := newRelayBench(t, benchOptions{config: func(c *config.Config) { c.StrictSNI = strict }})
		for _, name := range []string{"evil.example", "metadata.internal", "target.example", "relayed.example.evil.example",
			"x.relayed.example", "127.0.0.1", "::1", targetHost, ""} {
			conf := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS13}
			if conf.InsecureSkipVerify = true; name == "" {
				conf.ServerName = ""
			}
			hello := helloFor(t, conf)
			client := b.secure.Dial()
			client.Write(hello)
			b.sim.Idle()
			got := client.Read()
			named := name != "" && name != "127.0.0.1" && name != "::1" && name != targetHost
			want := []byte{22, 3, 3} // a ServerHello: the default certificate
			if strict && named {
				want = []byte{21, 3, 3, 0, 2, 2, 112}
			}
			if !bytes.HasPrefix(got, want) {
				t.Errorf("strict %v, name %q: answer %.20x", strict, name, got)
			}
			client.Close()
			b.sim.Idle()
		}
		// The same as outer names of ECH that is not for our keys.
		for _, name := range []string{"evil.example", "metadata.internal", "x.relayed.example"} {
			client := b.secure.Dial()
			client.Write(helloFor(t, &tls.Config{ServerName: "inner.example", MinVersion: tls.VersionTLS13,
				EncryptedClientHelloConfigList: newECHKeys(t, name).list}))
			b.sim.Idle()
			want := []byte{22, 3, 3}
			if strict {
				want = []byte{21, 3, 3, 0, 2, 2, 112}
			}
			if got := client.Read(); !bytes.HasPrefix(got, want) {
				t.Errorf("strict %v, outer name %q: answer %.20x", strict, name, got)
			}
			client.Close()
			b.sim.Idle()
		}
		if n := b.w.stats.relayed.Load(); n != 0 {
			t.Errorf("%d connections were relayed", n)
		}
		// A name that we hold a certificate for is served even if it is in the table.
		client := b.secure.Dial()
		client.Write(helloFor(t, &tls.Config{ServerName: heldName, MinVersion: tls.VersionTLS13}))
		b.sim.Idle()
		if got := client.Read(); !bytes.HasPrefix(got, []byte{22, 3, 3}) || b.w.stats.relayed.Load() != 0 {
			t.Errorf("a name that is held: %.20x, %d relayed", got, b.w.stats.relayed.Load())
		}
		client.Close()
		b.done()
	}
}

func TestLoopGuardBooks(t *testing.T) {
	var g loopGuard
	key := helloKey{1}
	for i := range loopsMax {
		if !g.enter(key) {
			t.Fatalf("refused after %d", i)
		}
	}
	if g.enter(key) || !g.enter(helloKey{2}) {
		t.Fatal("the wrong one was refused")
	}
	for range loopsMax {
		g.leave(key)
	}
	g.leave(helloKey{2})
	g.leave(helloKey{}) // was never entered
	if len(g.count) != 0 || !g.enter(key) {
		t.Fatal(fmt.Sprint(g.count))
	}
}
