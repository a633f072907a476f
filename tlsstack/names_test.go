package tlsstack

import (
	"strings"
	"testing"

	"edge/tlsstack/wire"
)

// TestServerNames is the part of field case S01 that lies here: every spelling of
// a name, the certificate it gets, and the alert if it gets none.
func TestServerNames(t *testing.T) {
	longest := strings.Repeat("a.", 126) + "b" // 253 bytes
	cases := []struct {
		name     string
		body     []byte // nil: no extension
		want     string // normalised
		own      bool   // the certificate is for the name
		strict   wire.Alert
		anyAlert wire.Alert
	}{
		{"plain", serverNameBody(testName), testName, true, 0, 0},
		{"upper case", serverNameBody("SERVER.Example"), testName, true, 0, 0},
		{"trailing dot", serverNameBody(testName + "."), testName, true, 0, 0},
		{"unknown", serverNameBody("other.example"), "other.example", false, wire.AlertUnrecognizedName, 0},
		{"underscore", serverNameBody("foo_bar.example"), "foo_bar.example", false, wire.AlertUnrecognizedName, 0},
		{"punycode", serverNameBody("xn--bcher-kva.example"), "xn--bcher-kva.example", false, wire.AlertUnrecognizedName, 0},
		{"raw UTF-8", serverNameBody("bücher.example"), "bücher.example", false, wire.AlertUnrecognizedName, 0},
		{"IPv4", serverNameBody("192.0.2.1"), "", false, wire.AlertUnrecognizedName, 0},
		{"IPv6", serverNameBody("::1"), "", false, wire.AlertUnrecognizedName, 0},
		{"IPv6 with letters", serverNameBody("fe80::abcd"), "", false, wire.AlertUnrecognizedName, 0},
		{"digits that are no address", serverNameBody("host.7"), "host.7", false, wire.AlertUnrecognizedName, 0},
		{"253 bytes", serverNameBody(longest), longest, false, wire.AlertUnrecognizedName, 0},
		{"254 bytes", serverNameBody(longest + "c"), "", false, wire.AlertUnrecognizedName, 0},
		{"a path", serverNameBody("../../etc/passwd"), "../../etc/passwd", false, wire.AlertUnrecognizedName, 0},
		{"no extension", nil, "", false, 0, 0},
		{"empty name", serverNameBody(""), "", false, 0, wire.AlertDecodeError},
		{"empty list", vec16(nil), "", false, 0, wire.AlertDecodeError},
		{"two names", vec16(append(serverNameBody("a")[2:], serverNameBody("b")[2:]...)), "", false, 0, wire.AlertIllegalParameter},
	}
	for _, tc := range cases {
		for _, strict := range []bool{false, true} {
			cfg := testConfig(t)
			cfg.StrictSNI = strict
			c := newRawClient(t, cfg, mode{})
			if c.hello.set(wire.ExtServerName, tc.body); tc.body == nil {
				c.hello.drop(wire.ExtServerName)
			}
			err := c.sendHello()
			switch {
			case tc.anyAlert != 0:
				c.mustFail(err, tc.anyAlert)
				continue
			case strict && tc.strict != 0:
				c.mustFail(err, tc.strict)
				continue
			}
			c.must(err)
			if info := c.conn.Info(); info.ServerName != tc.want || info.DefaultCert == tc.own {
				t.Errorf("%s, strict %v: name %q, default %v", tc.name, strict, info.ServerName, info.DefaultCert)
			}
		}
	}
}

// TestServerNameAcknowledged: EncryptedExtensions says so if the name decided.
func TestServerNameAcknowledged(t *testing.T) {
	for name, want := range map[string]bool{testName: true, "other.example": false} {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtServerName, serverNameBody(name))
		c.handshake()
		if got := serverExtension(c.flight[1][wire.HeaderBytes:], wire.ExtServerName) != nil; got != want {
			t.Errorf("%s: acknowledged %v", name, got)
		}
	}
}

// TestNoCertificate: a source without a default has nothing to show.
func TestNoCertificate(t *testing.T) {
	cfg := testConfig(t)
	cfg.Certificates.(*fixedSource).fallback = nil
	c := newRawClient(t, cfg, mode{})
	c.hello.set(wire.ExtServerName, serverNameBody("other.example"))
	c.mustFail(c.sendHello(), wire.AlertInternalError)
}

// TestCredentialChoice: the first candidate whose signature the client verifies.
func TestCredentialChoice(t *testing.T) {
	cfg := testConfig(t, keyP256, keyP384, keyRSA, keyEd25519)
	creds := cfg.Certificates.(*fixedSource).creds
	cases := []struct {
		offered []wire.SignatureScheme
		want    *Credential
		scheme  wire.SignatureScheme
	}{
		{clientSchemes, creds[0], wire.SchemeECDSAP256SHA256},
		{[]wire.SignatureScheme{wire.SchemeRSAPSSSHA256, wire.SchemeECDSAP256SHA256}, creds[0], wire.SchemeECDSAP256SHA256},
		{[]wire.SignatureScheme{wire.SchemeECDSAP384SHA384}, creds[1], wire.SchemeECDSAP384SHA384},
		{[]wire.SignatureScheme{wire.SchemeRSAPSSSHA512}, creds[2], wire.SchemeRSAPSSSHA512},
		{[]wire.SignatureScheme{wire.SchemeEd25519}, creds[3], wire.SchemeEd25519},
		{[]wire.SignatureScheme{wire.SchemeRSAPKCS1SHA256, wire.SchemeRSAPSSPSSSHA256, wire.SchemeECDSASHA1}, nil, 0},
	}
	for _, tc := range cases {
		c := newRawClient(t, cfg, mode{})
		c.hello.set(wire.ExtSignatureAlgorithms, vec16(list16(tc.offered...)))
		if tc.want == nil {
			c.mustFail(c.sendHello(), wire.AlertHandshakeFailure)
			continue
		}
		c.handshake()
		if info := c.conn.Info(); info.Credential != tc.want || info.Scheme != tc.scheme {
			t.Errorf("offered %x: scheme %#x", tc.offered, info.Scheme)
		}
	}
}
