package keys

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"errors"
	"slices"
	"testing"

	"edge/tlsstack/wire"

	"github.com/cloudflare/circl/kem/mlkem/mlkem768"
)

// TestExchangeRFC8448 makes the server's shares of the traces from their private
// keys and compares the secret.
func TestExchangeRFC8448(t *testing.T) {
	for _, tr := range readTraces(t) {
		group, private, peer := wire.GroupX25519, tr.ServerX25519, tr.ClientX25519
		if tr.ServerP256 != "" {
			group, private, peer = wire.GroupP256, tr.ServerP256, tr.ClientP256
		}
		var x Exchange
		if err := x.Respond(group, unhex(t, peer), bytes.NewReader(unhex(t, private))); err != nil {
			t.Fatalf("%s: %v", tr.Name, err)
		}
		tr.check(t, "ecdhe_shared_secret", x.Shared())
		hello := unhex(t, tr.Messages[serverHelloAt(&tr)].Message)
		if !bytes.Contains(hello, x.Share()) {
			t.Errorf("%s: the share is not the one of the trace", tr.Name)
		}
	}
}

func serverHelloAt(tr *rfcTrace) int {
	for i, m := range tr.Messages {
		if m.Type == "ServerHello" {
			return i
		}
	}
	return 0
}

// TestX25519Wycheproof runs the odd public keys: secrets as they should be, and
// all-zero ones refused (RFC 9846, 7.4.2).
func TestX25519Wycheproof(t *testing.T) {
	var file struct {
		TestGroups []struct {
			Tests []struct {
				TcID                    int
				Flags                   []string
				Public, Private, Shared string
			}
		}
	}
	readVectors(t, &file, "wycheproof", "x25519_subset.json")
	refused := 0
	for _, g := range file.TestGroups {
		for _, c := range g.Tests {
			var x Exchange
			err := x.Respond(wire.GroupX25519, unhex(t, c.Public), bytes.NewReader(unhex(t, c.Private)))
			if slices.Contains(c.Flags, "ZeroSharedSecret") {
				refused++
				if err != errShareZero {
					t.Errorf("case %d: %v, want the all-zero secret refused", c.TcID, err)
				}
				continue
			}
			if err != nil || !bytes.Equal(x.Shared(), unhex(t, c.Shared)) {
				t.Errorf("case %d: %x, %v, want %s", c.TcID, x.Shared(), err, c.Shared)
			}
		}
	}
	if refused == 0 {
		t.Error("no case leads to an all-zero secret")
	}
}

// TestHybridAgrees plays the client of X25519MLKEM768.
func TestHybridAgrees(t *testing.T) {
	public, private, err := mlkem768.GenerateKeyPair(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	share := make([]byte, mlkem768.PublicKeySize)
	public.Pack(share)
	share = append(share, own.PublicKey().Bytes()...)

	var x Exchange
	if err := x.Respond(wire.GroupX25519MLKEM768, share, rand.Reader); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, mlkem768.SharedKeySize)
	private.DecapsulateTo(want, x.Share()[:mlkem768.CiphertextSize])
	peer, err := ecdh.X25519().NewPublicKey(x.Share()[mlkem768.CiphertextSize:])
	if err != nil {
		t.Fatal(err)
	}
	classic, err := own.ECDH(peer)
	if err != nil {
		t.Fatal(err)
	}
	if want = append(want, classic...); !bytes.Equal(want, x.Shared()) {
		t.Errorf("client has %x, server %x", want, x.Shared())
	}

	// An ML-KEM key with a coefficient that is not reduced (FIPS 203, 7.2).
	share[0], share[1] = 0xff, share[1]|0x0f
	if err := x.Respond(wire.GroupX25519MLKEM768, share, rand.Reader); err != errShareMLKEM {
		t.Errorf("key that is not reduced: %v", err)
	}
}

// TestSharesRefused is field case L09 (f): whatever is no share of the group is
// illegal_parameter.
func TestSharesRefused(t *testing.T) {
	offCurve := append([]byte{4}, bytes.Repeat([]byte{1}, 64)...)
	cases := map[string]struct {
		group wire.Group
		share []byte
	}{
		"x25519 short":      {wire.GroupX25519, make([]byte, 31)},
		"x25519 long":       {wire.GroupX25519, make([]byte, 33)},
		"x25519 zero":       {wire.GroupX25519, make([]byte, 32)},
		"hybrid short":      {wire.GroupX25519MLKEM768, make([]byte, 1215)},
		"hybrid zero point": {wire.GroupX25519MLKEM768, make([]byte, 1216)},
		"p256 off curve":    {wire.GroupP256, offCurve},
		"p256 infinity":     {wire.GroupP256, []byte{0}},
		"p256 empty":        {wire.GroupP256, nil},
		"p256 compressed":   {wire.GroupP256, append([]byte{2}, bytes.Repeat([]byte{1}, 32)...)},
		"p384 off curve":    {wire.GroupP384, append([]byte{4}, bytes.Repeat([]byte{1}, 96)...)},
		"p521 off curve":    {wire.GroupP521, append([]byte{4}, make([]byte, 132)...)},
	}
	for name, c := range cases {
		var x Exchange
		err := x.Respond(c.group, c.share, rand.Reader)
		var w *wire.Error
		if !errors.As(err, &w) || w.Alert != wire.AlertIllegalParameter {
			t.Errorf("%s: %v, want illegal_parameter", name, err)
		}
	}
}

// TestRandomnessFails: without randomness there is no share.
func TestRandomnessFails(t *testing.T) {
	key, err := ecdh.P384().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shares := map[wire.Group][]byte{
		wire.GroupX25519: bytes.Repeat([]byte{9}, 32),
		wire.GroupP384:   key.PublicKey().Bytes(),
	}
	for g, share := range shares {
		var x Exchange
		if err := x.Respond(g, share, bytes.NewReader(make([]byte, 5))); err == nil {
			t.Errorf("group %#x: a share without randomness", g)
		}
	}
	// A reader that never gives a scalar in range does not hang.
	var x Exchange
	if err := x.Respond(wire.GroupP384, shares[wire.GroupP384], endless(0xff)); err == nil {
		t.Error("a scalar above the order was used")
	}
}

// endless is a reader of one byte value.
type endless byte

func (e endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(e)
	}
	return len(b), nil
}
