package tlsstack

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"testing"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// Every handshake message in every state: exactly one is taken, all others are
// refused with unexpected_message, before anything of them is looked at.

// matrixStates brings a client to each state the machine can be fed in.
var matrixStates = []struct {
	name  string
	takes wire.HandshakeType // the message that fits
	reach func(t *testing.T) *rawClient
}{
	{"hello", wire.TypeClientHello, func(t *testing.T) *rawClient {
		return newRawClient(t, testConfig(t), mode{})
	}},
	{"retry hello", wire.TypeClientHello, func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtKeyShare, keyShareBody())
		c.must(c.sendHello())
		c.read()
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
		return c
	}},
	{"certificate", wire.TypeCertificate, func(t *testing.T) *rawClient {
		c := newRawClient(t, clientAuthConfig(t, ClientAuthRequire), mode{})
		c.must(c.sendHello())
		c.read()
		return c
	}},
	{"verify", wire.TypeCertificateVerify, func(t *testing.T) *rawClient {
		c := newRawClient(t, clientAuthConfig(t, ClientAuthRequire), mode{})
		c.must(c.sendHello())
		c.read()
		c.must(c.message(certificateMessage(c.clientChain()...), true))
		return c
	}},
	{"finished", wire.TypeFinished, func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.must(c.sendHello())
		c.read()
		return c
	}},
	{"finished after authentication", wire.TypeFinished, func(t *testing.T) *rawClient {
		c := newRawClient(t, clientAuthConfig(t, ClientAuthRequire), mode{})
		c.must(c.sendHello())
		c.read()
		c.sendClientAuth(keyP256, wire.SchemeECDSAP256SHA256)
		return c
	}},
	{"established", wire.TypeKeyUpdate, func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		return c
	}},
}

func (c *rawClient) clientChain() [][]byte {
	return sharedCA().leaf(c.t, testKeys[keyP256](), x509.ExtKeyUsageClientAuth)
}

// matrixMessage makes a message that would be right in its own state.
func matrixMessage(c *rawClient, typ wire.HandshakeType) []byte {
	switch typ {
	case wire.TypeClientHello:
		return c.hello.marshal()
	case wire.TypeCertificate:
		return certificateMessage(c.clientChain()...)
	case wire.TypeCertificateVerify:
		if c.suite != nil {
			return c.verifyMessage(keyP256, wire.SchemeECDSAP256SHA256)
		}
		return wire.AppendCertificateVerify(nil, wire.SchemeECDSAP256SHA256, make([]byte, 70))
	case wire.TypeFinished:
		if c.suite != nil && c.out.Protected() {
			return c.finished()
		}
		return wire.AppendFinished(nil, make([]byte, 32))
	case wire.TypeKeyUpdate:
		return wire.AppendKeyUpdate(nil, false)
	}
	return handshakeMessage(typ, []byte("body"))
}

// messageTypes are all types of the registry, and neighbours that are none.
var messageTypes = []wire.HandshakeType{
	0, wire.TypeClientHello, wire.TypeServerHello, 3, wire.TypeNewSessionTicket, wire.TypeEndOfEarlyData,
	wire.TypeEncryptedExtensions, wire.TypeCertificate, 12, wire.TypeCertificateRequest, 14,
	wire.TypeCertificateVerify, 16, wire.TypeFinished, 21, 22, wire.TypeKeyUpdate,
	wire.TypeCompressedCertificate, wire.TypeMessageHash, 255,
}

func TestEveryMessageInEveryState(t *testing.T) {
	for _, s := range matrixStates {
		for _, typ := range messageTypes {
			t.Run(fmt.Sprintf("%s/%d", s.name, typ), func(t *testing.T) {
				c := s.reach(t)
				err := c.feed(c.records(record.Handshake, matrixMessage(c, typ), 0))
				if typ == s.takes {
					c.must(err)
					return
				}
				c.mustFail(err, wire.AlertUnexpectedMessage)
			})
			if typ == s.takes {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d, first byte alone", s.name, typ), func(t *testing.T) {
				c := s.reach(t)
				c.mustFail(c.send(record.Handshake, []byte{byte(typ)}), wire.AlertUnexpectedMessage)
			})
		}
	}
}

