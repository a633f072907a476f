package tlsstack

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// Messages that are refused, with the alert they get. Field cases by their names.

// TestKeyUpdateFlood is field case L05 (a) and (b).
func TestKeyUpdateFlood(t *testing.T) {
	t.Run("without progress", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		for range updatesMax {
			c.must(c.sendKeyUpdate(false))
		}
		c.mustFail(c.sendKeyUpdate(false), wire.AlertUnexpectedMessage)
	})
	t.Run("with data", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		for range 2000 {
			c.must(c.sendKeyUpdate(true))
			c.read()
			c.must(c.send(record.ApplicationData, make([]byte, 16384)))
			c.plain, c.flight = nil, nil
		}
		c.talk()
	})
	t.Run("with time", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		for range 2000 {
			c.now = c.now.Add(time.Second)
			c.must(c.sendKeyUpdate(false))
		}
	})
	t.Run("clock goes back", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		c.must(c.sendKeyUpdate(false))
		c.now = c.now.Add(-time.Hour)
		for range updatesMax - 1 {
			c.must(c.sendKeyUpdate(false))
		}
		c.mustFail(c.sendKeyUpdate(false), wire.AlertUnexpectedMessage)
	})
}

// TestKeyUpdateMalformed is field case L05 (c).
func TestKeyUpdateMalformed(t *testing.T) {
	cases := map[string]struct {
		body []byte
		want wire.Alert
	}{
		"value 2":   {[]byte{2}, wire.AlertIllegalParameter},
		"empty":     {nil, wire.AlertDecodeError},
		"two bytes": {[]byte{0, 0}, wire.AlertDecodeError},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inEveryMode(t, func(t *testing.T, m mode) {
				c := newRawClient(t, testConfig(t), m)
				c.handshake()
				msg := handshakeMessage(wire.TypeKeyUpdate, tc.body)
				c.mustFail(c.feed(c.records(record.Handshake, msg, m.split)), tc.want)
			})
		})
	}
}

// TestGluedAcrossKeyChange is field case L07.
func TestGluedAcrossKeyChange(t *testing.T) {
	update := wire.AppendKeyUpdate(nil, false)
	t.Run("Finished and KeyUpdate", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.read()
		c.mustFail(c.send(record.Handshake, append(c.finished(), update...)), wire.AlertUnexpectedMessage)
	})
	t.Run("ClientHello and four bytes", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.send(record.Handshake, append(c.hello.marshal(), 1, 0, 0, 9)), wire.AlertUnexpectedMessage)
	})
	t.Run("KeyUpdate and the start of another message", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		c.mustFail(c.send(record.Handshake, append(bytes.Clone(update), 4, 0, 0, 9)), wire.AlertUnexpectedMessage)
	})
	t.Run("two KeyUpdates", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		c.mustFail(c.send(record.Handshake, append(bytes.Clone(update), update...)), wire.AlertUnexpectedMessage)
	})
	t.Run("Finished in two records", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{split: 18})
		c.handshake()
		c.talk()
	})
	t.Run("data inside a KeyUpdate", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		c.must(c.send(record.Handshake, update[:3]))
		c.mustFail(c.send(record.ApplicationData, []byte("x")), wire.AlertUnexpectedMessage)
	})
	t.Run("alert inside a KeyUpdate", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		c.must(c.send(record.Handshake, update[:3]))
		c.mustFail(c.send(record.Alert, []byte{1, 0}), wire.AlertUnexpectedMessage)
	})
	t.Run("second hello and more", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.read()
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.mustFail(c.send(record.Handshake, append(c.hello.marshal(), 20)), wire.AlertUnexpectedMessage)
	})
}

// TestKeyShares is field case L09.
func TestKeyShares(t *testing.T) {
	retry := func(c *rawClient) {
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.read()
	}
	t.Run("no common group", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtSupportedGroups, vec16(list16[uint16](0x0100, 0x0019)))
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.mustFail(c.sendHello(), wire.AlertHandshakeFailure)
	})
	t.Run("share of a group not listed", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtSupportedGroups, vec16(list16(wire.GroupP256)))
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
	t.Run("two shares of a group", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share(), c.share()))
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
	t.Run("zero share", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtKeyShare, keyShareBody(wire.KeyShare{Group: wire.GroupX25519, Data: make([]byte, 32)}))
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
	t.Run("retry answered without share", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		retry(c)
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
	t.Run("retry answered with another group", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		retry(c)
		c.hello.set(wire.ExtKeyShare, keyShareBody(wire.KeyShare{Group: wire.GroupP256, Data: make([]byte, 65)}))
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
	t.Run("retry answered with two shares", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		retry(c)
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share(), wire.KeyShare{Group: wire.GroupP256, Data: make([]byte, 65)}))
		c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
	})
}

