package tlsstack

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// clientLeaf issues a client certificate that change has altered.
func clientLeaf(t *testing.T, kind keyKind, change func(*x509.Certificate)) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "client"},
		NotBefore: testTime.AddDate(0, -1, 0), NotAfter: testTime.AddDate(0, 1, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if change != nil {
		change(template)
	}
	ca := sharedCA()
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, testKeys[kind]().Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// selfSigned is a certificate of nobody's authority.
func selfSigned(t *testing.T) []byte {
	t.Helper()
	key := testKeys[keyP256]()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(8), Subject: pkix.Name{CommonName: "stranger"},
		NotBefore: testTime.AddDate(0, -1, 0), NotAfter: testTime.AddDate(0, 1, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// longRSA is a certificate with an RSA key of so many bits, which nobody has the
// private half of.
func longRSA(t *testing.T, bits uint) []byte {
	t.Helper()
	n := new(big.Int).Lsh(big.NewInt(1), bits-1)
	public := &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}
	template := &x509.Certificate{SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: "long"},
		NotBefore: testTime.AddDate(0, -1, 0), NotAfter: testTime.AddDate(0, 1, 0)}
	ca := sharedCA()
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, public, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestClientCertificates(t *testing.T) {
	good := clientLeaf(t, keyP256, nil)
	cases := map[string]struct {
		chain [][]byte
		want  wire.Alert
	}{
		"good":             {[][]byte{good}, 0},
		"with its issuer":  {[][]byte{good, sharedCA().cert.Raw}, 0},
		"none":             {nil, wire.AlertCertificateRequired},
		"stranger":         {[][]byte{selfSigned(t)}, wire.AlertUnknownCA},
		"garbage":          {[][]byte{[]byte("garbage")}, wire.AlertDecodeError},
		"garbage behind":   {[][]byte{good, []byte("garbage")}, wire.AlertDecodeError},
		"long RSA behind":  {[][]byte{good, longRSA(t, 8192)}, 0},
		"longer RSA":       {[][]byte{longRSA(t, 8193)}, wire.AlertUnsupportedCertificate},
		"longest behind":   {[][]byte{good, longRSA(t, 200000)}, wire.AlertUnsupportedCertificate},
		"seventeen":        {manyCopies(good, 17), wire.AlertBadCertificate},
		"over the limit":   {manyCopies(make([]byte, 4<<10), 10), wire.AlertDecodeError},
		"expired":          {[][]byte{clientLeaf(t, keyP256, func(c *x509.Certificate) { c.NotAfter = testTime.Add(-time.Hour) })}, wire.AlertCertificateExpired},
		"not yet valid":    {[][]byte{clientLeaf(t, keyP256, func(c *x509.Certificate) { c.NotBefore = testTime.Add(time.Hour) })}, wire.AlertCertificateExpired},
		"for servers":      {[][]byte{clientLeaf(t, keyP256, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}, wire.AlertUnsupportedCertificate},
		"not for signing":  {[][]byte{clientLeaf(t, keyP256, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment })}, wire.AlertUnsupportedCertificate},
		"SHA-1":            {[][]byte{clientLeaf(t, keyP256, func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 })}, wire.AlertBadCertificate},
		"without purposes": {[][]byte{clientLeaf(t, keyP256, func(c *x509.Certificate) { c.ExtKeyUsage, c.KeyUsage = nil, 0 })}, 0},
	}
	cfg := clientAuthConfig(t, ClientAuthRequire)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inEveryMode(t, func(t *testing.T, m mode) {
				c := newRawClient(t, cfg, m)
				c.must(c.sendHello())
				c.read()
				err := c.message(certificateMessage(tc.chain...), tc.want != 0)
				if tc.want != 0 {
					c.mustFail(err, tc.want)
					return
				}
				c.must(err)
				c.must(c.message(c.verifyMessage(keyP256, wire.SchemeECDSAP256SHA256), false))
				c.must(c.sendFinished())
				c.talk()
			})
		})
	}
}

func manyCopies(der []byte, n int) [][]byte {
	var out [][]byte
	for range n {
		out = append(out, der)
	}
	return out
}

