package tlsstack

import (
	"bytes"
	"crypto/tls"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// What RFC 9849 asks of a server's handshake, sections 5 and 7: the sentence, and
// handshakes that need it. What it asks of opening a hello is tested in package ech.

// TestInnerVersionsGREASE: field case E01. 7.1, the inner hello "does not offer TLS
// 1.2 or below"; values that are no version are no offer (RFC 8701, 3).
func TestInnerVersionsGREASE(t *testing.T) {
	key := echKey(t, 7)
	for name, tc := range map[string]struct {
		versions []uint16
		alert    wire.Alert
	}{
		"GREASE, 1.3":      {[]uint16{0x1a1a, wire.VersionTLS13}, 0},
		"GREASE, 1.3, 1.2": {[]uint16{0x1a1a, wire.VersionTLS13, wire.VersionTLS12}, wire.AlertIllegalParameter},
		"GREASE alone":     {[]uint16{0x1a1a, 0x2a2a}, wire.AlertProtocolVersion},
	} {
		t.Run(name, func(t *testing.T) {
			c, outer := newECHClient(t, echConfig(t, key))
			c.hello.set(wire.ExtSupportedVersions, vec8(list16(tc.versions...)))
			err := c.sendInner(newECHSender(t, key).seal(t, outer, c.hello))
			if tc.alert != 0 {
				c.mustFail(err, tc.alert)
				return
			}
			c.must(err)
			c.read()
			c.must(c.sendFinished())
			c.talk()
			if info := c.conn.Info(); info.ECH != ech.Accepted || info.ServerName != testName || c.leaf.DNSNames[0] != testName {
				t.Errorf("%+v, certificate of %v", info, c.leaf.DNSNames)
			}
		})
	}
}

// TestECHComesFirst: 7.1 "the client-facing server determines if it will accept
// ECH, prior to negotiating any other TLS parameters", so that even "the client's
// TLS version preferences may have changed".
func TestECHComesFirst(t *testing.T) {
	key := echKey(t, 7)
	c, outer := newECHClient(t, echConfig(t, key))
	outer.suites = []uint16{0xc02b}
	for _, typ := range []wire.ExtensionType{wire.ExtSupportedVersions, wire.ExtKeyShare, wire.ExtSupportedGroups,
		wire.ExtSignatureAlgorithms, wire.ExtServerName, wire.ExtALPN, wire.ExtPSKKeyExchangeModes} {
		outer.drop(typ)
	}
	c.must(c.sendInner(newECHSender(t, key).seal(t, outer, c.hello)))
	c.read()
	c.must(c.sendFinished())
	c.talk()
}

// retryConfigs is encrypted_client_hello of EncryptedExtensions, nil without one.
func (c *rawClient) retryConfigs() []byte {
	for _, m := range c.flight {
		if wire.HandshakeType(m[0]) == wire.TypeEncryptedExtensions {
			return serverExtension(m[wire.HeaderBytes:], wire.ExtEncryptedClientHello)
		}
	}
	return nil
}

// TestRetryConfigs: 7.1 and 7.1.1, a server that has not accepted "MUST include the
// "encrypted_client_hello" extension in its EncryptedExtensions with the
// "retry_configs" field set to one or more ECHConfig structures with up-to-date
// keys", and 5, it "is valid only when the server used the ClientHelloOuter". Nobody
// is sent an extension that they did not ask for (RFC 9846, 4.2).
func TestRetryConfigs(t *testing.T) {
	current, old := echKey(t, 1), echKey(t, 2)
	old.Role = ech.DecryptOnly
	list, err := ech.AppendConfigList(nil, current.Config.Raw)
	if err != nil {
		t.Fatal(err)
	}
	grease := outerBody(ech.Suites[0], 9, make([]byte, 32), make([]byte, 100))
	for name, tc := range map[string]struct {
		keys          []*ech.Key
		first, second []byte // encrypted_client_hello
		retry         bool
		want          []byte
	}{
		"GREASE":                             {[]*ech.Key{current, old}, grease, nil, false, list},
		"GREASE, twice":                      {[]*ech.Key{current, old}, grease, grease, true, list},
		"what comes second is not looked at": {[]*ech.Key{current, old}, grease, []byte{byte(wire.ECHOuter)}, true, list},
		"second hello alone":                 {[]*ech.Key{current, old}, nil, grease, true, list},
		"first hello alone":                  {[]*ech.Key{current, old}, grease, nil, true, nil},
		"not offered":                        {[]*ech.Key{current, old}, nil, nil, false, nil},
		"not offered, twice":                 {[]*ech.Key{current, old}, nil, nil, true, nil},
		"no up-to-date key":                  {[]*ech.Key{old}, grease, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newRawClient(t, echConfig(t, tc.keys...), mode{})
			offer := func(body []byte) {
				if c.hello.drop(wire.ExtEncryptedClientHello); body != nil {
					c.hello.set(wire.ExtEncryptedClientHello, body)
				}
			}
			offer(tc.first)
			if tc.retry {
				c.hello.set(wire.ExtKeyShare, keyShareBody())
				c.must(c.sendHello())
				c.read()
				c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
				offer(tc.second)
			}
			c.handshake()
			if got := c.retryConfigs(); !bytes.Equal(got, tc.want) {
				t.Errorf("%x, want %x", got, tc.want)
			}
		})
	}
	c, outer := newECHClient(t, echConfig(t, current))
	c.must(c.sendInner(newECHSender(t, current).seal(t, outer, c.hello)))
	c.read()
	if c.retryConfigs() != nil {
		t.Error("retry_configs for an inner hello")
	}
}