// TestSecondHelloChanged changes each part of the second hello that has to stay.
func TestSecondHelloChanged(t *testing.T) {
	changes := map[string]func(h *rawHello){
		"version":     func(h *rawHello) { h.version = 0x0302 },
		"random":      func(h *rawHello) { h.random[0] ^= 1 },
		"session id":  func(h *rawHello) { h.sessionID = make([]byte, 31) },
		"suites":      func(h *rawHello) { h.suites = h.suites[:2] },
		"server name": func(h *rawHello) { h.set(wire.ExtServerName, serverNameBody("other.example")) },
		"ALPN gone":   func(h *rawHello) { h.drop(wire.ExtALPN) },
		"extension more": func(h *rawHello) {
			h.set(0x1234, []byte("x"))
		},
		"order": func(h *rawHello) { h.extensions[0], h.extensions[1] = h.extensions[1], h.extensions[0] },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			c := newRawClient(t, testConfig(t), mode{})
			c.hello.set(wire.ExtKeyShare, keyShareBody())
			c.must(c.sendHello())
			c.read()
			c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
			change(c.hello)
			c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
		})
	}
	t.Run("what may change", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.hello.set(wire.ExtEarlyData, nil)
		c.must(c.sendHello())
		c.read()
		c.hello.drop(wire.ExtEarlyData)
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.hello.extensions = slices.Insert(c.hello.extensions, 0,
			rawExtension{wire.ExtCookie, vec16([]byte("?"))}, rawExtension{wire.ExtPadding, make([]byte, 9)})
		c.must(c.sendHello())
		c.read()
		c.must(c.sendFinished())
	})
}

// TestALPN is field case L10, and what S08 says of acme-tls/1 (RFC 8737, 3): no name is
// under challenge here, so alone it is refused, and beside others it counts for nothing.
func TestALPN(t *testing.T) {
	cases := map[string]struct {
		body []byte
		want string
		fail wire.Alert
	}{
		"no overlap":  {alpnBody("foo"), "", wire.AlertNoApplicationProtocol},
		"h2c":         {alpnBody("h2c"), "", wire.AlertNoApplicationProtocol},
		"http/1.0":    {alpnBody("http/1.0"), "", wire.AlertNoApplicationProtocol},
		"acme-tls/1":  {alpnBody("acme-tls/1"), "", wire.AlertNoApplicationProtocol},
		"and another": {alpnBody("acme-tls/1", "h2"), "h2", 0},
		"empty list":  {vec16(nil), "", wire.AlertDecodeError},
		"empty name":  {alpnBody("h2", ""), "", wire.AlertDecodeError},
		"twice":       {alpnBody("h2", "h2"), "h2", 0},
		"our order":   {alpnBody("http/1.1", "h2"), "h2", 0},
		"without ext": {nil, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newRawClient(t, testConfig(t), mode{})
			if c.hello.set(wire.ExtALPN, tc.body); tc.body == nil {
				c.hello.drop(wire.ExtALPN)
			}
			if tc.fail != 0 {
				c.mustFail(c.sendHello(), tc.fail)
				return
			}
			c.handshake()
			if got := c.conn.Info().ALPN; got != tc.want {
				t.Errorf("ALPN is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFinishedWrong: any other verify_data is decrypt_error, and the alert is
// under application keys.
func TestFinishedWrong(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		for name, change := range map[string]func([]byte) []byte{
			"bit":   func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"short": func(b []byte) []byte { return handshakeMessage(wire.TypeFinished, b[4:len(b)-1]) },
			"empty": func([]byte) []byte { return handshakeMessage(wire.TypeFinished, nil) },
		} {
			t.Run(name, func(t *testing.T) {
				c := newRawClient(t, testConfig(t), m)
				c.must(c.sendHello())
				c.read()
				c.mustFail(c.feed(c.records(record.Handshake, change(c.finished()), m.split)), wire.AlertDecryptError)
			})
		}
	})
}

// TestVersions: TLS 1.3 or protocol_version, whatever legacy_version says.
func TestVersions(t *testing.T) {
	cases := map[string]struct {
		versions []uint16
		ok       bool
	}{
		"1.3":             {[]uint16{0x0304}, true},
		"GREASE first":    {[]uint16{0x5a5a, 0x0304, 0x0303}, true},
		"1.2 alone":       {[]uint16{0x0303}, false},
		"nothing known":   {[]uint16{0x5a5a, 0x0305}, false},
		"no extension":    {nil, false},
		"SSL 3.0 and 1.3": {[]uint16{0x0300, 0x0304}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newRawClient(t, testConfig(t), mode{})
			if c.hello.set(wire.ExtSupportedVersions, vec8(list16(tc.versions...))); tc.versions == nil {
				c.hello.drop(wire.ExtSupportedVersions)
			}
			if !tc.ok {
				c.mustFail(c.sendHello(), wire.AlertProtocolVersion)
				return
			}
			c.handshake()
		})
	}
}
