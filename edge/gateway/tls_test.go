package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// TLS over the whole gateway: a real client on the simulated reactor.

// tlsBench is a bench with a TLS listener and a directory of certificates.
type tlsBench struct {
	*bench
	secure *sim.Listener
}

// newTLSBench has a certificate, each in a file of its own, for each list of names;
// the first one is the default.
func newTLSBench(t *testing.T, o benchOptions, names ...[]string) *tlsBench {
	t.Helper()
	dir := t.TempDir()
	for i, list := range names {
		writeCertificate(t, dir, fmt.Sprintf("%d.pem", i), list...)
	}
	configure := o.config
	o.config = func(c *config.Config) {
		c.CertDir = dir
		if configure != nil {
			configure(c)
		}
	}
	prepare := o.server
	o.server = func(s *server) {
		if prepare != nil {
			prepare(s)
		}
		if err := s.openTickets(func(string) string { return "" }); err != nil {
			t.Fatal(err)
		}
		g, err := s.load(nil, partsAll)
		if err != nil {
			t.Fatal(err)
		}
		g.serve(&openSite{Site: openBenchSite(t)})
		s.gen.Store(g)
	}
	b := &tlsBench{bench: newBench(t, o)}
	b.secure = b.sim.Listener("secure")
	if err := b.w.listen(b.secure.FD, listener{tls: true}); err != nil {
		t.Fatal(err)
	}
	return b
}

// simConn is a peer as a net.Conn: reading lets the simulation go on.
type simConn struct {
	net.Conn // nil: what is not here is not asked for
	b        *tlsBench
	p        *sim.Peer
	in       []byte
	ended    bool // FIN was asked for and given: TLS did not end before
}

func (c *simConn) Write(p []byte) (int, error) {
	c.p.Write(bytes.Clone(p))
	return len(p), nil
}

func (c *simConn) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		c.b.sim.Idle()
		c.in = c.p.Read()
	}
	switch {
	case len(c.in) > 0:
		n := copy(p, c.in)
		c.in = c.in[n:]
		return n, nil
	case c.p.EOF():
		c.ended = true
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded // nothing will ever come
}

func (c *simConn) SetWriteDeadline(time.Time) error { return nil }

func (c *simConn) Close() error {
	c.p.Close()
	return nil
}

// dial makes a TLS connection, with the name in SNI unless it is empty.
func (b *tlsBench) dial(name string) *tls.Conn {
	b.t.Helper()
	c := tls.Client(&simConn{b: b, p: b.secure.Dial()}, &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := c.Handshake(); err != nil {
		b.t.Fatalf("%q: %v", name, err)
	}
	return c
}

// askTLS sends a request and returns the answer.
func (b *tlsBench) askTLS(c *tls.Conn, raw, method string) *http.Response {
	b.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		b.t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := io.Copy(&got, c); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		b.t.Fatal(err)
	}
	return exchanged(b.t, got.Bytes(), method)[0]
}

// A connection that is idle rests once, answers afterwards as ever, and lives as
// long as the idle time says.
func TestIdleConnectionRests(t *testing.T) {
	b := newTLSBench(t, benchOptions{}, []string{"a.example"})
	resting := func(c *conn) bool { return reflect.ValueOf(&c.tls).Elem().FieldByName("resting").Bool() }
	client := b.dial("a.example")
	b.sim.Idle()
	c := b.onlyConn()
	for round := range 3 {
		if c.rested || resting(c) {
			t.Fatalf("round %d: it rests at once", round)
		}
		b.sim.Advance(restAfter + 100*time.Millisecond)
		if !c.rested || !resting(c) {
			t.Fatalf("round %d: it does not rest after %v", round, restAfter)
		}
		if held := len(c.in) + cap(c.plain) + cap(c.out) + cap(c.sending); held != 0 {
			t.Errorf("round %d: it holds buffers of %d bytes", round, held)
		}
		b.sim.Advance(b.s.cfg.Timeouts.Idle - restAfter - time.Second)
		if c.stage != stageOpen {
			t.Fatalf("round %d: closed before its time", round)
		}
		if resp := b.askTLS(client, get("/f174.bin"), "GET"); resp.StatusCode != 200 || !bytes.Equal(bodyOf(t, resp), b.files["f174.bin"]) {
			t.Errorf("round %d: status %d or another body", round, resp.StatusCode)
		}
	}
	b.sim.Advance(b.s.cfg.Timeouts.Idle - time.Second)
	if c.stage != stageOpen {
		t.Error("closed a second before the idle time is over")
	}
	b.sim.Advance(2 * time.Second)
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the idle time: %v, want close_notify", err)
	}
	client.Close()
	b.done()
}
