package tlsstack

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"testing"

	"edge/tlsstack/keys"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// Handshakes with a client made by hand, each in every way of cutting.

func TestHandshake(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, testConfig(t), m)
		c.handshake()
		c.talk()
		if c.ccs != 1 {
			t.Errorf("%d change_cipher_spec records, want 1", c.ccs)
		}
		if info := c.conn.Info(); info.ALPN != "http/1.1" || info.ServerName != testName || info.Credential == nil || info.DefaultCert {
			t.Errorf("info is %+v", info)
		}
	})
}

func TestHandshakeSuites(t *testing.T) {
	for _, suite := range []wire.CipherSuite{wire.SuiteAES128GCMSHA256, wire.SuiteAES256GCMSHA384, wire.SuiteChaCha20Poly1305SHA256} {
		inEveryMode(t, func(t *testing.T, m mode) {
			c := newRawClient(t, testConfig(t, keyEd25519), m)
			c.hello.suites = []uint16{uint16(suite)}
			c.handshake()
			c.talk()
			if c.conn.Info().Suite != suite {
				t.Errorf("suite is %#x", c.conn.Info().Suite)
			}
		})
	}
}

// TestHandshakeRetry: a client without a usable share gets one more try.
func TestHandshakeRetry(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, testConfig(t), m)
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.read()
		if len(c.flight) != 1 || c.ccs != 1 {
			t.Fatalf("%d messages, %d change_cipher_spec", len(c.flight), c.ccs)
		}
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.must(c.sendHello())
		c.read()
		c.must(c.sendFinished())
		c.talk()
		if c.ccs != 1 || !c.conn.Info().Retried {
			t.Errorf("%d change_cipher_spec, info %+v", c.ccs, c.conn.Info())
		}
	})
}

// ticket is what a client keeps of a NewSessionTicket.
type ticket struct {
	identity []byte
	lifetime uint32
	psk      keys.Secret
}

// tickets returns the tickets received so far.
func (c *rawClient) tickets() []ticket {
	c.t.Helper()
	var out []ticket
	for _, m := range c.flight {
		if wire.HandshakeType(m[0]) != wire.TypeNewSessionTicket {
			continue
		}
		b := m[wire.HeaderBytes:]
		tk := ticket{lifetime: binary.BigEndian.Uint32(b)}
		nonce := b[9 : 9+int(b[8])]
		rest := b[9+len(nonce):]
		tk.identity = rest[2 : 2+int(binary.BigEndian.Uint16(rest))]
		c.traffic.Load(c.suite, &c.resumption)
		c.traffic.TicketPSK(nonce, &tk.psk)
		out = append(out, tk)
	}
	return out
}

// offer puts a ticket into the hello, with its binder.
func (c *rawClient) offer(tk *ticket) {
	suite := keys.SuiteByID(wire.CipherSuite(c.hello.suites[0]))
	c.early.Start(suite, tk.psk.Bytes())
	identities := vec16(append(vec16(tk.identity), 0, 0, 0, 0))
	binders := vec16(vec8(make([]byte, suite.HashLen)))
	c.hello.drop(wire.ExtPreSharedKey)
	c.hello.set(wire.ExtPreSharedKey, append(identities, binders...))
	m := c.hello.marshal()
	truncated := m[:len(m)-len(binders)]
	var hash []byte
	if c.suite != nil { // the second hello
		hash = c.transcript.SumWith(truncated)
	} else {
		var tr keys.Transcript
		tr.Start(suite)
		hash = tr.SumWith(truncated)
	}
	binders = vec16(vec8(c.early.Binder(&c.traffic, bytes.Clone(hash))))
	c.hello.set(wire.ExtPreSharedKey, append(identities, binders...))
}

// firstTickets makes a whole handshake and returns its tickets.
func firstTickets(t testing.TB, cfg *Config) []ticket {
	t.Helper()
	c := newRawClient(t, cfg, mode{})
	c.handshake()
	return c.tickets()
}

