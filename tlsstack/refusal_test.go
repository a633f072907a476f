package tlsstack

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// What is refused, with the alert it gets. Field cases by their names.

// TestCCSPlaces is field case L03: change_cipher_spec where it is legal and where
// it is not.
func TestCCSPlaces(t *testing.T) {
	ccs := []byte{20, 3, 3, 0, 1, 1}
	bad := map[string][]byte{
		"body 2": {20, 3, 3, 0, 1, 2}, "two bytes": {20, 3, 3, 0, 2, 1, 1}, "empty": {20, 3, 3, 0, 0},
	}
	inEveryMode(t, func(t *testing.T, m mode) {
		first := newRawClient(t, testConfig(t), m)
		first.mustFail(first.feed(ccs), wire.AlertUnexpectedMessage)

		c := newRawClient(t, testConfig(t), m)
		c.must(c.sendHello())
		c.read()
		for range 20 {
			c.must(c.feed(ccs))
		}
		c.must(c.sendFinished())
		c.mustFail(c.feed(ccs), wire.AlertUnexpectedMessage)

		for name, rec := range bad {
			t.Run(name, func(t *testing.T) {
				c := newRawClient(t, testConfig(t), m)
				c.must(c.sendHello())
				c.read()
				c.mustFail(c.feed(rec), wire.AlertUnexpectedMessage)
			})
		}
	})
	t.Run("inside a message", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.read()
		c.must(c.send(record.Handshake, c.finished()[:10]))
		c.mustFail(c.feed(ccs), wire.AlertUnexpectedMessage)
	})
	t.Run("before the second hello", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.must(c.feed(ccs))
		c.read()
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.must(c.sendHello())
		c.read()
		c.must(c.sendFinished())
	})
	t.Run("too many", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.read()
		c.mustFail(c.feed(bytes.Repeat(ccs, ccsMax+1)), wire.AlertUnexpectedMessage)
	})
	t.Run("without session id", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.sessionID = nil
		c.handshake() // readServerHello checks that nothing is echoed
	})
}

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

// TestRecordLimits is field case L08.
func TestRecordLimits(t *testing.T) {
	established := func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		return c
	}
	t.Run("largest record", func(t *testing.T) {
		c := established(t)
		c.must(c.send(record.ApplicationData, make([]byte, record.PlaintextMax)))
		if len(c.plain) != record.PlaintextMax {
			t.Errorf("%d bytes", len(c.plain))
		}
	})
	t.Run("ciphertext too long", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.feed([]byte{23, 3, 3, 0x41, 1}), wire.AlertRecordOverflow)
	})
	t.Run("plaintext too long", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.feed([]byte{22, 3, 1, 0x40, 1}), wire.AlertRecordOverflow)
	})
	t.Run("empty application data", func(t *testing.T) {
		c := established(t)
		for range 5 {
			for range emptiesMax {
				c.must(c.send(record.ApplicationData, nil))
			}
			c.must(c.send(record.ApplicationData, []byte("x")))
		}
		for range emptiesMax {
			c.must(c.send(record.ApplicationData, nil))
		}
		c.mustFail(c.send(record.ApplicationData, nil), wire.AlertUnexpectedMessage)
	})
	t.Run("empty handshake record", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.feed([]byte{22, 3, 1, 0, 0}), wire.AlertUnexpectedMessage)
		c = established(t)
		c.mustFail(c.send(record.Handshake, nil), wire.AlertUnexpectedMessage)
	})
	t.Run("empty alert", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.send(record.Alert, nil), wire.AlertUnexpectedMessage)
	})
	t.Run("unknown inner type", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.send(24, []byte("x")), wire.AlertUnexpectedMessage)
		c = established(t)
		c.mustFail(c.send(record.ChangeCipherSpec, []byte{1}), wire.AlertUnexpectedMessage)
	})
	t.Run("forged record", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.feed(append([]byte{23, 3, 3, 0, 20}, make([]byte, 20)...)), wire.AlertBadRecordMAC)
	})
	t.Run("unprotected handshake record", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.feed([]byte{22, 3, 3, 0, 5, 24, 0, 0, 1, 0}), wire.AlertUnexpectedMessage)
	})
	t.Run("application data before Finished", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.read()
		c.mustFail(c.send(record.ApplicationData, []byte("x")), wire.AlertUnexpectedMessage)
	})
	t.Run("application data before the hello", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.feed([]byte{23, 3, 3, 0, 1, 0}), wire.AlertUnexpectedMessage)
	})
	t.Run("hello too long", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.feed([]byte{22, 3, 1, 0, 4, 1, 1, 0, 0}), wire.AlertDecodeError)
	})
	t.Run("hello over the configured limit", func(t *testing.T) {
		cfg := testConfig(t)
		cfg.HelloBytesMax = 200
		c := newRawClient(t, cfg, mode{})
		c.hello.set(wire.ExtPadding, make([]byte, 200))
		c.mustFail(c.sendHello(), wire.AlertDecodeError)
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

// TestALPN is field case L10.
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

// TestEarlyDataTooLong is field case L11, the part that fails.
func TestEarlyDataTooLong(t *testing.T) {
	junk := append([]byte{23, 3, 3, 0x40, 0}, make([]byte, 0x4000)...)
	for _, retry := range []bool{false, true} {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtEarlyData, nil)
		if retry {
			c.hello.set(wire.ExtKeyShare, keyShareBody())
		}
		c.must(c.sendHello())
		c.read()
		c.must(c.feed(bytes.Clone(junk)))
		c.mustFail(c.feed(bytes.Clone(junk)), wire.AlertUnexpectedMessage)
	}
	t.Run("after the second hello nothing is skipped", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtEarlyData, nil)
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.hello.drop(wire.ExtEarlyData)
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		c.read()
		c.must(c.sendHello())
		c.read()
		c.mustFail(c.feed(junk[:5+0x4000]), wire.AlertBadRecordMAC)
	})
	t.Run("not announced", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.read()
		c.mustFail(c.feed(bytes.Clone(junk)), wire.AlertBadRecordMAC)
	})
	t.Run("after a record that opened", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtEarlyData, nil)
		c.must(c.sendHello())
		c.read()
		c.must(c.send(record.Handshake, c.finished()[:5]))
		c.mustFail(c.feed(bytes.Clone(junk)), wire.AlertBadRecordMAC)
	})
}

