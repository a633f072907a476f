package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The relay over real sockets: what both ends see is compared with what they see
// of each other without a relay between.

const relayedName = "relayed.example"

// target is a server that records what it is sent and does what a script says.
type target struct {
	net.Listener
	t      *testing.T
	script func(c *net.TCPConn, saw *transcript)
	ended  chan *transcript
}

// transcript is what one end saw of a connection.
type transcript struct {
	got []byte
	end string // "FIN", "reset", or another error
}

// read reads n bytes, or to the end when n is negative.
func (s *transcript) read(c net.Conn, n int) {
	for b := make([]byte, 32<<10); n != 0; {
		k, err := c.Read(b[:min(uint(len(b)), uint(n))])
		s.got = append(s.got, b[:k]...)
		if n > 0 {
			n -= k
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			s.end = "FIN"
		case errors.Is(err, syscall.ECONNRESET):
			s.end = "reset"
		default:
			s.end = err.Error()
		}
		return
	}
}

func newTarget(t *testing.T, script func(c *net.TCPConn, saw *transcript)) *target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &target{Listener: l, t: t, script: script, ended: make(chan *transcript, 1000)}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				c.SetDeadline(time.Now().Add(patience))
				saw := new(transcript)
				s.script(c.(*net.TCPConn), saw)
				c.Close()
				s.ended <- saw
			}()
		}
	}()
	return s
}

func (s *target) address() string { return s.Listener.Addr().String() }

// saw is what the target saw of the next connection that ended.
func (s *target) saw() *transcript {
	s.t.Helper()
	select {
	case saw := <-s.ended:
		return saw
	case <-time.After(patience):
		s.t.Fatal("no connection ended at the target")
		return nil
	}
}

// relayTo starts an edge that relays relayedName to an address.
func relayTo(t *testing.T, address string, args ...string) *instance {
	t.Helper()
	return startServe(t, append([]string{"--relay", relayedName + "=" + address}, args...)...)
}

// pieces is some bytes, written with pauses between.
type pieces [][]byte

func (p pieces) write(c net.Conn) {
	for i, b := range p {
		if i > 0 {
			time.Sleep(segmentPause)
		}
		c.Write(b)
	}
}

func (p pieces) all() []byte { return bytes.Join(p, nil) }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// Field case E11, for a hello whose ECH cannot be opened and whose outer name is
// relayed.
func TestRelayIsAPipe(t *testing.T) {
	n := &names{t: t, keys: filepath.Join(t.TempDir(), "keys")}
	n.command("keys", "gen-ech", "--public-name", relayedName, "--dir", n.keys)
	stale := filepath.Join(t.TempDir(), "stale")
	n.command("keys", "gen-ech", "--public-name", relayedName, "--dir", stale)
	hello := clientHello(t, n.client(n.configs(stale)))
	early := append(bytes.Clone(hello), randomBytes(200)...)
	answer := randomBytes(64 << 10)
	type scenario struct {
		name   string
		client pieces
		finish func(c *net.TCPConn, saw *transcript)        // what the client does then
		server func(c *net.TCPConn, saw *transcript, n int) // n is what the client sends at first
	}
	closes := func(c *net.TCPConn, saw *transcript) { c.CloseWrite(); saw.read(c, -1) }
	answers := func(c *net.TCPConn, saw *transcript, n int) { saw.read(c, n); c.Write(answer); saw.read(c, -1) }
	scenarios := []scenario{
		{"one record", pieces{hello}, closes, answers},
		{"records of 5 bytes", pieces{rerecord(hello, fives(len(hello)))}, closes, answers},
		{"early bytes", pieces{early}, closes, answers},
		{"the client closes first", pieces{hello}, func(c *net.TCPConn, saw *transcript) { c.CloseWrite(); saw.read(c, -1) },
			func(c *net.TCPConn, saw *transcript, _ int) { saw.read(c, -1); c.Write(answer) }},
		{"the server closes first", pieces{hello}, func(c *net.TCPConn, saw *transcript) { saw.read(c, -1); c.Write(answer); c.CloseWrite() },
			func(c *net.TCPConn, saw *transcript, n int) {
				saw.read(c, n)
				c.Write(answer)
				c.CloseWrite()
				saw.read(c, -1)
			}},
		{"the server resets", pieces{hello}, func(c *net.TCPConn, saw *transcript) { saw.read(c, -1) },
			func(c *net.TCPConn, saw *transcript, n int) { saw.read(c, n); c.SetLinger(0) }},
		{"the client resets", pieces{hello}, func(c *net.TCPConn, saw *transcript) { saw.read(c, 1); c.SetLinger(0) },
			func(c *net.TCPConn, saw *transcript, n int) { saw.read(c, n); c.Write([]byte("x")); saw.read(c, -1) }},
	}
	for cut := 1; cut < len(early); cut += 97 {
		scenarios = append(scenarios, scenario{fmt.Sprintf("cut after %d bytes", cut), pieces{early[:cut], early[cut:]}, closes, answers})
	}
	var current atomic.Pointer[scenario]
	s := newTarget(t, func(c *net.TCPConn, saw *transcript) {
		sc := current.Load()
		sc.server(c, saw, len(sc.client.all()))
	})
	in := relayTo(t, s.address(), "--ech", n.keys)
	for _, sc := range scenarios {
		current.Store(&sc)
		run := func(address string) (client, server *transcript) {
			c := in.dialTo(address).(*net.TCPConn)
			client = new(transcript)
			sc.client.write(c)
			sc.finish(c, client)
			c.Close()
			return client, s.saw()
		}
		client, server := run(s.address())
		relayedClient, relayedServer := run(in.tls)
		for _, c := range []struct {
			end             string
			direct, relayed *transcript
		}{{"client", client, relayedClient}, {"server", server, relayedServer}} {
			if !bytes.Equal(c.direct.got, c.relayed.got) || c.direct.end != c.relayed.end {
				t.Errorf("%s: the %s saw %d bytes and %q, without a relay %d bytes and %q", sc.name, c.end,
					len(c.relayed.got), c.relayed.end, len(c.direct.got), c.direct.end)
			}
		}
	}
}

