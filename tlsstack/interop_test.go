package tlsstack

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"edge/tlsstack/wire"
)

// Handshakes with the client of crypto/tls over a byte pipe: for each feature
// once with all bytes at a time and once byte by byte.

// clientConfig is a crypto/tls client for testName.
func clientConfig() *tls.Config {
	return &tls.Config{
		ServerName: testName, RootCAs: sharedCA().pool, Time: func() time.Time { return testTime },
		NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS13,
	}
}

// outcome is what both sides say about one connection.
type outcome struct {
	client    tls.ConnectionState
	clientErr error
	serverErr error
	info      Info
}

// exchange runs a handshake, an echo of each size, and an orderly close.
func exchange(t *testing.T, cfg *Config, client *tls.Config, chunk int, sizes ...int) outcome {
	t.Helper()
	clientEnd, serverEnd := newPipe()
	s := &server{chunk: chunk, now: testTime}
	s.conn.Init(cfg, rand.Reader)
	done := make(chan error, 1)
	go func() { done <- s.run(serverEnd) }()

	conn := tls.Client(clientEnd, client)
	var o outcome
	o.clientErr = conn.Handshake()
	for _, n := range sizes {
		if o.clientErr == nil {
			o.clientErr = echo(conn, n)
		}
	}
	o.client = conn.ConnectionState()
	conn.CloseWrite()
	if o.clientErr == nil {
		_, o.clientErr = io.ReadAll(conn)
	}
	conn.Close()
	o.serverErr = <-done
	o.info = *s.conn.Info()
	return o
}

// echo sends n bytes and expects them back.
func echo(conn *tls.Conn, n int) error {
	sent, got := bytes.Repeat([]byte("x0123456789"), n/11+1)[:n], make([]byte, n)
	if _, err := conn.Write(sent); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !bytes.Equal(sent, got) {
		return errors.New("the echo differs")
	}
	return nil
}

// mustSucceed fails the test unless both sides are content.
func (o *outcome) mustSucceed(t *testing.T) {
	t.Helper()
	if o.clientErr != nil || o.serverErr != nil {
		t.Fatalf("client: %v, server: %v", o.clientErr, o.serverErr)
	}
}

// bothWays runs f with the input whole and byte by byte.
func bothWays(t *testing.T, f func(t *testing.T, chunk int)) {
	for name, chunk := range map[string]int{"whole": 0, "bytewise": 1} {
		t.Run(name, func(t *testing.T) { f(t, chunk) })
	}
}

func TestInteropKeysAndGroups(t *testing.T) {
	groups := map[string]struct {
		id   tls.CurveID
		want wire.Group
	}{
		"X25519MLKEM768": {tls.X25519MLKEM768, wire.GroupX25519MLKEM768},
		"X25519":         {tls.X25519, wire.GroupX25519},
		"P-256":          {tls.CurveP256, wire.GroupP256},
		"P-384":          {tls.CurveP384, wire.GroupP384},
	}
	kinds := map[string]keyKind{"ecdsa-p256": keyP256, "ecdsa-p384": keyP384, "ecdsa-p521": keyP521, "rsa": keyRSA, "ed25519": keyEd25519}
	for groupName, group := range groups {
		for kindName, kind := range kinds {
			t.Run(groupName+"/"+kindName, func(t *testing.T) {
				client := clientConfig()
				client.CurvePreferences = []tls.CurveID{group.id}
				o := exchange(t, testConfig(t, kind), client, 0, 1, 40000)
				o.mustSucceed(t)
				if o.info.Group != group.want || o.info.ALPN != "h2" || o.info.ServerName != testName || o.info.Retried {
					t.Errorf("server says %+v", o.info)
				}
			})
		}
	}
}

func TestInteropRetry(t *testing.T) {
	bothWays(t, func(t *testing.T, chunk int) {
		cfg := testConfig(t)
		cfg.Groups = []wire.Group{wire.GroupP384}
		client := clientConfig()
		client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
		o := exchange(t, cfg, client, chunk, 10)
		o.mustSucceed(t)
		if !o.info.Retried || !o.client.HelloRetryRequest || o.info.Group != wire.GroupP384 {
			t.Errorf("server says %+v", o.info)
		}
	})
}

func TestInteropResumption(t *testing.T) {
	bothWays(t, func(t *testing.T, chunk int) {
		cfg := testConfig(t)
		cfg.Tickets, _ = NewTicketKeys(rand.Reader)
		client := clientConfig()
		client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		for i, resumed := range []bool{false, true, true} {
			o := exchange(t, cfg, client, chunk, 10)
			o.mustSucceed(t)
			if o.client.DidResume != resumed || o.info.Resumed != resumed {
				t.Fatalf("connection %d: resumed client %v server %v, want %v", i, o.client.DidResume, o.info.Resumed, resumed)
			}
		}
	})
}

