package ech_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"edge/ech"
	"edge/tlsstack/wire"
)

// hexBytes is a byte string that vectors hold in hex.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// serverKey is a server's config and raw private key.
type serverKey struct {
	Config  hexBytes `json:"config_hex"`
	Private hexBytes `json:"private_key_hex"`
}

// expectation is what must come of a hello.
type expectation struct {
	Outcome    string
	Alert      string
	AlsoAlerts []string `json:"alert_also_acceptable"`
	KeyIndex   int      `json:"key_index"`
	Inner      hexBytes `json:"inner_client_hello_hex"`
	Retry      any      `json:"retry_configs_in_encrypted_extensions"` // a boolean, once as a string
}

// helloVector is one hello, or the two of a handshake with HelloRetryRequest.
type helloVector struct {
	Name       string
	ServerKeys []serverKey `json:"server_keys"`
	Hello      hexBytes    `json:"client_hello_hex"`
	Hello2     hexBytes    `json:"client_hello2_hex"`
	Expect     expectation
	Expect2    expectation
}

func readVectors[T any](t testing.TB, path string) []T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../testvectors", path))
	var list []T
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatal(path, err)
	}
	return list
}

// keySet makes a set of current keys.
func keySet(t testing.TB, server []serverKey) *ech.Set {
	t.Helper()
	var keys []*ech.Key
	for _, k := range server {
		key, err := ech.NewKey(k.Config, k.Private)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	set, err := ech.NewSet(keys)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// attempt opens a first hello as a server does.
func attempt(set *ech.Set, msg []byte, b *ech.Buffers) (ech.Outcome, *ech.Context, []byte, error) {
	var outer, inner wire.ClientHello
	if err := wire.ParseClientHello(msg, &outer); err != nil {
		return 0, nil, nil, err
	}
	outcome, ctx, err := set.Open(&outer, &inner, b)
	return outcome, ctx, inner.Raw, err
}

// checkAlert compares an error with the alert that was expected.
func checkAlert(t *testing.T, name string, err error, want expectation) {
	t.Helper()
	var we *wire.Error
	if !errors.As(err, &we) {
		t.Errorf("%s: %v instead of %s", name, err, want.Alert)
		return
	}
	if got := we.Alert.String(); got != want.Alert && !slices.Contains(want.AlsoAlerts, got) {
		t.Errorf("%s: %v instead of %s", name, we, want.Alert)
	}
}

// TestServerVectors runs the hellos that are accepted, rejected and refused. Each
// names the rule of RFC 9849 it is for.
func TestServerVectors(t *testing.T) {
	var b ech.Buffers
	for _, file := range []string{"server_accept", "server_reject", "server_alert"} {
		for _, v := range readVectors[helloVector](t, "ech/"+file+".json") {
			set := keySet(t, v.ServerKeys)
			outcome, ctx, inner, err := attempt(set, v.Hello, &b)
			checkOutcome(t, v.Name, set, outcome, ctx, inner, err, v.Expect)
		}
	}
}

func checkOutcome(t *testing.T, name string, set *ech.Set, outcome ech.Outcome, ctx *ech.Context,
	inner []byte, err error, want expectation) {
	t.Helper()
	if want.Outcome == "alert" {
		checkAlert(t, name, err, want)
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	switch want.Outcome {
	case "accept":
		if outcome != ech.Accepted || ctx.Key != set.Keys()[want.KeyIndex] || string(inner) != string(want.Inner) {
			t.Errorf("%s: %v, inner hello %x", name, outcome, inner)
		}
	case "reject":
		retry := set.RetryConfigs(time.Now()) != nil
		if outcome != ech.Rejected || ctx != nil || want.Retry != retry && want.Retry != "True" {
			t.Errorf("%s: %v, retry configs %v", name, outcome, retry)
		}
	case "no-ech":
		if outcome != ech.None {
			t.Errorf("%s: %v", name, outcome)
		}
	default:
		t.Errorf("%s: unknown outcome %q", name, want.Outcome)
	}
}

// TestHelloRetryVectors opens second hellos with the context of the first
// (RFC 9849, 7.1.1).
func TestHelloRetryVectors(t *testing.T) {
	var b ech.Buffers
	for _, v := range readVectors[helloVector](t, "ech/server_hrr.json") {
		set := keySet(t, v.ServerKeys)
		outcome, ctx, inner, err := attempt(set, v.Hello, &b)
		checkOutcome(t, v.Name, set, outcome, ctx, inner, err, v.Expect)
		if ctx == nil {
			continue // rejected: the second is not opened
		}
		var outer2, inner2 wire.ClientHello
		if err = wire.ParseClientHello(v.Hello2, &outer2); err == nil {
			err = ctx.OpenSecond(&outer2, &inner2, &b)
		}
		checkOutcome(t, v.Name+", second", set, ech.Accepted, ctx, inner2.Raw, err, v.Expect2)
	}
}
