package split_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"edge/ech"
	"edge/ech/split"
	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// A Front between the client and the server of the standard library: neither was
// written for it.

// patience bounds everything here.
const patience = 20 * time.Second

// front joins a client and a backend, handing bytes over in pieces of at most
// piece bytes.
type front struct {
	t     *testing.T
	keys  *ech.Set
	piece int
}

// run serves one client until an end of it.
func (f *front) run(client, backend net.Conn) error {
	ctx, first, rest, err := f.open(client)
	if err != nil {
		return err
	}
	s := split.New(ctx)
	if _, err := backend.Write(append(split.AppendHello(nil, first), rest...)); err != nil {
		return err
	}
	// One goroutine owns the Front; the readers hand it what they have read.
	type read struct {
		fromClient bool
		b          []byte
	}
	reads := make(chan read)
	for _, c := range []net.Conn{client, backend} {
		go func() {
			for {
				b := make([]byte, f.piece)
				n, err := c.Read(b)
				if err != nil {
					return
				}
				select {
				case reads <- read{c == client, b[:n]}:
				case <-f.t.Context().Done():
					return
				}
			}
		}()
	}
	for {
		select {
		case r := <-reads:
			if !r.fromClient {
				s.FromBackend(r.b)
				if _, err := client.Write(r.b); err != nil {
					return err
				}
				continue
			}
			out, err := s.FromClient(nil, r.b)
			if err != nil {
				return err
			}
			if _, err := backend.Write(out); err != nil {
				return err
			}
		case <-f.t.Context().Done():
			return nil
		}
	}
}

// open reads the first hello and opens it.
func (f *front) open(client net.Conn) (ctx *ech.Context, inner, rest []byte, err error) {
	var got []byte
	var messages record.Reassembler
	for {
		b := make([]byte, f.piece)
		n, err := client.Read(b)
		if err != nil {
			return nil, nil, nil, err
		}
		got = append(got, b[:n]...)
		for len(got) >= record.HeaderLen {
			h, err := record.ParseHeader(got, false)
			if err != nil {
				return nil, nil, nil, err
			}
			if len(got) < record.HeaderLen+h.Len {
				break
			}
			messages.Add(got[record.HeaderLen : record.HeaderLen+h.Len])
			got = got[record.HeaderLen+h.Len:]
			message, err := messages.Next(wire.ClientHelloBytesMax)
			if err != nil || message == nil {
				continue
			}
			var outer, hello wire.ClientHello
			if err := wire.ParseClientHello(message, &outer); err != nil {
				return nil, nil, nil, err
			}
			outcome, ctx, err := f.keys.Open(&outer, &hello, new(ech.Buffers))
			if err != nil || outcome != ech.Accepted {
				return nil, nil, nil, fmt.Errorf("%v: %w", outcome, err)
			}
			return ctx, bytes.Clone(hello.Raw), got, nil
		}
	}
}

// pair is a client and a backend with a front between.
type pair struct {
	front   *front
	client  *tls.Config
	backend *tls.Config
}