// TestClientSignatures: every kind of key, and signatures that are not right.
func TestClientSignatures(t *testing.T) {
	cfg := clientAuthConfig(t, ClientAuthRequest)
	good := map[wire.SignatureScheme]keyKind{
		wire.SchemeECDSAP256SHA256: keyP256, wire.SchemeECDSAP384SHA384: keyP384, wire.SchemeECDSAP521SHA512: keyP521,
		wire.SchemeRSAPSSSHA256: keyRSA, wire.SchemeRSAPSSSHA384: keyRSA, wire.SchemeRSAPSSSHA512: keyRSA,
		wire.SchemeEd25519: keyEd25519,
	}
	begin := func(t *testing.T, kind keyKind) *rawClient {
		c := newRawClient(t, cfg, mode{})
		c.must(c.sendHello())
		c.read()
		c.must(c.message(certificateMessage(clientLeaf(t, kind, nil)), true))
		return c
	}
	for scheme, kind := range good {
		c := begin(t, kind)
		c.must(c.message(c.verifyMessage(kind, scheme), true))
		c.must(c.sendFinished())
		if c.conn.Info().Client.Scheme != scheme {
			t.Errorf("scheme %#x is told as %#x", scheme, c.conn.Info().Client.Scheme)
		}

		c = begin(t, kind)
		bad := c.verifyMessage(kind, scheme)
		bad[len(bad)-1] ^= 1
		c.mustFail(c.feed(c.records(record.Handshake, bad, 0)), wire.AlertDecryptError)

		// The signature of the server's role is not the client's.
		c = begin(t, kind)
		s := schemeParams(scheme)
		content := appendVerifyContent(nil, serverContext, c.transcript.Sum())
		signature, err := testKeys[kind]().Sign(rand.Reader, s.digest(content), s.opts)
		if err != nil {
			t.Fatal(err)
		}
		c.mustFail(c.send(record.Handshake, wire.AppendCertificateVerify(nil, scheme, signature)), wire.AlertDecryptError)

		// A scheme that was offered, but does not go with the key.
		for _, other := range clientSchemes {
			if good[other] == kind {
				continue
			}
			c = begin(t, kind)
			c.mustFail(c.send(record.Handshake, wire.AppendCertificateVerify(nil, other, signature)), wire.AlertIllegalParameter)
		}
	}
	c := begin(t, keyRSA)
	c.mustFail(c.send(record.Handshake, wire.AppendCertificateVerify(nil, wire.SchemeRSAPKCS1SHA256, make([]byte, 256))), wire.AlertIllegalParameter)
}

// TestClientAuthRequest: a client that has nothing to show is let in.
func TestClientAuthRequest(t *testing.T) {
	inEveryMode(t, func(t *testing.T, m mode) {
		c := newRawClient(t, clientAuthConfig(t, ClientAuthRequest), m)
		c.must(c.sendHello())
		c.read()
		c.must(c.message(certificateMessage(), false))
		c.must(c.sendFinished())
		c.talk()
		if c.conn.Info().Client != nil {
			t.Error("a client without certificate has an identity")
		}
	})
}

// alertVerifier refuses with an error of its own.
type alertVerifier struct {
	*ClientCAs
	err error
}

func (v alertVerifier) VerifyClient(time.Time, []*x509.Certificate) error { return v.err }

func TestVerifierChoosesAlert(t *testing.T) {
	for want, err := range map[wire.Alert]error{
		wire.AlertCertificateRevoked: &wire.Error{Alert: wire.AlertCertificateRevoked, Reason: "on the list"},
		wire.AlertCertificateUnknown: errors.New("no reason given"),
	} {
		cfg := clientAuthConfig(t, ClientAuthRequire)
		cfg.ClientVerifier = alertVerifier{cfg.ClientVerifier.(*ClientCAs), err}
		c := newRawClient(t, cfg, mode{})
		c.must(c.sendHello())
		c.read()
		c.mustFail(c.message(certificateMessage(c.clientChain()...), true), want)
	}
}

func TestClientCAFile(t *testing.T) {
	good := pemCertificate(sharedCA().cert.Raw)
	cases := map[string]string{
		"":        "no CERTIFICATE",
		"not PEM": "no CERTIFICATE",
		string(good) + "-----BEGIN X-----\n-----END X-----\n": "holds a X",
		string(pemCertificate([]byte("x"))):                   "certificate 1",
	}
	for file, want := range cases {
		if _, err := NewClientCAs([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", file, err, want)
		}
	}
	one, err := NewClientCAs(good)
	if err != nil || len(one.Authorities()) != 1 {
		t.Fatalf("%v, %d names", err, len(one.Authorities()))
	}
	two, err := NewClientCAs(append(good, pemCertificate(selfSigned(t))...))
	if err != nil || one.Digest() == two.Digest() {
		t.Errorf("%v; the digests are equal", err)
	}
	two.names = append(two.names, make([]byte, authoritiesBytesMax))
	if two.Authorities() != nil {
		t.Error("any number of names is sent")
	}
}