// TestGREASECompletes: field case E08. 7.1 "the client-facing server MUST ignore the
// extension and proceed with the connection using ClientHelloOuter", whatever
// config_id is hit by chance, suite or enc.
func TestGREASECompletes(t *testing.T) {
	cfg := echConfig(t, echKey(t, 7))
	for id := range 256 {
		for i, enc := range [][]byte{bytes.Repeat([]byte{9}, 32), make([]byte, 32), {1}} {
			if i > 0 && id != 7 {
				continue
			}
			c := newRawClient(t, cfg, mode{})
			c.hello.set(wire.ExtEncryptedClientHello, outerBody(ech.Suites[id%3], uint8(id), enc, bytes.Repeat([]byte{5}, 200)))
			c.handshake()
			if info := c.conn.Info(); info.ECH != ech.Rejected || info.ServerName != testName || c.leaf.DNSNames[0] != testName || c.retryConfigs() == nil {
				t.Fatalf("config_id %d, enc %x: %+v, certificate of %v", id, enc, info, c.leaf.DNSNames)
			}
		}
	}
}

// TestECHRetryConfigIDs: field case E05. 7.1.1, a second hello opens with "the
// previous HPKE context" whatever the config_id, and 7.2, both signals are right:
// the client checks them.
func TestECHRetryConfigIDs(t *testing.T) {
	for _, id := range []uint8{0, 1, 0x5a, 0xff} {
		key := echKey(t, id)
		cfg, client := echConfig(t, key), echClient(t, key)
		cfg.Groups = []wire.Group{wire.GroupP384}
		client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
		o := exchange(t, cfg, client, 0, 10)
		o.mustSucceed(t)
		if !o.client.ECHAccepted || !o.client.HelloRetryRequest || o.client.PeerCertificates[0].DNSNames[0] != testName {
			t.Errorf("config_id %d: accepted %v, retried %v", id, o.client.ECHAccepted, o.client.HelloRetryRequest)
		}
	}
}

