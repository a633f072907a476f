package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/certstore/dev"
	"edge/ech"
	"edge/edge/capture"
	"edge/edge/config"
	"edge/edge/reactor"
	"edge/edge/reactor/epoll"
	"edge/ja4"
)

// live is a gateway on real sockets, with a development certificate.
type live struct {
	t       *testing.T
	address string
	roots   *x509.CertPool
	log     *safeBuffer
	access  string
	end     func()
}

// safeBuffer is a buffer that others write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// liveNames are the names of the certificate.
var liveNames = []string{
	"localhost", "secret.example", "public.example", "relay.example", "nowhere.example", "refuse.example", "drop.example",
	"ban.example", "loop.example", "work.example", "fail.example",
}

// newLive starts a gateway with programs of scriptDir.
func newLive(t *testing.T, change func(*config.Config), names ...string) *live {
	t.Helper()
	made, err := dev.Ensure(filepath.Join(t.TempDir(), "dev"), liveNames)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, log: new(safeBuffer), roots: x509.NewCertPool(), access: filepath.Join(t.TempDir(), "access.log")}
	authority, err := os.ReadFile(filepath.Join(filepath.Dir(made.CertDir), "authority", "ca.pem"))
	if err != nil || !l.roots.AppendCertsFromPEM(authority) {
		t.Fatalf("the authority: %v", err)
	}
	conf := config.New()
	conf.Workers, conf.CertDir, conf.AccessLog = 1, made.CertDir, l.access
	conf.Listen = []config.Address{{TCP: netip.MustParseAddrPort("127.0.0.1:0")}}
	conf.Limits.Connections, conf.Limits.BufferBytes = 64, 8<<20
	if change != nil {
		change(conf)
	}
	var programs []ProgramFile
	for _, name := range names {
		programs = append(programs, scriptFile(t, name))
	}
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, Options{
			Config: conf, Out: write, Log: NewLog(l.log), Programs: programs, Getenv: func(string) string { return "" },
			NewReactor: func(_ string, o reactor.Options) (reactor.Reactor, error) { return epoll.New(o) },
		})
		write.Close()
	}()
	var line string
	if _, err := fmt.Fscanf(read, "listening https://%s\n", &line); err != nil {
		t.Fatalf("%v: %v; log %s", err, <-ended, l.log)
	}
	go io.Copy(io.Discard, read)
	l.address = line
	l.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended: %v", err)
		}
	})
	t.Cleanup(l.end)
	return l
}

// firstWrite keeps what is written first, the ClientHello.
type firstWrite struct {
	net.Conn
	first []byte
}

func (c *firstWrite) Write(p []byte) (int, error) {
	if c.first == nil {
		c.first = bytes.Clone(p)
	}
	return c.Conn.Write(p)
}

// dialTime bounds everything that a client here waits for.
const dialTime = 20 * time.Second

// dial makes a handshake. sent is the hello as it went out.
func (l *live) dial(name string, conf *tls.Config) (c *tls.Conn, sent []byte, err error) {
	l.t.Helper()
	raw, err := net.DialTimeout("tcp", l.address, dialTime)
	if err != nil {
		return nil, nil, err // a reset can come as early as that
	}
	raw.SetDeadline(time.Now().Add(dialTime))
	if conf == nil {
		conf = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	}
	conf.ServerName, conf.RootCAs, conf.MinVersion = name, l.roots, tls.VersionTLS13
	keeping := &firstWrite{Conn: raw}
	c = tls.Client(keeping, conf)
	err = c.Handshake()
	l.t.Cleanup(func() { raw.Close() })
	return c, capture.HelloOf(keeping.first), err
}

// ask sends a request over c and returns the answer's body.
func (l *live) ask(c *tls.Conn, raw string) string {
	l.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		l.t.Fatal(err)
	}
	all, err := io.ReadAll(c)
	if err != nil {
		l.t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(all), "\r\n\r\n")
	return body
}

// fields are the lines of an answer of facts.c.
func fields(body string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(body) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		out[name] = value
	}
	return out
}