func ticketConfig(t testing.TB) *Config {
	t.Helper()
	cfg := testConfig(t)
	var err error
	if cfg.Tickets, err = NewTicketKeys(rand.Reader); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestHandshakeResumed(t *testing.T) {
	cfg := ticketConfig(t)
	inEveryMode(t, func(t *testing.T, m mode) {
		all := firstTickets(t, cfg)
		if len(all) != ticketsPerFull || all[0].lifetime != 24*3600 || bytes.Equal(all[0].psk.Bytes(), all[1].psk.Bytes()) {
			t.Fatalf("%d tickets of %d s", len(all), all[0].lifetime)
		}
		for range 2 {
			c := newRawClient(t, cfg, m)
			c.offer(&all[0])
			c.handshake()
			c.talk()
			if !c.resumed || !c.conn.Info().Resumed || c.leaf != nil {
				t.Fatal("not resumed")
			}
			if all = c.tickets(); len(all) != 1 {
				t.Fatalf("%d tickets after a resumption", len(all))
			}
		}
	})
}

// TestHandshakeResumedAfterRetry: the binder covers both hellos.
func TestHandshakeResumedAfterRetry(t *testing.T) {
	cfg := ticketConfig(t)
	inEveryMode(t, func(t *testing.T, m mode) {
		tk := firstTickets(t, cfg)[0]
		c := newRawClient(t, cfg, m)
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.offer(&tk)
		c.must(c.sendHello())
		c.read()
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.offer(&tk)
		c.must(c.sendHello())
		c.read()
		c.must(c.sendFinished())
		c.talk()
		if !c.resumed {
			t.Error("not resumed")
		}
	})
}

// clientAuthConfig asks for certificates of the shared authority.
func clientAuthConfig(t testing.TB, auth ClientAuth) *Config {
	t.Helper()
	cfg := ticketConfig(t)
	cas, err := NewClientCAs(pemCertificate(sharedCA().cert.Raw))
	if err != nil {
		t.Fatal(err)
	}
	cfg.ClientAuth, cfg.ClientVerifier = auth, cas
	return cfg
}

// certificateMessage is a client's Certificate.
func certificateMessage(chain ...[]byte) []byte {
	m := wire.Certificate{Chain: chain}
	return m.Append(nil)
}

// sendClientAuth sends Certificate and CertificateVerify with a key of the kind.
func (c *rawClient) sendClientAuth(kind keyKind, scheme wire.SignatureScheme) {
	c.t.Helper()
	chain := sharedCA().leaf(c.t, testKeys[kind](), x509.ExtKeyUsageClientAuth)
	c.must(c.message(certificateMessage(chain...), false))
	c.must(c.message(c.verifyMessage(kind, scheme), false))
}

// verifyMessage signs the transcript so far.
func (c *rawClient) verifyMessage(kind keyKind, scheme wire.SignatureScheme) []byte {
	c.t.Helper()
	content := appendVerifyContent(nil, clientContext, c.transcript.Sum())
	s := schemeParams(scheme)
	signature, err := testKeys[kind]().Sign(rand.Reader, s.digest(content), s.opts)
	if err != nil {
		c.t.Fatal(err)
	}
	return wire.AppendCertificateVerify(nil, scheme, signature)
}

func TestHandshakeClientAuth(t *testing.T) {
	cfg := clientAuthConfig(t, ClientAuthRequire)
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, cfg, m)
		c.must(c.sendHello())
		c.read()
		if !c.wantsCert {
			t.Fatal("no CertificateRequest")
		}
		c.sendClientAuth(keyP256, wire.SchemeECDSAP256SHA256)
		c.must(c.sendFinished())
		c.talk()
		client := c.conn.Info().Client
		if client == nil || client.Leaf.Subject.CommonName != "leaf" || client.Scheme != wire.SchemeECDSAP256SHA256 {
			t.Fatalf("client is %+v", client)
		}

		// The session remembers who it was.
		tk := c.tickets()[0]
		again := newRawClient(t, cfg, m)
		again.offer(&tk)
		again.handshake()
		if who := again.conn.Info().Client; !again.resumed || who == nil || !bytes.Equal(who.Leaf.Raw, client.Leaf.Raw) || who.Scheme != client.Scheme {
			t.Fatalf("resumed %v as %+v", again.resumed, who)
		}
	})
}