// TestSecondHelloAlerts: 7.1.1, what the second hello may not be, each with the
// alert that the client gets.
func TestSecondHelloAlerts(t *testing.T) {
	key := echKey(t, 7)
	for name, tc := range map[string]struct {
		change func(*rawHello)
		alert  wire.Alert
	}{
		"missing":   {func(h *rawHello) { h.drop(wire.ExtEncryptedClientHello) }, wire.AlertMissingExtension},
		"config_id": {func(h *rawHello) { h.echBody()[5]++ }, wire.AlertIllegalParameter},
		"suite":     {func(h *rawHello) { h.echBody()[4]++ }, wire.AlertIllegalParameter},
		"enc": {func(h *rawHello) {
			h.set(wire.ExtEncryptedClientHello, outerBody(key.Config.Suites[0], 7, make([]byte, 32), h.echBody()[10:]))
		}, wire.AlertIllegalParameter},
		"payload": {func(h *rawHello) { b := h.echBody(); b[len(b)-1]++ }, wire.AlertDecryptError},
	} {
		t.Run(name, func(t *testing.T) {
			c, outer := newECHClient(t, echConfig(t, key))
			sender := newECHSender(t, key)
			c.hello.set(wire.ExtKeyShare, keyShareBody())
			c.must(c.sendInner(sender.seal(t, outer, c.hello)))
			c.read()
			c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
			sender.seal(t, outer, c.hello)
			tc.change(outer)
			c.mustFail(c.sendInner(outer.marshal()), tc.alert)
		})
	}
}

// echBody is the hello's encrypted_client_hello.
func (h *rawHello) echBody() []byte {
	return h.extensions[h.index(wire.ExtEncryptedClientHello)].body
}

// TestBackendRetry: 5 "if the payload is the inner variant and the server responds
// with HelloRetryRequest, it MUST include an "encrypted_client_hello" extension", its
// eight bytes and those of ServerHello.random as 7.2 and 7.2.1 compute them.
func TestBackendRetry(t *testing.T) {
	cfg := testConfig(t)
	cfg.ECHBackend = true
	c := newRawClient(t, cfg, mode{})
	c.hello.set(wire.ExtEncryptedClientHello, []byte{byte(wire.ECHInner)})
	c.hello.set(wire.ExtKeyShare, keyShareBody())
	first := c.hello.marshal()
	c.must(c.sendHello())
	c.read()
	c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
	second := c.hello.marshal()
	c.handshake()

	retry, hello := c.flight[0], c.flight[1]
	signal := serverExtension(retry[wire.HeaderBytes+2+32+1+len(c.hello.sessionID)+3:], wire.ExtEncryptedClientHello)
	if len(signal) != ech.ConfirmationBytes {
		t.Fatalf("HelloRetryRequest has %x", signal)
	}
	sent := bytes.Clone(retry)
	got := bytes.Clone(signal)
	clear(signal) // in retry
	c.transcript.Start(c.suite)
	c.transcript.Add(first)
	c.transcript.Retry()
	if want := ech.ConfirmHelloRetryRequest(c.suite.NewHash, c.hello.random[:], c.transcript.SumWith(retry)); !bytes.Equal(got, want[:]) {
		t.Errorf("HelloRetryRequest has %x, want %x", got, want)
	}
	c.transcript.Add(sent)
	c.transcript.Add(second)
	at := wire.ServerHelloConfirmationOffset
	got = bytes.Clone(hello[at : at+ech.ConfirmationBytes])
	clear(hello[at : at+ech.ConfirmationBytes])
	if want := ech.ConfirmServerHello(c.suite.NewHash, c.hello.random[:], c.transcript.SumWith(hello)); !bytes.Equal(got, want[:]) {
		t.Errorf("ServerHello has %x, want %x", got, want)
	}
}

// TestBackendNeedsTLS13: 7.2 "The backend server MUST NOT perform this operation if
// it negotiated TLS 1.2 or below", which this one never does.
func TestBackendNeedsTLS13(t *testing.T) {
	cfg := testConfig(t)
	cfg.ECHBackend = true
	c := newRawClient(t, cfg, mode{})
	c.hello.set(wire.ExtEncryptedClientHello, []byte{byte(wire.ECHInner)})
	c.hello.set(wire.ExtSupportedVersions, vec8(list16(wire.VersionTLS12)))
	c.mustFail(c.sendHello(), wire.AlertProtocolVersion)
}
