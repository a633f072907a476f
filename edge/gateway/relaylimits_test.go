package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/relay"
	"edge/proxy/resolve"
)

// What a relay does when one side is slow, silent or not there.

// A side that takes nothing has the other one wait, and costs a bounded number of
// buffers; nothing is lost when it goes on.
func TestRelayBackPressure(t *testing.T) {
	for name, piece := range map[string]int{"in bulk": 1 << 20, "in drips": 1} {
		for _, up := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, to the target %v", name, up), func(t *testing.T) {
				b := newRelayBench(t, benchOptions{sim: sim.Options{Calm: true}})
				b.sim.Serve(targetAddr)
				client, target := b.relay(t)
				from, to := client, target
				if !up {
					from, to = target, client
				}
				to.Stalled = true
				data := random(1<<20, 4)
				if piece == 1 {
					data = data[:3000]
				}
				for rest := data; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
					from.Write(rest[:min(piece, len(rest))])
					b.sim.Idle()
				}
				if piece > 1 && from.Unsent() == 0 {
					t.Error("the source was never paused")
				}
				if b.w.relayKept > relay.ChunksMax || b.sim.Buffers().Used() > relay.HighWater {
					t.Errorf("%d receive buffers and %d bytes held", b.w.relayKept, b.sim.Buffers().Used())
				}
				to.Stalled = false
				to.Want("everything", data)
				client.Close()
				target.Close()
				b.done()
			})
		}
	}
}

// Relays that hold their share of receive buffers leave the others to the rest,
// and when memory is short too they wait for each other.
func TestRelaysStarveNobody(t *testing.T) {
	b := newRelayBench(t, benchOptions{sim: sim.Options{Calm: true, RecvBuffers: 24, BufferBytes: 2 << 20, SocketsMax: 200}})
	b.w.relayKeptMax = 6
	b.sim.Serve(targetAddr)
	data := random(200<<10, 5)
	var clients, targets []*sim.Peer
	for range 40 {
		client, target := b.relay(t)
		target.Stalled = true
		client.Write(data)
		b.sim.Idle()
		clients, targets = append(clients, client), append(targets, target)
	}
	if free := b.sim.Buffers().Available(); b.w.relayKept > b.w.relayKeptMax || free < b.w.relayReserve/2 {
		t.Errorf("relays hold %d receive buffers, and leave %d bytes of others", b.w.relayKept, free)
	}
	if resp := exchanged(t, b.ask(get("/f174.bin")), "GET")[0]; resp.StatusCode != 200 {
		t.Errorf("a request beside them: status %d", resp.StatusCode)
	}
	for i, target := range targets {
		target.Stalled = false
		target.Want(fmt.Sprintf("relay %d", i), data)
		clients[i].Close()
		target.Close()
	}
	b.done()
}

// Field case E12: targets that refuse, are not there, or stay silent.
func TestRelayTimeouts(t *testing.T) {
	t.Run("a target that is not there", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		client := b.secure.Dial()
		client.Write(relayedHello(t))
		client.WantReset("refused")
		b.expectFailed(t, "connection refused")
	})
	t.Run("a target that does not answer", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		b.sim.Serve(targetAddr).Hang = true
		client := b.secure.Dial()
		client.Write(relayedHello(t))
		b.sim.Advance(b.s.cfg.Timeouts.Connect - time.Second)
		client.WantIdle("within the connect timeout")
		b.sim.Advance(2 * time.Second)
		client.WantReset("after it")
		b.expectFailed(t, "connection timed out")
	})
	t.Run("no descriptor to be had", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		b.sim.FailConnect(syscall.EMFILE)
		client := b.secure.Dial()
		client.Write(relayedHello(t))
		client.WantReset("EMFILE")
		b.expectFailed(t, "too many open files")
	})
	t.Run("nothing moves", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		b.sim.Serve(targetAddr)
		client, target := b.relay(t)
		idle := b.s.cfg.Timeouts.RelayIdle
		for range 3 {
			b.sim.Advance(idle - time.Minute)
			target.Write("x")
			client.Want("a sign of life", "x")
		}
		b.sim.Advance(2*idle + time.Second)
		client.WantEOF("idle")
		target.WantEOF("idle")
		if n := b.w.stats.timeouts.Load(); n != 1 {
			t.Errorf("%d timeouts counted", n)
		}
		client.Close()
		target.Close()
		b.done()
	})
	t.Run("a target that accepts and stays silent", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		b.sim.Serve(targetAddr)
		client, target := b.relay(t)
		b.sim.Advance(2*b.s.cfg.Timeouts.RelayIdle + time.Second)
		client.WantEOF("idle")
		client.Close()
		target.Close()
		b.done()
	})
}

// expectFailed checks that one relay failed, for the reason given, and that
// nothing is left of it.
func (b *tlsBench) expectFailed(t *testing.T, reason string) {
	t.Helper()
	if n := b.w.stats.relayFailed.Load(); n != 1 {
		t.Errorf("%d failed relays counted", n)
	}
	if want := fmt.Sprintf("relay to %s: %s", targetAddr, reason); !strings.Contains(b.log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, b.log)
	}
	b.done()
}

// lookedUp has a resolver say these addresses of every name.
func lookedUp(t *testing.T, addrs ...string) func(*server) {
	var all []netip.Addr
	for _, a := range addrs {
		all = append(all, netip.MustParseAddr(a))
	}
	return func(s *server) {
		s.resolver = resolve.New(t.Context(), func(context.Context, string) ([]netip.Addr, time.Duration, error) {
			return all, time.Hour, nil
		}, func(string) {})
	}
}

// The addresses of a name are tried in turn, within the one connect timeout.
func TestRelayTriesEveryAddress(t *testing.T) {
	named := func(c *config.Config) {
		c.Relays = []config.Relay{{Name: relayedName, Target: config.HostPort{Host: "target.example", Port: targetPort}}}
	}
	t.Run("one refuses, one hangs, the third answers", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{server: lookedUp(t, "192.0.2.201", "192.0.2.202", targetHost), config: named})
		b.sim.Serve("192.0.2.202:4443").Hang = true
		b.sim.Serve(targetAddr)
		hello := helloFor(t, &tls.Config{ServerName: relayedName})
		client := b.secure.Dial()
		client.Write(hello)
		b.sim.Advance(b.s.cfg.Timeouts.Connect/2 + time.Second) // the second one's share
		target := b.sim.Serve(targetAddr).Accept("the third address")
		target.Want("the hello", hello)
		target.Write("hello")
		client.Want("an answer", "hello")
		client.Close()
		target.Close()
		b.done()
	})
	t.Run("all hang", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{server: lookedUp(t, "192.0.2.201", targetHost), config: named})
		b.sim.Serve("192.0.2.201:4443").Hang = true
		b.sim.Serve(targetAddr).Hang = true
		client := b.secure.Dial()
		client.Write(helloFor(t, &tls.Config{ServerName: relayedName}))
		b.sim.Advance(b.s.cfg.Timeouts.Connect + time.Second)
		client.WantReset("none answered")
		b.done()
	})
}