func TestInteropRefusals(t *testing.T) {
	cases := map[string]struct {
		change func(cfg *Config, client *tls.Config)
		want   string
	}{
		"no protocol in common": {func(_ *Config, c *tls.Config) { c.NextProtos = []string{"foo"} }, "no application protocol"},
		"TLS 1.2":               {func(_ *Config, c *tls.Config) { c.MinVersion, c.MaxVersion = 0, tls.VersionTLS12 }, "protocol version"},
		"unknown name": {func(cfg *Config, c *tls.Config) {
			cfg.StrictSNI = true
			c.ServerName = "other.example"
		}, "unrecognized name"},
		"no group in common": {func(cfg *Config, c *tls.Config) {
			cfg.Groups = []wire.Group{wire.GroupP384}
			c.CurvePreferences = []tls.CurveID{tls.X25519}
		}, "handshake failure"},
	}
	for name, tc := range cases {
		bothWays(t, func(t *testing.T, chunk int) {
			cfg, client := testConfig(t), clientConfig()
			tc.change(cfg, client)
			o := exchange(t, cfg, client, chunk)
			if o.clientErr == nil || !strings.Contains(o.clientErr.Error(), tc.want) || o.serverErr == nil {
				t.Errorf("%s: client %v, server %v", name, o.clientErr, o.serverErr)
			}
		})
	}
}

func TestInteropClientAuth(t *testing.T) {
	for name, kind := range map[string]keyKind{"p256": keyP256, "p384": keyP384, "rsa": keyRSA, "ed25519": keyEd25519} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, chunk int) {
				client := clientConfig()
				client.Certificates = []tls.Certificate{{
					Certificate: sharedCA().leaf(t, testKeys[kind](), x509.ExtKeyUsageClientAuth),
					PrivateKey:  testKeys[kind](),
				}}
				o := exchange(t, clientAuthConfig(t, ClientAuthRequire), client, chunk, 10)
				o.mustSucceed(t)
				if o.info.Client == nil || !bytes.Equal(o.info.Client.Chain[0], client.Certificates[0].Certificate[0]) {
					t.Errorf("client is %+v", o.info.Client)
				}
			})
		})
	}
	o := exchange(t, clientAuthConfig(t, ClientAuthRequire), clientConfig(), 0)
	if o.serverErr == nil || !strings.Contains(o.serverErr.Error(), "certificate_required") {
		t.Errorf("a client without certificate: %v", o.serverErr)
	}
}

// TestInteropKeyLog: both sides log the same secrets.
func TestInteropKeyLog(t *testing.T) {
	cfg, client := testConfig(t), clientConfig()
	var clientLog bytes.Buffer
	serverLog := map[string]bool{}
	client.KeyLogWriter = &clientLog
	cfg.KeyLog = func(label string, clientRandom, secret []byte) {
		serverLog[fmt.Sprintf("%s %x %x", label, clientRandom, secret)] = true
	}
	o := exchange(t, cfg, client, 0, 10)
	o.mustSucceed(t)
	lines := strings.Split(strings.TrimSpace(clientLog.String()), "\n")
	if len(lines) < 4 {
		t.Fatalf("the client logs %d secrets", len(lines))
	}
	for _, line := range lines {
		if !serverLog[line] {
			t.Errorf("only the client has %s", line)
		}
	}
	if len(serverLog) != 5 {
		t.Errorf("the server logs %d secrets", len(serverLog))
	}
}

// TestInteropTicketsAcrossMachines: two configurations that share a key file take
// each other's tickets, as after a restart.
func TestInteropTicketsAcrossMachines(t *testing.T) {
	first, second := ticketConfig(t), testConfig(t)
	second.Certificates = first.Certificates
	client := clientConfig()
	client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	o := exchange(t, first, client, 0, 10)
	o.mustSucceed(t)
	var err error
	if second.Tickets, err = ParseTicketKeys(first.Tickets.Format()); err != nil {
		t.Fatal(err)
	}
	o = exchange(t, second, client, 0, 10)
	o.mustSucceed(t)
	if !o.client.DidResume {
		t.Error("not resumed")
	}
}

// TestInteropStaple: crypto/tls asks for a staple and hands it on.
func TestInteropStaple(t *testing.T) {
	cfg := testConfig(t)
	cfg.Certificates.(*fixedSource).creds[0].Staple = []byte("an OCSP response")
	o := exchange(t, cfg, clientConfig(), 0, 10)
	o.mustSucceed(t)
	if string(o.client.OCSPResponse) != "an OCSP response" {
		t.Errorf("staple is %q", o.client.OCSPResponse)
	}
}
