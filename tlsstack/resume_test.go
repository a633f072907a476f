package tlsstack

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"edge/tlsstack/wire"
)

// offerTicket makes a connection that offers tk, after change had its way with
// the client, and reports whether it was resumed. A ticket that is not taken
// makes a whole handshake, never an error.
func offerTicket(t *testing.T, cfg *Config, tk *ticket, change func(c *rawClient)) bool {
	t.Helper()
	c := newRawClient(t, cfg, mode{})
	if change != nil {
		change(c)
	}
	c.offer(tk)
	c.handshake()
	c.talk()
	if c.resumed != c.conn.Info().Resumed {
		t.Error("the sides disagree about resumption")
	}
	return c.resumed
}

// TestTicketBindings: a session goes on only where it began.
func TestTicketBindings(t *testing.T) {
	cfg := ticketConfig(t)
	other := ticketConfig(t)
	short := *cfg
	short.TicketLifetime = time.Hour
	strict := *cfg
	strict.StrictSNI = true
	tk := firstTickets(t, cfg)[0]
	later := func(d time.Duration) func(*rawClient) {
		return func(c *rawClient) { c.now = testTime.Add(d) }
	}
	cases := []struct {
		name   string
		cfg    *Config
		change func(*rawClient)
		want   bool
	}{
		{"the same", cfg, nil, true},
		{"upper case name", cfg, func(c *rawClient) { c.hello.set(wire.ExtServerName, serverNameBody("SERVER.example.")) }, true},
		{"other name", cfg, func(c *rawClient) { c.hello.set(wire.ExtServerName, serverNameBody("other.example")) }, false},
		{"no name", cfg, func(c *rawClient) { c.hello.drop(wire.ExtServerName) }, false},
		{"other protocol", cfg, func(c *rawClient) { c.hello.set(wire.ExtALPN, alpnBody("h2")) }, false},
		{"no protocol", cfg, func(c *rawClient) { c.hello.drop(wire.ExtALPN) }, false},
		{"other hash", cfg, func(c *rawClient) { c.hello.suites = []uint16{0x1302} }, false},
		{"suite not offered", cfg, func(c *rawClient) { c.hello.suites = []uint16{0x1303} }, false},
		{"psk_ke alone", cfg, func(c *rawClient) {
			c.hello.set(wire.ExtPSKKeyExchangeModes, vec8([]byte{wire.PSKModeKE}))
		}, false},
		{"other keys", other, nil, false},
		{"strict, name held", &strict, nil, true},
		{"a second before it ends", cfg, later(24*time.Hour - time.Second), true},
		{"after its lifetime", cfg, later(24*time.Hour + time.Second), false},
		{"shorter lifetime now", &short, later(2 * time.Hour), false},
		{"from a clock that is ahead", cfg, later(-time.Minute), true},
		{"from the future", cfg, later(-time.Hour), false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "other hash" { // a PSK of one hash cannot be offered with another
				c := newRawClient(t, tc.cfg, mode{})
				c.offer(&tk)
				tc.change(c)
				c.handshake()
				if c.resumed {
					t.Error("resumed")
				}
				return
			}
			if got := offerTicket(t, tc.cfg, &tk, tc.change); got != tc.want {
				t.Errorf("resumed %v, want %v", got, tc.want)
			}
		})
	}
}

// TestTicketForNameGone: a ticket does not keep a name alive that is served no
// more.
func TestTicketForNameGone(t *testing.T) {
	cfg := ticketConfig(t)
	tk := firstTickets(t, cfg)[0]
	gone := *cfg
	gone.StrictSNI = true
	gone.Certificates = &fixedSource{name: "other.example"}
	c := newRawClient(t, &gone, mode{})
	c.offer(&tk)
	c.mustFail(c.sendHello(), wire.AlertUnrecognizedName)
}

// TestTicketTampered flips every byte of a ticket.
func TestTicketTampered(t *testing.T) {
	cfg := ticketConfig(t)
	tk := firstTickets(t, cfg)[0]
	for i := range tk.identity {
		bad := ticket{identity: bytes.Clone(tk.identity), psk: tk.psk}
		bad.identity[i] ^= 1
		if offerTicket(t, cfg, &bad, nil) {
			t.Fatalf("byte %d flipped: resumed", i)
		}
	}
	for _, n := range []int{1, ticketOverhead - 1, ticketOverhead, len(tk.identity) - 1} {
		if offerTicket(t, cfg, &ticket{identity: tk.identity[:n], psk: tk.psk}, nil) {
			t.Fatalf("cut to %d bytes: resumed", n)
		}
	}
}