// fives is the lengths of n bytes' worth of records of five.
func fives(n int) (lengths []int) {
	for range n / 5 {
		lengths = append(lengths, 5)
	}
	return lengths
}

// TLS goes through as if the relay were not there: a HelloRetryRequest, a resumed
// session, whatever the two ends agree on.
func TestRelayedHandshakes(t *testing.T) {
	certs := t.TempDir()
	writePair(t, certs, "a.pem", 1, relayedName)
	cert, err := tls.LoadX509KeyPair(filepath.Join(certs, "a.pem"), filepath.Join(certs, "a.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]*tls.Config{
		"TLS 1.3":           {MinVersion: tls.VersionTLS13},
		"HelloRetryRequest": {MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP384}},
		"TLS 1.2":           {MaxVersion: tls.VersionTLS12},
	} {
		server.Certificates = []tls.Certificate{cert}
		in := relayTo(t, pageServer(t, server))
		client := &tls.Config{ServerName: relayedName, InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		for i := range 2 {
			c, err := in.handshake(client, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			expectPageOf(t, c, relayedName)
			if c.ConnectionState().DidResume != (i == 1) {
				t.Errorf("%s: connection %d: resumed %v", name, i, c.ConnectionState().DidResume)
			}
			c.Close()
		}
	}
}

// Field case E11, many at once: every byte arrives, both ways, and no descriptor is left.
func TestManyRelays(t *testing.T) {
	const relays, size = 200, 64 << 10
	s := newTarget(t, func(c *net.TCPConn, saw *transcript) {
		saw.read(c, -1)
		answer := randomBytes(size)
		binary.BigEndian.PutUint64(answer, binary.BigEndian.Uint64(saw.got[len(saw.got)-8:]))
		c.Write(answer)
	})
	in := relayTo(t, s.address())
	before := descriptors(t, in.cmd.Process.Pid)
	hello := clientHello(t, &tls.Config{ServerName: relayedName})
	sums := make([][32]byte, relays)
	var wg sync.WaitGroup
	for i := range relays {
		wg.Go(func() {
			up := append(bytes.Clone(hello), randomBytes(size)...)
			rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(up[11:43]) // the hello's random
			binary.BigEndian.PutUint64(up[len(up)-8:], uint64(i))
			sums[i] = sha256.Sum256(up)
			c, err := net.DialTimeout("tcp", in.tls, patience)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			if _, err := c.Write(up); err != nil {
				t.Error(err)
				return
			}
			c.(*net.TCPConn).CloseWrite()
			var saw transcript
			saw.read(c, -1)
			want := randomBytes(size)
			binary.BigEndian.PutUint64(want, uint64(i))
			if !bytes.Equal(saw.got, want) || saw.end != "FIN" {
				t.Errorf("client %d saw %d bytes and %q", i, len(saw.got), saw.end)
			}
		})
	}
	wg.Wait()
	seen := map[[32]byte]bool{}
	for range relays {
		seen[sha256.Sum256(s.saw().got)] = true
	}
	for i, sum := range sums {
		if !seen[sum] {
			t.Fatalf("what client %d sent did not reach the target as it was", i)
		}
	}
	for end := time.Now().Add(patience); descriptors(t, in.cmd.Process.Pid) > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors open, %d before", descriptors(t, in.cmd.Process.Pid), before)
		}
	}
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestRelayTellsTheClientsAddress(t *testing.T) {
	hello := clientHello(t, &tls.Config{ServerName: relayedName})
	s := newTarget(t, func(c *net.TCPConn, saw *transcript) { saw.read(c, 28+len(hello)) })
	in := relayTo(t, s.address(), "--relay-proxy-protocol")
	c := in.dial()
	c.Write(hello)
	saw := s.saw()
	client, server := netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(in.tls)
	want := append([]byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"), client.Addr().AsSlice()...)
	want = append(want, server.Addr().AsSlice()...)
	want = binary.BigEndian.AppendUint16(want, client.Port())
	want = binary.BigEndian.AppendUint16(want, server.Port())
	if !bytes.Equal(saw.got, append(want, hello...)) {
		t.Errorf("the target saw %.60x, want %x and the hello", saw.got, want)
	}
}

// Field case E12: a relay that leads back here by a way that no address shows is cut after a few
// rounds: here through a forwarder on another port.
func TestRelayLoopThroughAnotherPort(t *testing.T) {
	var edge string
	rounds := make(chan struct{}, 1000)
	forward := newTarget(t, func(c *net.TCPConn, _ *transcript) {
		rounds <- struct{}{}
		back, err := net.Dial("tcp", edge)
		if err != nil {
			return
		}
		go func() { io.Copy(back, c); back.(*net.TCPConn).CloseWrite() }()
		_, err = io.Copy(c, back)
		if back.Close(); err != nil {
			c.SetLinger(0)
		}
	})
	in := relayTo(t, forward.address())
	edge = in.tls
	c := in.dial()
	c.Write(clientHello(t, &tls.Config{ServerName: relayedName}))
	var saw transcript
	if saw.read(c, -1); saw.end != "reset" || len(saw.got) > 0 {
		t.Errorf("the client saw %d bytes and %q, want a reset", len(saw.got), saw.end)
	}
	if n := len(rounds); n != 4 {
		t.Errorf("it went round %d times", n)
	}
	in.waitStderr("it leads back here")
}

// What is relayed goes by the outer name of a hello that cannot be opened; the same
// server opens others.
func TestRelayBesideECH(t *testing.T) {
	n := newNames(t)
	public, err := tls.LoadX509KeyPair(filepath.Join(n.certs, publicName+".pem"), filepath.Join(n.certs, publicName+".pem"))
	if err != nil {
		t.Fatal(err)
	}
	certs := t.TempDir() // of the hidden name alone
	n.roots.AppendCertsFromPEM(writePair(t, certs, "hidden.pem", 3, hiddenName))
	origin := pageServer(t, &tls.Config{Certificates: []tls.Certificate{public}})
	s := n.serve("--cert-dir", certs, "--ech", n.keys, "--relay", publicName+"="+origin, site(t))
	if state, err := s.page(n.client(n.configs(n.keys))); err != nil || !state.ECHAccepted {
		t.Fatalf("%v, accepted %v", err, state.ECHAccepted)
	}
	if l := s.line(1); l.ECH != "accepted" || l.Relay != "" {
		t.Errorf("the log says %+v", l)
	}
	// A stale config: the public name's own server answers, and has no configs.
	_, err = s.page(n.client(n.stale()))
	var rejected *tls.ECHRejectionError
	if !errors.As(err, &rejected) || len(rejected.RetryConfigList) != 0 {
		t.Errorf("a stale config: %v", err)
	}
	if l := s.line(2); l.ECH != "relayed" || l.SNI != publicName || l.Relay != origin || l.In == 0 || l.Out == 0 || l.Inner != "" ||
		l.JA4 == "" || l.JA4Inner != "" { // field case J05: the outer hello alone
		t.Errorf("the log says %+v", l)
	}
	// No ECH at all, for the public name.
	conf := n.client(nil)
	conf.ServerName = publicName
	if _, err := s.page(conf); err != nil {
		t.Fatal(err)
	}
	if l := s.line(3); l.ECH != "relayed" || l.Relay != origin {
		t.Errorf("the log says %+v", l)
	}
	if strings.Contains(s.stderr.String(), "relay") {
		t.Errorf("stderr: %s", s.stderr.String())
	}
}
