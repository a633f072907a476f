package tlsstack

import (
	"bytes"
	"testing"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// Records that are refused, with the alert they get. Field cases by their names.

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

// TestPlainHTTP: a request that came to the wrong port is named as such, whatever
// it is cut into; where it is one no longer, it is not.
func TestPlainHTTP(t *testing.T) {
	for _, line := range []string{"GET / HTTP/1.1\r\n", "HEAD /", "POST /", "PUT /x", "OPTIONS *", "CONNECT a:1"} {
		for _, chunk := range []int{0, 1} {
			c := newRawClient(t, testConfig(t), mode{chunk: chunk})
			c.mustFail(c.feed([]byte(line)), wire.AlertUnexpectedMessage)
			if c.conn.Err().Reason != ReasonPlainHTTP {
				t.Errorf("%q: %v", line, c.conn.Err())
			}
		}
	}
	for _, line := range []string{"GETS /", "get / HTTP/1.1", "SSH-2.0-x", "\x00\x00\x00\x00\x00"} {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.feed([]byte(line)), wire.AlertUnexpectedMessage)
		if c.conn.Err().Reason == ReasonPlainHTTP {
			t.Errorf("%q: %v", line, c.conn.Err())
		}
	}
}
