package gateway

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/proxyproto"
	"edge/proxy/resolve"
)

// The relay on the simulated reactor.

const (
	relayedName = "relayed.example"
	heldName    = "held.example" // there is a certificate for it
	targetHost  = "192.0.2.200"
	targetPort  = 4443
)

var targetAddr = fmt.Sprintf("%s:%d", targetHost, targetPort)

// newRelayBench relays relayedName, with a certificate for heldName.
func newRelayBench(t *testing.T, o benchOptions) *tlsBench {
	t.Helper()
	configure := o.config
	o.config = func(c *config.Config) {
		c.Relays = append(c.Relays, config.Relay{Name: relayedName, Target: config.HostPort{Host: targetHost, Port: targetPort}})
		c.Relays = append(c.Relays, config.Relay{Name: heldName, Target: config.HostPort{Host: targetHost, Port: targetPort}})
		if configure != nil {
			configure(c)
		}
	}
	more := o.server
	o.server = func(s *server) {
		s.resolver = resolve.New(t.Context(), resolve.System("/nonexistent", "/nonexistent"), func(string) {})
		if more != nil {
			more(s)
		}
	}
	return newTLSBench(t, o, []string{heldName})
}

// errCaptured ends a client's handshake once its hello is there.
var errCaptured = errors.New("captured")

// firstFlight is a connection that keeps what is written and fails.
type firstFlight struct {
	net.Conn
	hello []byte
}

func (c *firstFlight) Write(p []byte) (int, error) {
	c.hello = append(c.hello, p...)
	return 0, errCaptured
}

func (c *firstFlight) SetWriteDeadline(time.Time) error { return nil }

// helloFor is the record that a client sends first for a name.
func helloFor(t *testing.T, conf *tls.Config) []byte {
	t.Helper()
	var c firstFlight
	conf.InsecureSkipVerify = true
	if conf.CurvePreferences == nil {
		conf.CurvePreferences = []tls.CurveID{tls.X25519} // short
	}
	if err := tls.Client(&c, conf).Handshake(); !errors.Is(err, errCaptured) {
		t.Fatalf("capturing a hello: %v", err)
	}
	return c.hello
}

func relayedHello(t *testing.T) []byte { return helloFor(t, &tls.Config{ServerName: relayedName}) }

// inRecords spreads the one record of a hello over records of n bytes.
func inRecords(hello []byte, n int) (out []byte) {
	for body := hello[5:]; len(body) > 0; {
		k := min(n, len(body))
		out = append(out, hello[:3]...)
		out = binary.BigEndian.AppendUint16(out, uint16(k))
		out = append(out, body[:k]...)
		body = body[k:]
	}
	return out
}

