package tlsstack

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// ECH through the whole handshake, with the client of crypto/tls. What opening a
// hello has to get right is tested in package ech.

const publicName = "public.example"

// echKey makes a key for the public name with a config_id.
func echKey(t testing.TB, id uint8) *ech.Key {
	t.Helper()
	return echKeyOf(t, id, ech.KEMX25519)
}

// echKeyOf does so for a KEM.
func echKeyOf(t testing.TB, id uint8, kem uint16) *ech.Key {
	t.Helper()
	var others []uint8
	for i := range 256 {
		if i != int(id) {
			others = append(others, uint8(i))
		}
	}
	key, err := ech.GenerateKey(ech.KeyParameters{
		PublicName: publicName, KEM: kem, Suites: []ech.Suite{{KDF: 1, AEAD: 1}}, Taken: others,
	}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// echConfig serves testName behind publicName with the given keys.
func echConfig(t testing.TB, keys ...*ech.Key) *Config {
	t.Helper()
	cfg := ticketConfig(t)
	cfg.Certificates = &namesSource{
		testName:   {serverCredential(t, keyP256, testName)},
		publicName: {serverCredential(t, keyP256, publicName)},
	}
	var err error
	if cfg.ECH, err = ech.NewSet(keys); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// namesSource is a certificate source for several names.
type namesSource map[string][]*Credential

func (s *namesSource) Credentials(name []byte) []*Credential { return (*s)[string(name)] }
func (s *namesSource) Default() []*Credential                { return nil }

// echClient is a client that has the configuration of the keys.
func echClient(t *testing.T, keys ...*ech.Key) *tls.Config {
	t.Helper()
	var raw [][]byte
	for _, k := range keys {
		raw = append(raw, k.Config.Raw)
	}
	list, err := ech.AppendConfigList(nil, raw...)
	if err != nil {
		t.Fatal(err)
	}
	client := clientConfig()
	client.EncryptedClientHelloConfigList = list
	return client
}

func TestECHAccepted(t *testing.T) {
	key := echKey(t, 7)
	bothWays(t, func(t *testing.T, chunk int) {
		for _, retry := range []bool{false, true} {
			cfg, client := echConfig(t, echKey(t, 7), key), echClient(t, key)
			if retry {
				cfg.Groups = []wire.Group{wire.GroupP384}
				client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
			}
			client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			for _, resumed := range []bool{false, true} {
				o := exchange(t, cfg, client, chunk, 10)
				o.mustSucceed(t)
				if !o.client.ECHAccepted || o.info.ECH != ech.Accepted || o.info.ServerName != testName ||
					o.info.PublicName != publicName || o.info.Retried != retry || o.info.Resumed != resumed {
					t.Fatalf("retry %v: accepted %v, info %+v", retry, o.client.ECHAccepted, o.info)
				}
			}
		}
	})
}

func TestECHRejected(t *testing.T) {
	stale, current, old := echKey(t, 1), echKey(t, 2), echKey(t, 3)
	old.Role = ech.DecryptOnly
	bothWays(t, func(t *testing.T, chunk int) {
		for _, retry := range []bool{false, true} {
			cfg, client := echConfig(t, current, old), echClient(t, stale)
			if retry {
				cfg.Groups = []wire.Group{wire.GroupP384}
				client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
			}
			o := exchange(t, cfg, client, chunk)
			var rejection *tls.ECHRejectionError
			if !errors.As(o.clientErr, &rejection) {
				t.Fatalf("client: %v, server %v", o.clientErr, o.serverErr)
			}
			want, err := ech.AppendConfigList(nil, current.Config.Raw)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rejection.RetryConfigList, want) || o.info.ECH != ech.Rejected || o.info.ServerName != publicName {
				t.Errorf("retry list %x, info %+v", rejection.RetryConfigList, o.info)
			}
			var e *Error
			if !errors.As(o.serverErr, &e) || e.Origin != Peer || e.Alert != wire.AlertECHRequired {
				t.Errorf("server: %v", o.serverErr)
			}
			client.EncryptedClientHelloConfigList = rejection.RetryConfigList
			o = exchange(t, cfg, client, chunk, 10)
			o.mustSucceed(t)
			if !o.client.ECHAccepted {
				t.Error("not accepted with the new list")
			}
		}
	})
}

// TestECHDecision: both hellos can be looked at, and the inner one decides.
func TestECHDecision(t *testing.T) {
	key := echKey(t, 7)
	cfg, client := echConfig(t, key), echClient(t, key)
	clientEnd, serverEnd := newPipe()
	s := &server{now: testTime, at: func(c *Conn) {
		if string(c.Hello().ServerName) != testName || string(c.OuterHello().ServerName) != publicName {
			t.Errorf("inner %s, outer %s", c.Hello().ServerName, c.OuterHello().ServerName)
		}
		c.Refuse(wire.AlertAccessDenied)
	}}
	s.conn.Init(cfg, rand.Reader)
	done := make(chan error, 1)
	go func() { done <- s.run(serverEnd) }()
	conn := tls.Client(clientEnd, client)
	if err := conn.Handshake(); err == nil {
		t.Error("the handshake went on")
	}
	conn.Close()
	<-done
}

// TestECHInnerFromNetwork: an inner hello straight from a client is refused by a
// server with keys, confirmed by a backend, ignored without either.
func TestECHInnerFromNetwork(t *testing.T) {
	inner := []byte{byte(wire.ECHInner)}
	c := newRawClient(t, echConfig(t, echKey(t, 1)), mode{})
	c.hello.set(wire.ExtEncryptedClientHello, inner)
	c.mustFail(c.sendHello(), wire.AlertIllegalParameter)

	c = newRawClient(t, testConfig(t), mode{})
	c.hello.set(wire.ExtEncryptedClientHello, inner)
	c.handshake()

	cfg := testConfig(t)
	cfg.ECHBackend = true
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, cfg, m)
		c.hello.set(wire.ExtEncryptedClientHello, inner)
		c.handshake()
		c.talk()
		hello := c.flight[0]
		at := wire.ServerHelloConfirmationOffset
		signal := bytes.Clone(hello[at : at+ech.ConfirmationBytes])
		clear(hello[at : at+ech.ConfirmationBytes])
		c.transcript.Start(c.suite)
		c.transcript.Add(c.hello.marshal())
		want := ech.ConfirmServerHello(c.suite.NewHash, c.hello.random[:], c.transcript.SumWith(hello))
		if !bytes.Equal(signal, want[:]) {
			t.Errorf("signal is %x, want %x", signal, want)
		}
	})
	t.Run("second hello is none", func(t *testing.T) {
		c := newRawClient(t, cfg, mode{})
		c.hello.set(wire.ExtEncryptedClientHello, inner)
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.read()
		c.hello.drop(wire.ExtEncryptedClientHello)
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
}

// TestECHRequiredUnprotected: OpenSSL says ech_required outside of its keys.
func TestECHRequiredUnprotected(t *testing.T) {
	cfg := testConfig(t)
	var err error
	if cfg.ECH, err = ech.NewSet([]*ech.Key{echKey(t, 1)}); err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, cfg, mode{})
	grease := append([]byte{0, 0, 1, 0, 1, 9}, append(vec16(make([]byte, 32)), vec16(make([]byte, 100))...)...)
	c.hello.set(wire.ExtEncryptedClientHello, grease)
	c.handshake()
	failure := c.feed([]byte{21, 3, 3, 0, 2, 2, byte(wire.AlertECHRequired)})
	var e *Error
	if !errors.As(failure, &e) || e.Origin != Peer || e.Alert != wire.AlertECHRequired || c.conn.HasOutput() {
		t.Errorf("%v, output %v", failure, c.conn.HasOutput())
	}
}