// logged is the last line of the access log, once the gateway has ended.
func (l *live) logged() map[string]any {
	l.t.Helper()
	l.end()
	b, err := os.ReadFile(l.access)
	if err != nil {
		l.t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	var out map[string]any
	if err := json.Unmarshal(lines[len(lines)-1], &out); err != nil {
		l.t.Fatal(err)
	}
	return out
}

func fingerprint(t *testing.T, msg []byte) string {
	t.Helper()
	var h ja4.Hello
	if err := h.Read(msg); err != nil {
		t.Fatal(err)
	}
	return h.JA4(ja4.TCP).String()
}

const factsRequest = "GET /%66acts/../facts?a=b HTTP/1.1\r\nHost: LOCALHOST:1\r\nUser-Agent: test\r\nConnection: close\r\n\r\n"

func TestFactsOfTLS(t *testing.T) {
	l := newLive(t, nil, "facts.o")
	c, sent, err := l.dial("LocalHost", nil)
	if err != nil {
		t.Fatal(err)
	}
	own := c.LocalAddr().(*net.TCPAddr)
	got := fields(l.ask(c, factsRequest))
	for name, want := range map[string]string{
		"peer": "127.0.0.1", "port": fmt.Sprint(own.Port), "family": "4", "tls": "1", "suite": fmt.Sprint(c.ConnectionState().CipherSuite),
		"ech": "0", "resumed": "0", "sni": "localhost", "outer": "localhost", "alpn": "http/1.1", "ja4": fingerprint(t, sent), "ja4_inner": "",
		"http": "11", "method": "GET", "target": "/%66acts/../facts?a=b", "path": "/facts", "query": "a=b", "host": "LOCALHOST:1",
		"agent": "test", "same": "1", "random": "1", "offered": "\x02h2\x08http/1.1",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if line := l.logged(); line["ja4"] != got["ja4"] || line["ja4_inner"] != nil {
		t.Errorf("the access log has %v", line)
	}
	if !strings.Contains(l.log.String(), "facts.o: "+got["ja4"]) {
		t.Errorf("edge/hello saw another fingerprint: %s", l.log)
	}
}

// withKeys gives the gateway an ECH key, and the list that clients take.
func withKeys(t *testing.T) (change func(*config.Config), list []byte) {
	t.Helper()
	key, err := ech.GenerateKey(ech.KeyParameters{PublicName: "public.example", KEM: ech.KEMX25519, Suites: []ech.Suite{{KDF: 1, AEAD: 1}}}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	file, err := key.MarshalKeyFile()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err = ech.AppendConfigList(nil, key.Config.Raw); err != nil {
		t.Fatal(err)
	}
	return func(c *config.Config) { c.ECHDir = dir }, list
}

// With ECH the plain fingerprint is that of the outer hello, in the log and for
// programs alike, and the inner one is a field of its own; after a HelloRetryRequest
// they stay those of the first hello (field case J05).
func TestFingerprintsWithECH(t *testing.T) {
	t.Run("at once", func(t *testing.T) { fingerprintsWithECH(t, nil) })
	t.Run("with a retry", func(t *testing.T) {
		fingerprintsWithECH(t, []tls.CurveID{tls.SecP384r1MLKEM1024, tls.X25519})
	})
}

func fingerprintsWithECH(t *testing.T, groups []tls.CurveID) {
	change, list := withKeys(t)
	l := newLive(t, change, "facts.o")
	c, sent, err := l.dial("secret.example", &tls.Config{EncryptedClientHelloConfigList: list, NextProtos: []string{"http/1.1"}, CurvePreferences: groups})
	if err != nil {
		t.Fatal(err)
	}
	if state := c.ConnectionState(); state.HelloRetryRequest != (groups != nil) {
		t.Fatalf("retried %v", state.HelloRetryRequest)
	}
	got := fields(l.ask(c, "GET / HTTP/1.1\r\nHost: secret.example\r\nConnection: close\r\n\r\n"))
	outer := fingerprint(t, sent)
	if got["ja4"] != outer || len(got["ja4_inner"]) != len(outer) {
		t.Errorf("ja4 %q, ja4_inner %q; the network saw %q", got["ja4"], got["ja4_inner"], outer)
	}
	if got["sni"] != "secret.example" || got["outer"] != "public.example" || got["ech"] != "2" {
		t.Errorf("facts %v", got)
	}
	if line := l.logged(); line["ja4"] != outer || line["ja4_inner"] != got["ja4_inner"] {
		t.Errorf("the access log has %v", line)
	}
}

// A rejected ECH: the outer hello is all there is.
func TestFingerprintsWithRejectedECH(t *testing.T) {
	change, _ := withKeys(t)
	_, stale := withKeys(t)
	l := newLive(t, change, "facts.o")
	_, sent, err := l.dial("secret.example", &tls.Config{EncryptedClientHelloConfigList: stale})
	var rejected *tls.ECHRejectionError
	if !errors.As(err, &rejected) {
		t.Fatalf("handshake: %v", err)
	}
	l.end()
	if want := "facts.o: " + fingerprint(t, sent); !strings.Contains(l.log.String(), want) {
		t.Errorf("log says %q, want %q", l.log, want)
	}
}

func TestHelloVerdicts(t *testing.T) {
	behind := newLive(t, nil, "facts.o")
	l := newLive(t, func(c *config.Config) {
		to := netip.MustParseAddrPort(behind.address)
		c.Relays = []config.Relay{{Name: "behind.example", Target: config.HostPort{Host: to.Addr().String(), Port: to.Port()}}}
		c.Timeouts.Script = 5 * time.Millisecond
	}, "hello.o")
	for name, want := range map[string]string{
		"localhost":       "",
		"work.example":    "",
		"refuse.example":  "access denied",
		"nowhere.example": "unrecognized name",
		"fail.example":    "internal error",
		"loop.example":    "internal error",
		"drop.example":    "reset by peer",
	} {
		_, _, err := l.dial(name, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	l.roots = behind.roots // the certificate is the hidden server's own
	c, sent, err := l.dial("relay.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fields(behind.ask(c, factsRequest)); got["ja4"] != fingerprint(t, sent) || got["sni"] != "relay.example" {
		t.Errorf("relayed: %v", got)
	}
	c.Close()
	for _, name := range []string{"ban.example", "localhost"} {
		if _, _, err := l.dial(name, nil); err == nil {
			t.Errorf("%s: no error, the address should be banned", name)
		}
	}
	l.end()
	// Of the two lines the later one may have come within the same second.
	looped := strings.Contains(l.log.String(), "hello.o: program verdict took longer than --script-time 5ms")
	if !looped && !strings.Contains(l.log.String(), "hello.o: program verdict returned -1") {
		t.Errorf("log says %q", l.log)
	}
}

func TestBans(t *testing.T) {
	var b bans
	now := time.Unix(1000, 0)
	address := netip.MustParseAddr
	if b.has(address("192.0.2.1"), now) {
		t.Error("banned before there is a ban")
	}
	if !b.add(address("::ffff:192.0.2.1"), now, 60) || !b.add(address("2001:db8::1"), now, 1<<63) {
		t.Fatal("no ban")
	}
	for _, tc := range []struct {
		address string
		after   time.Duration
		want    bool
	}{
		{"192.0.2.1", 0, true}, {"192.0.2.2", 0, false}, {"192.0.2.1", 59 * time.Second, true},
		{"2001:db8::ffff", 0, true}, {"2001:db8:0:1::1", 0, false},
		{"192.0.2.1", time.Minute, false}, {"2001:db8::1", banMax - 1, true}, {"2001:db8::1", banMax, false},
	} {
		if got := b.has(address(tc.address), now.Add(tc.after)); got != tc.want {
			t.Errorf("%s after %v: banned %v", tc.address, tc.after, got)
		}
	}
	if b.count.Load() != 0 || b.has(netip.Addr{}, now) {
		t.Errorf("%d bans left", b.count.Load())
	}
	for i := range bansMax {
		if !b.add(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now, 10) {
			t.Fatalf("no room for ban %d", i)
		}
	}
	one := address("192.0.2.1")
	if b.add(one, now, 10) || !b.add(address("10.0.0.0"), now, 10) {
		t.Error("the limit is not held, or a ban cannot be made longer at it")
	}
	if !b.add(one, now.Add(10*time.Second), 10) || b.count.Load() != 1 {
		t.Errorf("%d bans after all others are over", b.count.Load())
	}
}
