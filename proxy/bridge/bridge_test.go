package bridge

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// upstream is an https server on loopback with a certificate for example.com.
func upstream(t *testing.T) (address string, roots *x509.CertPool) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello over "+tls.VersionName(r.TLS.Version)+" to "+r.TLS.ServerName)
	}))
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.Listener.Addr().String(), roots
}

func start(t *testing.T, o Options) (*Bridge, chan string) {
	t.Helper()
	log := make(chan string, 10)
	o.Log = func(line string) { log <- line }
	o.Connect = 5 * time.Second
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

func dial(t *testing.T, b *Bridge) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", b.Name())
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestCarriesRequests(t *testing.T) {
	address, roots := upstream(t)
	b, _ := start(t, Options{Address: address, ServerName: "example.com", Roots: roots})
	conn := dial(t, b)
	r := bufio.NewReader(conn)
	for range 3 {
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "hello over TLS 1.3 to example.com" {
			t.Fatalf("%q, %v", body, err)
		}
	}
}

func TestRefusesWhatItCannotVerify(t *testing.T) {
	address, roots := upstream(t)
	for name, o := range map[string]Options{
		"another name":      {Address: address, ServerName: "other.example", Roots: roots},
		"unknown authority": {Address: address, ServerName: "example.com", Roots: x509.NewCertPool()},
		"nobody there":      {Address: "127.0.0.1:1", ServerName: "example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			b, log := start(t, o)
			conn := dial(t, b)
			if got, _ := io.ReadAll(conn); len(got) > 0 {
				t.Errorf("got %q", got)
			}
			if line := <-log; !strings.Contains(line, address) && !strings.Contains(line, "127.0.0.1:1") {
				t.Errorf("log: %s", line)
			}
		})
	}
}