func random(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// expectRelay relays one connection whose client sends the pieces given, and both
// of whose ends say something more, and checks every byte.
func expectRelay(t *testing.T, b *tlsBench, why string, pieces ...[]byte) {
	t.Helper()
	client := b.secure.Dial()
	for _, p := range pieces {
		client.Write(p)
		b.sim.Idle()
	}
	target := b.sim.Serve(targetAddr).Accept(why)
	target.Want(why+": to the target", bytes.Join(pieces, nil))
	target.Write("an answer")
	client.Want(why+": to the client", "an answer")
	client.WantIdle(why)
	client.Write("the last word")
	client.CloseWrite()
	target.Want(why+": the last word", "the last word")
	target.WantEOF(why)
	client.WantIdle(why + ": half-closed")
	target.Write("the very last word")
	target.Close()
	client.Want(why+": the very last word", "the very last word")
	client.WantEOF(why)
	client.Close()
	b.sim.Idle()
}

func TestRelayCutAtEveryByte(t *testing.T) {
	b := newRelayBench(t, benchOptions{sim: sim.Options{Calm: true}})
	b.sim.Serve(targetAddr)
	early := random(200, 1)
	whole := append(relayedHello(t), early...)
	for cut := 1; cut < len(whole); cut++ {
		expectRelay(t, b, fmt.Sprintf("cut after %d bytes", cut), whole[:cut], whole[cut:])
	}
	if n := b.w.stats.relayed.Load(); n != int64(len(whole)-1) {
		t.Errorf("%d relayed, want %d", n, len(whole)-1)
	}
	b.done()
}

func TestRelayOfEveryForm(t *testing.T) {
	hello := relayedHello(t)
	large := helloFor(t, &tls.Config{ServerName: relayedName, CurvePreferences: []tls.CurveID{tls.X25519MLKEM768, tls.CurveP384},
		NextProtos: manyProtos()})
	b := newRelayBench(t, benchOptions{})
	b.sim.Serve(targetAddr)
	expectRelay(t, b, "one record", hello)
	expectRelay(t, b, "with 60 KB behind it", hello, random(60<<10, 2))
	expectRelay(t, b, "in records of 5 bytes", inRecords(hello, 5))
	expectRelay(t, b, "in records of 1 byte", inRecords(hello, 1))
	expectRelay(t, b, "a large hello", large)
	expectRelay(t, b, "a large hello in records of 16 bytes", inRecords(large, 16))
	var bytewise [][]byte
	for i := range hello {
		bytewise = append(bytewise, hello[i:i+1])
	}
	expectRelay(t, b, "in segments of 1 byte", bytewise...)
	b.done()
}

// manyProtos makes a hello long.
func manyProtos() (all []string) {
	for i := range 180 {
		all = append(all, strings.Repeat("x", 60)+fmt.Sprint(i))
	}
	return all
}

// Much in both directions at once, against a reactor that delays, cuts and
// reorders what it can, and ends that stall now and then.
func TestRelayUnderChaos(t *testing.T) {
	for range 20 {
		b := newRelayBench(t, benchOptions{})
		b.w.relayKeptMax = 8
		b.sim.Serve(targetAddr)
		hello := relayedHello(t)
		type pair struct {
			client, target   *sim.Peer
			up, down         []byte
			gotUp, gotDown   []byte
			closed, wantDone bool
		}
		var all []*pair
		for i := range 4 {
			p := &pair{client: b.secure.Dial()}
			p.client.Write(hello)
			p.target = b.sim.Serve(targetAddr).Accept("a relay")
			p.gotUp = p.target.Read()
			p.up = append(bytes.Clone(hello), random(300<<10, byte(i))...)
			p.down = random(500<<10, byte(i+100))
			p.client.Write(p.up[len(hello):])
			p.target.Write(p.down)
			p.client.CloseWrite()
			p.target.CloseWrite()
			all = append(all, p)
		}
		rnd := rand.New(rand.NewPCG(b.sim.Seed(), 7))
		for step := range 3000 {
			p := all[step%len(all)]
			p.client.Stalled, p.target.Stalled = rnd.IntN(3) == 0, rnd.IntN(3) == 0
			b.sim.Step()
			p.gotUp = append(p.gotUp, p.target.Read()...)
			p.gotDown = append(p.gotDown, p.client.Read()...)
		}
		for _, p := range all {
			p.client.Stalled, p.target.Stalled = false, false
		}
		b.sim.Idle()
		for i, p := range all {
			p.gotUp = append(p.gotUp, p.target.Read()...)
			p.gotDown = append(p.gotDown, p.client.Read()...)
			if !bytes.Equal(p.gotUp, p.up) || !bytes.Equal(p.gotDown, p.down) || !p.client.EOF() || !p.target.EOF() {
				t.Fatalf("relay %d: %d of %d bytes up, %d of %d down, FIN %v and %v", i,
					len(p.gotUp), len(p.up), len(p.gotDown), len(p.down), p.client.EOF(), p.target.EOF())
			}
			p.client.Close()
			p.target.Close()
		}
		b.done()
		if b.w.relayKept != 0 {
			t.Fatalf("%d receive buffers on the books", b.w.relayKept)
		}
	}
}

func TestRelayHalfClose(t *testing.T) {
	t.Run("the client with its hello", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		b.sim.Serve(targetAddr)
		hello := relayedHello(t)
		client := b.secure.Dial()
		client.Write(hello)
		client.CloseWrite()
		target := b.sim.Serve(targetAddr).Accept("half-closed")
		target.Want("the hello", hello)
		target.WantEOF("half-closed")
		target.Write(random(64<<10, 3))
		target.Close()
		client.Want("64 KB", random(64<<10, 3))
		client.WantEOF("both closed")
		client.Close()
		b.done()
	})
	t.Run("the target first", func(t *testing.T) {
		b := newRelayBench(t, benchOptions{})
		b.sim.Serve(targetAddr)
		client, target := b.relay(t)
		target.Write("all there is")
		target.CloseWrite()
		client.Want("to the client", "all there is")
		client.WantEOF("the target has closed")
		client.Write("still here")
		target.Want("to the target", "still here")
		client.Close()
		target.WantEOF("both closed")
		target.Close()
		b.done()
	})
}

// relay starts a relay and takes the hello off it.
func (b *tlsBench) relay(t *testing.T) (client, target *sim.Peer) {
	t.Helper()
	hello := relayedHello(t)
	client = b.secure.Dial()
	client.Write(hello)
	target = b.sim.Serve(targetAddr).Accept("a relay")
	target.Want("the hello", hello)
	return client, target
}

func TestRelayPassesResets(t *testing.T) {
	for name, reset := range map[string]func(client, target *sim.Peer) (other *sim.Peer){
		"of the client": func(client, target *sim.Peer) *sim.Peer { client.Reset(); return target },
		"of the target": func(client, target *sim.Peer) *sim.Peer { target.Reset(); return client },
	} {
		t.Run(name, func(t *testing.T) {
			b := newRelayBench(t, benchOptions{})
			b.sim.Serve(targetAddr)
			client, target := b.relay(t)
			client.Write(random(10000, 1))
			target.Write(random(10000, 2))
			reset(client, target).WantReset(name)
			b.done()
		})
	}
}

func TestRelayProxyProtocol(t *testing.T) {
	b := newRelayBench(t, benchOptions{config: func(c *config.Config) { c.RelayProxyProtocol = true }})
	b.sim.Serve(targetAddr)
	hello := relayedHello(t)
	from := netip.MustParseAddrPort("198.51.100.7:1234")
	client := b.secure.DialFrom(from)
	client.Write(hello)
	target := b.sim.Serve(targetAddr).Accept("with a header")
	b.sim.Idle()
	got := target.Read()
	var h proxyproto.Header
	n, err := proxyproto.Parse(got, &h)
	if err != nil || !bytes.Equal(got[n:], hello) {
		t.Fatalf("%v, then %x", err, got[n:])
	}
	// The simulation has no addresses of its own, so that the header says LOCAL;
	// the addresses are tested with sockets.
	client.Close()
	target.Close()
	b.done()
}