// TestHandshakeEarlyDataSkipped is field case L11 without HelloRetryRequest.
func TestHandshakeEarlyDataSkipped(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		for _, retry := range []bool{false, true} {
			c := newRawClient(t, testConfig(t), m)
			c.hello.set(wire.ExtEarlyData, nil)
			if retry {
				c.hello.set(wire.ExtKeyShare, keyShareBody())
			}
			c.must(c.sendHello())
			for range 14 {
				c.must(c.feed(append([]byte{23, 3, 3, 4, 0}, bytes.Repeat([]byte{0xab}, 1024)...)))
			}
			if retry {
				c.read()
				c.hello.drop(wire.ExtEarlyData)
				c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
				c.must(c.sendHello())
			}
			c.read()
			c.must(c.sendFinished())
			c.talk()
			if !c.conn.Info().EarlyData {
				t.Error("early data is not noticed")
			}
		}
	})
}

// TestKeyUpdates: both directions, asked for and not.
func TestKeyUpdates(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, testConfig(t), m)
		c.handshake()
		for range 5 {
			c.must(c.sendKeyUpdate(false))
			if c.conn.HasOutput() {
				t.Fatal("an answer that was not asked for")
			}
			c.talk()
			c.must(c.sendKeyUpdate(true))
			c.must(c.sendKeyUpdate(true))
			before := len(c.flight)
			c.read()
			if answers := len(c.flight) - before; answers != 1 {
				t.Fatalf("%d answers to two requests", answers)
			}
			c.talk()
			c.conn.UpdateKey()
			c.talk()
		}
	})
}

// TestClose: close_notify both ways, half-close, nothing after it.
func TestClose(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, testConfig(t), m)
		c.handshake()
		c.mustClose(c.send(record.Alert, []byte{1, 0}))
		c.readBytes(c.conn.SealAppend(nil, []byte("still here")))
		if string(c.data) != "still here" || c.conn.ReceiveEOF() != nil {
			t.Errorf("after the client's close it received %q", c.data)
		}
		if n, plain, err := c.conn.Receive(c.now, []byte("anything")); n != 8 || plain != nil || err == nil {
			t.Errorf("data after close_notify: %d, %q, %v", n, plain, err)
		}
		c.readBytes(c.conn.AppendCloseNotify(nil))
		if len(c.alerts) != 1 || c.alerts[0] != wire.AlertCloseNotify || c.conn.CanSeal() {
			t.Errorf("alerts %v", c.alerts)
		}
		if more := c.conn.AppendCloseNotify(nil); len(more) != 0 {
			t.Error("close_notify twice")
		}
	})
}

// TestHelloDecision: nothing is computed or sent before the caller has decided.
func TestHelloDecision(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, testConfig(t), m)
		raw := c.records(record.Handshake, c.hello.marshal(), m.split)
		stream := append(bytes.Clone(raw), "what follows"...)
		var consumed int
		for c.conn.Wait() == WaitBytes {
			n, _, err := c.conn.Receive(testTime, stream[consumed:])
			c.must(err)
			consumed += n
		}
		if consumed != len(raw) || c.conn.HasOutput() || string(c.conn.Hello().ServerName) != testName {
			t.Fatalf("consumed %d of %d", consumed, len(raw))
		}
		if n, _, err := c.conn.Receive(testTime, stream[consumed:]); n != 0 || err != nil {
			t.Errorf("Receive goes on: %d, %v", n, err)
		}
		c.mustFail(c.conn.Refuse(wire.AlertAccessDenied), wire.AlertAccessDenied)
		if c.conn.Hello() != nil || c.conn.OuterHello() != nil {
			t.Error("the hello outlives the decision")
		}
	})
}
