package bridge

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// upstream is an https server on loopback with a certificate for example.com.
func upstream(t *testing.T) (address netip.AddrPort, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello over "+tls.VersionName(r.TLS.Version)+" to "+r.TLS.ServerName)
	}))
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return netip.MustParseAddrPort(s.Listener.Addr().String()), roots
}

func start(t *testing.T, o Options) (*Bridge, chan string) {
	t.Helper()
	log := make(chan string, 10)
	o.Log = func(line string) { log <- line }
	o.Connect = cmp.Or(o.Connect, 5*time.Second)
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, log
}

// dial connects to the bridge, and asks for a connection to the address.
func dial(t *testing.T, b *Bridge, to netip.AddrPort, header string) net.Conn {
	t.Helper()
	conn, _ := linked(t, b, to, header)
	return conn
}

// linked does the same, and gives the link as well.
func linked(t *testing.T, b *Bridge, to netip.AddrPort, header string) (*net.UnixConn, *Link) {
	t.Helper()
	conn, err := net.Dial("unix", b.Name())
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	link := b.Link()
	t.Cleanup(func() {
		conn.Close()
		link.Leave()
	})
	conn.Write(AppendPreface(nil, link.ID(), to, []byte(header)))
	return conn.(*net.UnixConn), link
}

// want reads the verdict.
func want(t *testing.T, conn net.Conn, v Verdict) {
	t.Helper()
	got := []byte{0}
	if _, err := io.ReadFull(conn, got); err != nil || Verdict(got[0]) != v {
		t.Fatalf("verdict %d, %v, want %d", got[0], err, v)
	}
}

// carries has three requests answered over one connection.
func carries(t *testing.T, conn net.Conn, answer string) {
	t.Helper()
	r := bufio.NewReader(conn)
	for range 3 {
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != answer {
			t.Fatalf("%q, %v", body, err)
		}
	}
}

func TestCarriesRequests(t *testing.T) {
	address, roots := upstream(t)
	b, _ := start(t, Options{ServerName: "example.com", Roots: roots})
	conn := dial(t, b, address, "")
	want(t, conn, Connected)
	carries(t, conn, "hello over TLS 1.3 to example.com")
}

func TestInsecureTakesAnyCertificate(t *testing.T) {
	address, _ := upstream(t)
	b, _ := start(t, Options{ServerName: "other.example", Roots: x509.NewCertPool(), Insecure: true})
	conn := dial(t, b, address, "")
	want(t, conn, Connected)
	carries(t, conn, "hello over TLS 1.3 to other.example")
}

// TestHeaderGoesFirst: a PROXY header stands in front of the handshake.
func TestHeaderGoesFirst(t *testing.T) {
	const header = "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"
	address, roots := upstream(t)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	got := make(chan string, 1)
	go func() { // takes the header off
		conn, err := front.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		first := make([]byte, len(header))
		io.ReadFull(conn, first)
		got <- string(first)
		far, err := net.Dial("tcp", address.String())
		if err != nil {
			return
		}
		defer far.Close()
		go io.Copy(far, conn)
		io.Copy(conn, far)
	}()
	b, _ := start(t, Options{ServerName: "example.com", Roots: roots})
	conn := dial(t, b, netip.MustParseAddrPort(front.Addr().String()), header)
	want(t, conn, Connected)
	if s := <-got; s != header {
		t.Errorf("header %q", s)
	}
	carries(t, conn, "hello over TLS 1.3 to example.com")
}

// TestShowsItsCertificate: to an upstream that asks for one.
func TestShowsItsCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.String())
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	address, roots := netip.MustParseAddrPort(s.Listener.Addr().String()), x509.NewCertPool()
	roots.AddCert(s.Certificate())
	b, _ := start(t, Options{ServerName: "example.com", Roots: roots, Client: s.TLS.Certificates[0]})
	conn := dial(t, b, address, "")
	want(t, conn, Connected)
	carries(t, conn, s.Certificate().Subject.String())
}

// TestSaysThatACertificateIsWanted: what the upstream says of it comes after the
// handshake, and is in the log.
func TestSaysThatACertificateIsWanted(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	b, lines := start(t, Options{Name: "https://name.example", ServerName: "example.com", Roots: roots})
	conn, link := linked(t, b, netip.MustParseAddrPort(s.Listener.Addr().String()), "")
	want(t, conn, Connected)
	if got, err := io.ReadAll(conn); len(got) > 0 || err != nil || link.Ended() {
		t.Errorf("got %q, %v; ended in good order: %v", got, err, link.Ended())
	}
	if line := <-lines; !strings.Contains(line, "https://name.example") || !strings.Contains(line, "certificate required") {
		t.Errorf("log: %s", line)
	}
}

func TestSaysWhatFailed(t *testing.T) {
	address, roots := upstream(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers a hello
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	at := func(l net.Listener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }
	for name, c := range map[string]struct {
		o       Options
		to      netip.AddrPort
		verdict Verdict
	}{
		"another name":      {Options{ServerName: "other.example", Roots: roots}, address, Untrusted},
		"unknown authority": {Options{ServerName: "example.com", Roots: x509.NewCertPool()}, address, Untrusted},
		"nobody there":      {Options{ServerName: "example.com"}, at(gone), Unreachable},
		"no answer":         {Options{ServerName: "example.com", Connect: 50 * time.Millisecond}, at(silent), Late},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Name = "https://name.example"
			b, log := start(t, c.o)
			conn := dial(t, b, c.to, "")
			want(t, conn, c.verdict)
			if got, _ := io.ReadAll(conn); len(got) > 0 {
				t.Errorf("got %q", got)
			}
			if line := <-log; !strings.Contains(line, c.o.Name) || !strings.Contains(line, c.to.String()) {
				t.Errorf("log: %s", line)
			}
		})
	}
}

func TestPrefaceIsBounded(t *testing.T) {
	b, log := start(t, Options{Name: "x"})
	long, err := net.Dial("unix", b.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	whole := AppendPreface(nil, 1, netip.MustParseAddrPort("192.0.2.1:1"), nil)
	long.Write(append(whole[:len(whole)-2], 0xff, 0xff))
	if got, _ := io.ReadAll(long); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	if line := <-log; !strings.Contains(line, "65535 bytes") {
		t.Errorf("log: %s", line)
	}
}
