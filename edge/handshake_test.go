package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestGroups(t *testing.T) {
	in := serveDev(t, site(t))
	for _, group := range []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256, tls.CurveP384} {
		conf := in.config()
		conf.CurvePreferences = []tls.CurveID{group}
		c, err := in.handshake(conf, nil)
		if err != nil {
			t.Errorf("%v: %v", group, err)
			continue
		}
		if got := c.ConnectionState().CurveID; got != group {
			t.Errorf("%v: agreed on %v", group, got)
		}
		expectPage(t, c)
		c.Close()
	}
}

func TestNoCommonGroup(t *testing.T) {
	in := serveDev(t, site(t))
	conf := in.config()
	conf.CurvePreferences = []tls.CurveID{tls.CurveP521}
	_, err := in.handshake(conf, nil)
	expectAlert(t, err, 40)
}

func TestResumption(t *testing.T) {
	in := serveDev(t, site(t))
	conf := in.config()
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	for i := range 3 {
		c, err := in.handshake(conf, nil)
		if err != nil {
			t.Fatal(err)
		}
		expectPage(t, c) // reads the ticket on the way
		if resumed := c.ConnectionState().DidResume; resumed != (i > 0) {
			t.Errorf("connection %d: resumed %v", i, resumed)
		}
		c.Close()
	}
}

// RFC 7301, 3.2: without overlap the handshake ends with
// no_application_protocol; without the extension HTTP/1.1 is spoken.
func TestALPN(t *testing.T) {
	in := serveDev(t, site(t))
	for _, tc := range []struct {
		offer []string
		want  string // empty with alert 0: none is negotiated
		alert tls.AlertError
	}{
		{nil, "", 0},
		{[]string{"http/1.1"}, "http/1.1", 0},
		{[]string{"foo", "http/1.1"}, "http/1.1", 0},
		{[]string{"http/1.1", "http/1.1"}, "http/1.1", 0},
		{[]string{"foo"}, "", 120},
		{[]string{"h2c"}, "", 120},
		{[]string{"HTTP/1.1"}, "", 120},
		{[]string{"acme-tls/1"}, "", 120},
	} {
		conf := in.config()
		conf.NextProtos = tc.offer
		c, err := in.handshake(conf, nil)
		if tc.alert != 0 {
			expectAlert(t, err, tc.alert)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.offer, err)
			continue
		}
		if got := c.ConnectionState().NegotiatedProtocol; got != tc.want {
			t.Errorf("%q: negotiated %q, want %q", tc.offer, got, tc.want)
		}
		expectPage(t, c)
	}
}

// Only TLS 1.3 is spoken: an older client is told so (RFC 9846, 4.3.1).
func TestOlderVersionsAreRefused(t *testing.T) {
	in := serveDev(t, site(t))
	conf := in.config()
	conf.MinVersion, conf.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	_, err := in.handshake(conf, nil)
	expectAlert(t, err, 70)
}

// A name without a certificate gets the default one, or unrecognized_name where
// that was asked for.
func TestUnknownName(t *testing.T) {
	in := serveDev(t, site(t))
	conf := in.config()
	conf.ServerName = "other.example"
	_, err := in.handshake(conf, nil)
	var mismatch *tls.CertificateVerificationError
	if !errors.As(err, &mismatch) {
		t.Errorf("by default: %v, want the default certificate, which does not fit", err)
	}
	strict := serveDev(t, "--strict-sni", site(t))
	conf = strict.config()
	conf.ServerName = "other.example"
	_, err = strict.handshake(conf, nil)
	expectAlert(t, err, 112)
	// The names it has go on as before.
	c, err := strict.handshake(strict.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, c)
}

// expectAlert wants err to be the peer's fatal alert.
func expectAlert(t *testing.T, err error, want tls.AlertError) {
	t.Helper()
	// crypto/tls wraps an alert that was received in a net.OpError, whose text is
	// all there is of it.
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" && strings.HasSuffix(op.Err.Error(), want.Error()) {
		return
	}
	t.Errorf("error %v, want the alert %d (%v)", err, want, want)
}

// Field case L01: a ClientHello may be cut anywhere by TCP, and spread over records by the
// client (RFC 9846, 5.1). The clients are real, so the handshake is completed.
func TestHelloCuts(t *testing.T) {
	in := serveDev(t, site(t))
	for _, records := range [][]int{nil, {1}, {4}, {5}, {6}, {7}, {8}, {1, 1, 1, 1, 1}, {4, 700, 1, 300}} {
		for _, cut := range []int{0, 1, 4, 5, 6, 9, 100, 1459} {
			t.Run(fmt.Sprintf("records %v, segment %d", records, cut), func(t *testing.T) {
				c, err := in.handshake(in.config(), &cutter{Conn: in.dial(), records: records, cut: cut})
				if err != nil {
					t.Fatal(err)
				}
				if got := c.ConnectionState().CurveID; got != tls.X25519MLKEM768 {
					t.Errorf("group %v: the hello was not the large one", got)
				}
				expectPage(t, c)
				c.Close()
			})
		}
	}
}

// Every place a segment can end, without the pauses: the kernel may join some
// again, which is one more way of cutting.
func TestHelloByteByByte(t *testing.T) {
	in := serveDev(t, site(t))
	c, err := in.handshake(in.config(), &cutter{Conn: in.dial(), every: true})
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, c)
}
