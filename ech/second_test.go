package ech_test

import (
	"bytes"
	"testing"

	"edge/ech"
	"edge/tlsstack/wire"
)

// The second ClientHello, after a HelloRetryRequest (RFC 9849, 7.1.1).

// retrySession is a client whose first hello was accepted.
type retrySession struct {
	*client
	ctx *ech.Context
	buf ech.Buffers
}

func startRetry(t *testing.T, key *ech.Key) *retrySession {
	t.Helper()
	s := &retrySession{client: newClient(t, &key.Config, ech.Suites[0])}
	msg := s.seal(t, newOuter(), newInner(groups, keyShare, schemes).body())
	var outer, inner wire.ClientHello
	if err := wire.ParseClientHello(msg, &outer); err != nil {
		t.Fatal(err)
	}
	outcome, ctx, err := newSet(t, key).Open(&outer, &inner, &s.buf)
	if outcome != ech.Accepted || err != nil {
		t.Fatal(outcome, err)
	}
	s.ctx = ctx
	return s
}

// second opens a second hello.
func (s *retrySession) second(t *testing.T, msg []byte) (*wire.ClientHello, error) {
	t.Helper()
	var outer, inner wire.ClientHello
	if err := wire.ParseClientHello(msg, &outer); err != nil {
		t.Fatal(err)
	}
	return &inner, s.ctx.OpenSecond(&outer, &inner, &s.buf)
}

// TestSecondHello: "it decrypts the new ECHClientHello.payload as a second message
// with the previous HPKE context", "using the second ClientHelloOuter for any
// referenced extensions", whatever the config_id.
func TestSecondHello(t *testing.T) {
	for _, id := range []uint8{0, 1, 0x5a, 0xff} {
		var taken []uint8
		for n := range 256 {
			if uint8(n) != id {
				taken = append(taken, uint8(n))
			}
		}
		s := startRetry(t, generate(t, ech.KeyParameters{Taken: taken}))
		outer := newOuter()
		cookie := extension{wire.ExtCookie, []byte{0, 1, 42}}
		outer.extensions = append(outer.extensions, cookie)
		inner, err := s.second(t, s.seal(t, outer, newInner(outerExtensions(wire.ExtCookie), groups, keyShare, schemes).body()))
		if err != nil || !bytes.Equal(inner.Cookie, []byte{42}) {
			t.Errorf("config_id %d: %v, cookie %x", id, err, inner.Cookie)
		}
	}
}

// TestSecondHelloRefused: "it checks the second ClientHelloOuter also contains the
// "encrypted_client_hello" extension. If not, it MUST abort the handshake with a
// "missing_extension" alert. Otherwise, it checks that
// ECHClientHello.cipher_suite and ECHClientHello.config_id are unchanged, and that
// ECHClientHello.enc is empty. If not, it MUST abort the handshake with an
// "illegal_parameter" alert. […] If decryption fails, the client-facing server
// MUST abort the handshake with a "decrypt_error" alert."
func TestSecondHelloRefused(t *testing.T) {
	key := generate(t, ech.KeyParameters{})
	encoded := newInner(groups, keyShare, schemes).body()
	for _, c := range []struct {
		what   string
		alert  wire.Alert
		change func(*retrySession) []byte
	}{
		{"missing", wire.AlertMissingExtension, func(s *retrySession) []byte {
			plain := newOuter()
			plain.extensions = plain.extensions[:5]
			return plain.message()
		}},
		{"other suite", wire.AlertIllegalParameter, func(s *retrySession) []byte {
			s.suite = ech.Suites[1]
			return s.seal(t, newOuter(), encoded)
		}},
		{"other config_id", wire.AlertIllegalParameter, func(s *retrySession) []byte {
			s.id++
			return s.seal(t, newOuter(), encoded)
		}},
		{"enc again", wire.AlertIllegalParameter, func(s *retrySession) []byte {
			s.enc = make([]byte, 32)
			return s.seal(t, newOuter(), encoded)
		}},
		{"type inner", wire.AlertIllegalParameter, func(s *retrySession) []byte {
			outer := newOuter()
			outer.extensions[5].body = []byte{1}
			return outer.message()
		}},
		{"corrupt", wire.AlertDecryptError, func(s *retrySession) []byte {
			msg := s.seal(t, newOuter(), encoded)
			msg[len(msg)-1]++
			return msg
		}},
		{"new context", wire.AlertDecryptError, func(s *retrySession) []byte {
			fresh := newClient(t, &key.Config, ech.Suites[0])
			fresh.enc = nil
			return fresh.seal(t, newOuter(), encoded)
		}},
		{"a message skipped", wire.AlertDecryptError, func(s *retrySession) []byte {
			s.seal(t, newOuter(), encoded)
			return s.seal(t, newOuter(), encoded)
		}},
		{"padding", wire.AlertIllegalParameter, func(s *retrySession) []byte {
			return s.seal(t, newOuter(), append(bytes.Clone(encoded), 1))
		}},
		{"TLS 1.2 inside", wire.AlertIllegalParameter, func(s *retrySession) []byte {
			inner := newInner(groups, keyShare, schemes)
			inner.extensions[1].body = []byte{4, 3, 4, 3, 3}
			return s.seal(t, newOuter(), inner.body())
		}},
	} {
		s := startRetry(t, key)
		_, err := s.second(t, c.change(s))
		wantAlert(t, c.what, err, c.alert)
	}
}