// silentStates are those in which no message is taken: what each does with one.
var silentStates = []struct {
	name  string
	reach func(t *testing.T) *rawClient
	check func(c *rawClient, n int, err error) bool
}{
	{"decision", func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		if _, _, err := c.conn.Receive(c.now, c.records(record.Handshake, c.hello.marshal(), 0)); err != nil {
			t.Fatal(err)
		}
		return c
	}, func(c *rawClient, n int, err error) bool { // nothing is looked at before the caller has decided
		return n == 0 && err == nil && c.conn.Wait() == WaitDecision
	}},
	{"closed by the client", func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.handshake()
		if err := c.send(record.Alert, []byte{1, 0}); err != io.EOF {
			t.Fatal(err)
		}
		return c
	}, func(c *rawClient, n int, err error) bool { // RFC 9846, 6.1: "MUST be ignored"
		return n > 0 && err == io.EOF && c.conn.Wait() == WaitNothing
	}},
	{"failed", func(t *testing.T) *rawClient {
		c := newRawClient(t, testConfig(t), mode{})
		c.mustFail(c.send(record.Handshake, []byte{0}), wire.AlertUnexpectedMessage)
		return c
	}, func(c *rawClient, n int, err error) bool { // the first error, for ever
		return n == 0 && err == c.conn.Err() && c.conn.Err().Reason == ReasonUnexpectedMessage
	}},
}

func TestEveryMessageWhereNoneIsTaken(t *testing.T) {
	for _, s := range silentStates {
		for _, typ := range messageTypes {
			t.Run(fmt.Sprintf("%s/%d", s.name, typ), func(t *testing.T) {
				c := s.reach(t)
				queued := c.conn.OutputLen()
				n, plain, err := c.conn.Receive(c.now, c.records(record.Handshake, matrixMessage(c, typ), 0))
				if !s.check(c, n, err) || len(plain) > 0 || c.conn.OutputLen() != queued {
					t.Errorf("%d bytes taken, %d given, %v; %d bytes to send, %d before", n, len(plain), err, c.conn.OutputLen(), queued)
				}
			})
		}
	}
}

// TestKeyUpdateAfterOurClose: only our own direction is closed; the client may
// still change its keys, and is not answered.
func TestKeyUpdateAfterOurClose(t *testing.T) {
	c := newRawClient(t, testConfig(t), mode{})
	c.handshake()
	c.conn.AppendCloseNotify(nil)
	c.must(c.sendKeyUpdate(true))
	c.must(c.send(record.ApplicationData, []byte("late")))
	if string(c.plain) != "late" || c.conn.HasOutput() {
		t.Errorf("received %q, output %v", c.plain, c.conn.HasOutput())
	}
}

// TestEveryMessageCut cuts the one message that fits short and makes it longer:
// decode_error, or a wait for more, never success.
func TestEveryMessageCut(t *testing.T) {
	for _, s := range matrixStates {
		if s.takes == wire.TypeFinished {
			continue // its length is part of what decrypt_error says
		}
		t.Run(s.name, func(t *testing.T) {
			whole := matrixMessage(s.reach(t), s.takes)
			for _, body := range [][]byte{nil, whole[4 : len(whole)-1], append(bytes.Clone(whole[4:]), 0)} {
				c := s.reach(t)
				err := c.feed(c.records(record.Handshake, handshakeMessage(s.takes, body), 0))
				c.mustFail(err, wire.AlertDecodeError)
			}
		})
	}
}

// TestRecordTypesInEveryState: records that never fit, in every state.
func TestRecordTypesInEveryState(t *testing.T) {
	for _, s := range matrixStates {
		for _, typ := range []byte{0, 19, 24, 0x80, 255} {
			c := s.reach(t)
			err := c.feed([]byte{typ, 3, 3, 0, 1, 0})
			var e *Error
			if !errors.As(err, &e) || e.Alert != wire.AlertUnexpectedMessage {
				t.Errorf("%s: record type %d: %v", s.name, typ, err)
			}
		}
	}
}
