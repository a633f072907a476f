package ech_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"testing"
	"time"

	"edge/ech"
	"edge/tlsstack/wire"
)

// confirmVector is the messages of an accepted handshake; those with
// HelloRetryRequest have the second hello and the request too.
type confirmVector struct {
	Name    string
	Hash    string
	Inner1  hexBytes `json:"inner_client_hello_hex"`
	Server  hexBytes `json:"server_hello_hex"`
	Accept  hexBytes `json:"accept_confirmation_hex"`
	Inner2  hexBytes `json:"inner_client_hello2_hex"`
	Request hexBytes `json:"hello_retry_request_hex"`
	HRR     hexBytes `json:"hrr_accept_confirmation_hex"`
}

// TestConfirmationVectors computes the signals of captured handshakes
// (RFC 9849, 7.2 and 7.2.1), and opens their hellos where those are given.
func TestConfirmationVectors(t *testing.T) {
	retries := 0
	for _, file := range []string{"accept_confirmation", "accept_confirmation_sha384"} {
		for _, v := range readVectors[confirmVector](t, "ech/"+file+".json") {
			transcript, newHash := v.transcript(t)
			if v.Request != nil {
				retries++
				v.checkRetry(t, transcript, newHash)
				transcript.Write(v.Request)
				transcript.Write(v.Inner2)
			} else {
				transcript.Write(v.Inner1)
			}
			hello := bytes.Clone(v.Server)
			clear(hello[wire.ServerHelloConfirmationOffset:][:ech.ConfirmationBytes])
			transcript.Write(hello)
			got := ech.ConfirmServerHello(newHash, random(t, v.Inner1), transcript.Sum(nil))
			if !bytes.Equal(got[:], v.Accept) ||
				!bytes.Equal(got[:], v.Server[wire.ServerHelloConfirmationOffset:][:ech.ConfirmationBytes]) {
				t.Errorf("%s: %x instead of %x", v.Name, got, v.Accept)
			}
		}
	}
	if retries == 0 {
		t.Error("no vector with a HelloRetryRequest")
	}
}

// transcript returns a running hash which, if a retry follows, begins with the
// message that stands for the first hello.
func (v *confirmVector) transcript(t *testing.T) (hash.Hash, func() hash.Hash) {
	t.Helper()
	newHash := map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384}[v.Hash]
	if newHash == nil {
		t.Fatalf("%s: hash %q", v.Name, v.Hash)
	}
	transcript := newHash()
	if v.Request != nil {
		transcript.Write(v.Inner1)
		synthetic := wire.AppendMessageHash(nil, transcript.Sum(nil))
		transcript.Reset()
		transcript.Write(synthetic)
	}
	return transcript, newHash
}

// checkRetry computes the signal of the HelloRetryRequest, in which it is the
// last extension or not. The transcript is left as it was.
func (v *confirmVector) checkRetry(t *testing.T, transcript hash.Hash, newHash func() hash.Hash) {
	t.Helper()
	fork, err := transcript.(hash.Cloner).Clone()
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(v.Request, v.HRR)
	zeroed := bytes.Clone(v.Request)
	clear(zeroed[at : at+ech.ConfirmationBytes])
	fork.Write(zeroed)
	got := ech.ConfirmHelloRetryRequest(newHash, random(t, v.Inner1), fork.Sum(nil))
	if !bytes.Equal(got[:], v.HRR) {
		t.Errorf("%s: %x instead of %x", v.Name, got, v.HRR)
	}
}

func random(t *testing.T, hello []byte) []byte {
	t.Helper()
	var h wire.ClientHello
	if err := wire.ParseClientHello(hello, &h); err != nil {
		t.Fatal(err)
	}
	return h.Random
}

// TestConfirmationHandshakes opens both hellos of the captured handshakes.
func TestConfirmationHandshakes(t *testing.T) {
	type handshake struct {
		Name       string
		Outer1     hexBytes    `json:"outer_client_hello_hex"`
		Outer2     hexBytes    `json:"outer_client_hello2_hex"`
		Inner1     hexBytes    `json:"inner_client_hello_hex"`
		Inner2     hexBytes    `json:"inner_client_hello2_hex"`
		ServerKeys []serverKey `json:"server_keys"`
	}
	var b ech.Buffers
	for _, v := range readVectors[handshake](t, "ech/accept_confirmation.json") {
		outcome, ctx, inner, err := attempt(keySet(t, v.ServerKeys), v.Outer1, &b)
		if err != nil || outcome != ech.Accepted || !bytes.Equal(inner, v.Inner1) {
			t.Fatalf("%s: %v %v", v.Name, outcome, err)
		}
		if v.Outer2 == nil {
			continue
		}
		var outer2, inner2 wire.ClientHello
		if err := wire.ParseClientHello(v.Outer2, &outer2); err != nil {
			t.Fatal(v.Name, err)
		}
		if err := ctx.OpenSecond(&outer2, &inner2, &b); err != nil || !bytes.Equal(inner2.Raw, v.Inner2) {
			t.Errorf("%s, second: %v", v.Name, err)
		}
	}
}

// TestRetryVectors compares the retry configs with those of captured handshakes
// whose client had a stale config (RFC 9849, 7.1).
func TestRetryVectors(t *testing.T) {
	type handshake struct {
		Name       string
		Outer      hexBytes    `json:"outer_client_hello_hex"`
		Retry      hexBytes    `json:"retry_config_list_hex"`
		ServerKeys []serverKey `json:"server_keys"`
	}
	var b ech.Buffers
	for _, v := range readVectors[handshake](t, "ech/retry_handshake.json") {
		set := keySet(t, v.ServerKeys)
		outcome, _, _, err := attempt(set, v.Outer, &b)
		if err != nil || outcome != ech.Rejected {
			t.Errorf("%s: %v %v", v.Name, outcome, err)
		}
		if got := set.RetryConfigs(time.Now()); !bytes.Equal(got, v.Retry) {
			t.Errorf("%s: retry configs %x", v.Name, got)
		}
	}
}