// TestBinderWrong: a session that is ours with a binder that is not.
func TestBinderWrong(t *testing.T) {
	cfg := ticketConfig(t)
	tk := firstTickets(t, cfg)[0]
	c := newRawClient(t, cfg, mode{})
	c.offer(&tk)
	i := c.hello.index(wire.ExtPreSharedKey)
	body := c.hello.extensions[i].body
	body[len(body)-1] ^= 1
	c.mustFail(c.sendHello(), wire.AlertDecryptError)
}

// TestSessionEnds: resuming again and again does not go on for ever, and the last
// tickets say how long they are good for.
func TestSessionEnds(t *testing.T) {
	cfg := ticketConfig(t)
	tk := firstTickets(t, cfg)[0]
	now := testTime
	for range 6 {
		now = now.Add(24 * time.Hour)
		c := newRawClient(t, cfg, mode{})
		c.now = now
		c.offer(&tk)
		c.handshake()
		if !c.resumed {
			t.Fatalf("not resumed after %v", now.Sub(testTime))
		}
		tk = c.tickets()[0]
	}
	if tk.lifetime != 24*3600 {
		t.Errorf("lifetime on day six is %d s", tk.lifetime)
	}
	c := newRawClient(t, cfg, mode{})
	c.now = testTime.Add(sessionLifeMax - time.Minute)
	c.offer(&tk)
	c.handshake()
	if left := c.tickets(); !c.resumed || len(left) != 1 || left[0].lifetime != 60 {
		t.Errorf("a minute before the end: resumed %v, tickets %+v", c.resumed, left)
	}
	c = newRawClient(t, cfg, mode{})
	c.now = testTime.Add(sessionLifeMax + time.Second)
	c.offer(&tk)
	c.handshake()
	if c.resumed {
		t.Error("resumed after the session's life")
	}
}

// TestNoTickets: none are made without keys, nor for a client that cannot use
// them.
func TestNoTickets(t *testing.T) {
	c := newRawClient(t, testConfig(t), mode{})
	c.handshake()
	if len(c.tickets()) != 0 {
		t.Error("tickets without keys")
	}
	c = newRawClient(t, ticketConfig(t), mode{})
	c.hello.set(wire.ExtPSKKeyExchangeModes, vec8([]byte{wire.PSKModeKE}))
	c.handshake()
	if len(c.tickets()) != 0 {
		t.Error("tickets for a client without psk_dhe_ke")
	}
}

// TestSessionVanishes: the second hello may not leave out a session that the
// first could have been resumed with.
func TestSessionVanishes(t *testing.T) {
	cfg := ticketConfig(t)
	tk := firstTickets(t, cfg)[0]
	c := newRawClient(t, cfg, mode{})
	c.hello.set(wire.ExtKeyShare, keyShareBody())
	c.offer(&tk)
	c.must(c.sendHello())
	c.read()
	c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
	c.hello.drop(wire.ExtPreSharedKey)
	c.mustFail(c.sendHello(), wire.AlertMissingExtension)
}

// TestTicketPolicy: a session is no way around a change in client authentication.
func TestTicketPolicy(t *testing.T) {
	none := ticketConfig(t)
	request, require := *none, *none
	cas := clientAuthConfig(t, ClientAuthRequire).ClientVerifier
	request.ClientAuth, request.ClientVerifier = ClientAuthRequest, cas
	require.ClientAuth, require.ClientVerifier = ClientAuthRequire, cas

	anonymous := firstTickets(t, none)[0]
	for name, cfg := range map[string]*Config{"request": &request, "require": &require} {
		c := newRawClient(t, cfg, mode{})
		c.offer(&anonymous)
		c.must(c.sendHello())
		c.read()
		if c.resumed || !c.wantsCert {
			t.Errorf("%s: a session without a certificate was resumed", name)
		}
	}

	c := newRawClient(t, &request, mode{})
	c.must(c.sendHello())
	c.read()
	c.must(c.message(certificateMessage(), false))
	c.must(c.sendFinished())
	without := c.tickets()[0]
	c = newRawClient(t, &require, mode{})
	c.offer(&without)
	c.must(c.sendHello())
	c.read()
	if c.resumed {
		t.Error("require: a session of a client that declined was resumed")
	}

	t.Run("certificate expired meanwhile", func(t *testing.T) {
		c := newRawClient(t, &require, mode{})
		c.must(c.sendHello())
		c.read()
		c.sendClientAuth(keyP256, wire.SchemeECDSAP256SHA256)
		c.must(c.sendFinished())
		tk := c.tickets()[0]
		restored, err := x509.ParseCertificate(c.conn.Info().Client.Chain[0])
		if err != nil {
			t.Fatal(err)
		}
		if require.ClientVerifier.ResumeClient(restored.NotAfter.Add(time.Second), restored) {
			t.Fatal("an expired certificate may resume")
		}
		long := require
		long.TicketLifetime = sessionLifeMax
		again := newRawClient(t, &long, mode{})
		again.now = restored.NotAfter.Add(time.Second)
		again.offer(&tk)
		again.must(again.sendHello())
		again.read()
		if again.resumed {
			t.Error("resumed")
		}
	})
}