func newPair(t *testing.T, piece int) *pair {
	t.Helper()
	key, err := ech.GenerateKey(ech.KeyParameters{PublicName: "public.example", KEM: ech.KEMX25519, Suites: ech.Suites}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set, err := ech.NewSet([]*ech.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	list, err := ech.AppendConfigList(nil, key.Config.Raw)
	if err != nil {
		t.Fatal(err)
	}
	cert, roots := certificate(t, "hidden.example")
	return &pair{
		front: &front{t: t, keys: set, piece: piece},
		client: &tls.Config{ServerName: "hidden.example", RootCAs: roots, MinVersion: tls.VersionTLS13,
			EncryptedClientHelloConfigList: list},
		backend: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13},
	}
}

func certificate(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// shake runs a handshake, an echo, and the whole way back; tamper may change what
// the client writes.
func (p *pair) shake(t *testing.T, tamper func(n int, b []byte) []byte) (*tls.ConnectionState, error) {
	t.Helper()
	clientEnd, frontOut := pipe(t)
	frontIn, backendEnd := pipe(t)
	failed := make(chan error, 1)
	go func() {
		failed <- p.front.run(frontOut, frontIn)
		frontOut.Close()
		frontIn.Close()
	}()
	go func() {
		c := tls.Server(backendEnd, p.backend)
		io.Copy(c, c)
	}()
	client := tls.Client(&tampered{Conn: clientEnd, change: tamper}, p.client)
	err := client.Handshake()
	if err == nil {
		fmt.Fprintf(client, "ping")
		got := make([]byte, 4)
		if _, err = io.ReadFull(client, got); err == nil && string(got) != "ping" {
			err = fmt.Errorf("echo %q", got)
		}
	}
	if err != nil {
		select {
		case cause := <-failed:
			return nil, cause
		case <-time.After(time.Second):
			return nil, err
		}
	}
	state := client.ConnectionState()
	return &state, nil
}

// pipe is a connection over loopback: unlike net.Pipe's it holds what is written.
func pipe(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{a, b} {
		c.SetDeadline(time.Now().Add(patience))
		t.Cleanup(func() { c.Close() })
	}
	return a, b
}

// tampered changes what is written, write by write.
type tampered struct {
	net.Conn
	change func(n int, b []byte) []byte
	writes int
}

func (c *tampered) Write(b []byte) (int, error) {
	out := bytes.Clone(b)
	if c.change != nil {
		out = c.change(c.writes, out)
	}
	c.writes++
	_, err := c.Conn.Write(out)
	return len(b), err
}

func TestHandshake(t *testing.T) {
	for _, retry := range []bool{false, true} {
		for _, piece := range []int{1, 2, 5, 38, 1000, 100000} {
			t.Run(fmt.Sprintf("retry %v, pieces of %d", retry, piece), func(t *testing.T) {
				p := newPair(t, piece)
				if retry {
					p.client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
					p.backend.CurvePreferences = []tls.CurveID{tls.CurveP384}
				}
				state, err := p.shake(t, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !state.ECHAccepted || state.HelloRetryRequest != retry {
					t.Errorf("accepted %v, retried %v", state.ECHAccepted, state.HelloRetryRequest)
				}
			})
		}
	}
}

// Both hellos may be spread over records in any way.
func TestHelloInManyRecords(t *testing.T) {
	p := newPair(t, 100)
	p.client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
	p.backend.CurvePreferences = []tls.CurveID{tls.CurveP384}
	state, err := p.shake(t, func(_ int, b []byte) []byte {
		var out []byte
		for len(b) > 0 {
			n := record.HeaderLen + int(b[3])<<8 + int(b[4])
			if record.ContentType(b[0]) == record.Handshake {
				out = record.AppendPlaintext(out, record.Handshake, b[record.HeaderLen:n], 7)
			} else {
				out = append(out, b[:n]...)
			}
			b = b[n:]
		}
		return out
	})
	if err != nil || !state.ECHAccepted {
		t.Fatal(state, err)
	}
}

// What is wrong with a second hello ends the connection with the alert that RFC
// 9849, 7.1.1 names.
func TestSecondHelloRefused(t *testing.T) {
	second := func(change func(hello []byte) []byte) func(int, []byte) []byte {
		return func(_ int, b []byte) []byte {
			var out []byte
			for len(b) > 0 {
				n := record.HeaderLen + int(b[3])<<8 + int(b[4])
				part := b[:n]
				b = b[n:]
				// The second hello is the one with an empty enc.
				if record.ContentType(part[0]) == record.Handshake && bytes.Contains(part, []byte{0xfe, 0x0d}) && secondECH(part) > 0 {
					part = change(part)
				}
				out = append(out, part...)
			}
			return out
		}
	}
	for name, c := range map[string]struct {
		change func(hello []byte) []byte
		want   wire.Alert
	}{
		"payload":         {func(h []byte) []byte { h[secondECH(h)+20] ^= 1; return h }, wire.AlertDecryptError},
		"config_id":       {func(h []byte) []byte { h[secondECH(h)+9] ^= 1; return h }, wire.AlertIllegalParameter},
		"type inner":      {func(h []byte) []byte { h[secondECH(h)+4] = 1; return h }, wire.AlertIllegalParameter},
		"no ech":          {func(h []byte) []byte { h[secondECH(h)+1] = 0x0c; return h }, wire.AlertMissingExtension},
		"another message": {func(h []byte) []byte { h[record.HeaderLen] = 11; return h }, wire.AlertUnexpectedMessage},
		"too long":        {func(h []byte) []byte { h[record.HeaderLen+1] = 1; return h }, wire.AlertDecodeError},
		"more behind it": {func(h []byte) []byte {
			body := append(h[record.HeaderLen:], 20, 0, 0, 0)
			return record.AppendPlaintext(nil, record.Handshake, body, record.PlaintextMax)
		}, wire.AlertUnexpectedMessage},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 4096)
			p.client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
			p.backend.CurvePreferences = []tls.CurveID{tls.CurveP384}
			_, err := p.shake(t, second(c.change))
			var refused *wire.Error
			if !errors.As(err, &refused) || refused.Alert != c.want {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// secondECH is where the encrypted_client_hello of a second hello begins in its
// record, 0 if it has none with an empty enc.
//
//	0xfe0d | length | type kdf kdf aead aead id | 0 0 | …
func secondECH(rec []byte) int {
	for at := range rec[:max(len(rec)-12, 0)] {
		e := rec[at:]
		if e[0] == 0xfe && e[1] == 0x0d && e[4] == 0 && e[5] == 0 && e[6] == 1 && e[7] == 0 && e[10] == 0 && e[11] == 0 {
			return at
		}
	}
	return 0
}