// TestPeerAlerts is field case L15, the parts about alerts.
func TestPeerAlerts(t *testing.T) {
	established := func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		return c
	}
	t.Run("user_canceled is no end", func(t *testing.T) {
		c := established(t)
		for range warningsMax {
			c.must(c.send(record.Alert, []byte{1, 90}))
		}
		c.talk()
		c.mustFail(c.send(record.Alert, []byte{1, 90}), wire.AlertUnexpectedMessage)
	})
	t.Run("three bytes", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.send(record.Alert, []byte{1, 0, 0}), wire.AlertDecodeError)
	})
	t.Run("plaintext with keys", func(t *testing.T) {
		c := established(t)
		c.mustFail(c.feed([]byte{21, 3, 3, 0, 2, 1, 0}), wire.AlertUnexpectedMessage)
	})
	for _, protected := range []bool{false, true} {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		if protected {
			c.read()
		} else {
			c.conn.AppendOutput(nil)
		}
		err := c.send(record.Alert, []byte{2, 40})
		e, ok := err.(*Error)
		if !ok || e.Origin != Peer || e.Alert != wire.AlertHandshakeFailure || c.conn.HasOutput() {
			t.Errorf("fatal alert, protected %v: %v, output %v", protected, err, c.conn.HasOutput())
		}
	}
	t.Run("close_notify instead of a hello", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustClose(c.send(record.Alert, []byte{1, 0}))
	})
	t.Run("unprotected close_notify while keys are there", func(t *testing.T) {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.conn.AppendOutput(nil)
		if err := c.send(record.Alert, []byte{1, 0}); err == nil || c.conn.Err() == nil {
			t.Errorf("taken for a close: %v", err)
		}
	})
}

// TestTruncation is field case L15 (b): an end without close_notify is seen.
func TestTruncation(t *testing.T) {
	c := newRawClient(t, testConfig(t), mode{})
	c.handshake()
	err := c.conn.ReceiveEOF()
	e, ok := err.(*Error)
	if !ok || e.Reason != ReasonTruncated || e.Origin != Peer || c.conn.HasOutput() {
		t.Errorf("%v", err)
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