func TestTicketKeysFile(t *testing.T) {
	k, err := NewTicketKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := k.seal(nil, []byte("session"), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := ParseTicketKeys(k.Format())
	if err != nil {
		t.Fatal(err)
	}
	if plain, ok := copied.open(nil, sealed); !ok || string(plain) != "session" {
		t.Errorf("the other machine opens %q, %v", plain, ok)
	}
	// The key that sealed it is kept for two rotations.
	for i, want := range []bool{true, true, false} {
		if err := k.Rotate(rand.Reader); err != nil {
			t.Fatal(err)
		}
		if _, ok := k.open(nil, sealed); ok != want {
			t.Errorf("after %d rotations it opens: %v", i+1, ok)
		}
	}
	if n := strings.Count(string(k.Format()), "\n"); n != 1+ticketKeysKept {
		t.Errorf("%d lines", n)
	}
}

func TestTicketKeysFileRefused(t *testing.T) {
	key := strings.Repeat("ab", 48)
	cases := map[string]string{
		"":                                "holds no key",
		"# only a comment\n\n":            "holds no key",
		key + "\n" + key[:94] + "\n":      "line 2: a key is 96 hex digits, this has 94",
		"# one\n" + key[:95] + "x\n":      "line 2: a key is hex digits",
		strings.Repeat(key+"\n", 17):      "at most 16",
		"-----BEGIN PRIVATE KEY-----\n":   "line 1: a key is 96 hex digits",
		strings.Repeat("a", 1<<20) + "\n": "line 1: a key is 96 hex digits",
	}
	k, err := ParseTicketKeys([]byte("\r\n  " + key + "  \r\n"))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range cases {
		if err := k.Load([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", file, err, want)
		}
		if strings.Contains(string(k.Format()), key[:96]) == false {
			t.Fatal("a bad file replaced the keys")
		}
	}
	if _, err := NewTicketKeys(bytes.NewReader(nil)); err == nil {
		t.Error("keys without randomness")
	}
}

// TestSessionParse cuts and extends the content of a ticket.
func TestSessionParse(t *testing.T) {
	s := session{suite: 0x1301, sealed: 5, started: 4, name: []byte("n"), alpn: "h2", policy: []byte("p"),
		scheme: 0x0403, chain: [][]byte{[]byte("leaf"), []byte("issuer")}}
	s.psk.Set(bytes.Repeat([]byte{1}, 32))
	plain, ok := s.append(nil)
	if !ok {
		t.Fatal("cannot be written")
	}
	var got session
	if !got.parse(plain) || got.suite != s.suite || got.sealed != 5 || got.started != 4 || got.alpn != "h2" ||
		string(got.policy) != "p" || got.scheme != s.scheme || len(got.chain) != 2 || got.psk != s.psk {
		t.Errorf("read as %+v", got)
	}
	for n := range plain {
		if got.parse(plain[:n]) {
			t.Errorf("cut to %d bytes it is read", n)
		}
	}
	if got.parse(append(bytes.Clone(plain), 0)) {
		t.Error("with a byte more it is read")
	}
	plain[0]++
	if got.parse(plain) {
		t.Error("another version is read")
	}
	s.chain = [][]byte{make([]byte, ticketChainBytesMax+1)}
	if _, ok := s.append(nil); ok {
		t.Error("a chain of any length fits")
	}
}
