package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"testing"
)

// alertCases are hellos that are refused, each with the alert the RFC names.
func alertCases(t *testing.T, in *instance) map[string]struct {
	hello []byte
	want  byte
} {
	with := func(change func(*tls.Config)) []byte {
		conf := in.config()
		change(conf)
		return clientHello(t, conf)
	}
	// ALPN with the one name "a" becomes a list of two empty names.
	emptyNames := with(func(c *tls.Config) { c.NextProtos = []string{"a"} })
	at := bytes.Index(emptyNames, []byte{0, 16, 0, 4, 0, 2, 1, 'a'})
	if at < 0 {
		t.Fatal("the hello has no ALPN extension where it was expected")
	}
	copy(emptyNames[at+6:], []byte{0, 0})
	tooLong := append([]byte{22, 3, 1, 0x48, 0x01}, make([]byte, 200)...)
	return map[string]struct {
		hello []byte
		want  byte
	}{
		"no_application_protocol": {with(func(c *tls.Config) { c.NextProtos = []string{"foo"} }), 120},
		"protocol_version":        {with(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), 70},
		"unrecognized_name":       {with(func(c *tls.Config) { c.ServerName = "other.example" }), 112},
		"decode_error":            {emptyNames, 50},
		"record_overflow":         {tooLong, 22},
		"unexpected_message":      {[]byte{23, 3, 3, 0, 1, 0}, 10},
	}
}

// Field case L13: a fatal alert must reach a client that still has bytes in flight: it reads the
// alert and then the end, never a reset that throws the alert away (RFC 9846,
// 6.2; the reasoning is that of RFC 9112, 9.6).
func TestAlertsArrive(t *testing.T) {
	in := serveDev(t, "--strict-sni", site(t))
	const rounds = 200
	for name, tc := range alertCases(t, in) {
		for _, trailing := range []int{0, 64 << 10} {
			t.Run(fmt.Sprintf("%s, %d bytes behind it", name, trailing), func(t *testing.T) {
				for round := range rounds / 6 {
					expectAlertBytes(t, in, append(bytes.Clone(tc.hello), make([]byte, trailing)...), tc.want, round)
				}
			})
		}
	}
}

func expectAlertBytes(t *testing.T, in *instance, wire []byte, want byte, round int) {
	t.Helper()
	c := in.dial()
	defer c.Close()
	if _, err := c.Write(wire); err != nil {
		t.Fatalf("round %d: writing: %v", round, err)
	}
	got, err := readAlert(c)
	if err != nil || got != want {
		t.Fatalf("round %d: alert %d, %v; want %d", round, got, err, want)
	}
	if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
		t.Fatalf("round %d: %d bytes and %v after the alert; want the end", round, n, err)
	}
}
