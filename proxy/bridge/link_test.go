package bridge

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"
)

// scripted is a TLS server on loopback for example.com that does with its first
// connection what serve says.
func scripted(t *testing.T, version uint16, serve func(c *tls.Conn, raw *net.TCPConn)) (address netip.AddrPort, roots *x509.CertPool) {
	t.Helper()
	pki := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer pki.Close()
	roots = x509.NewCertPool()
	roots.AddCert(pki.Certificate())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	go func() {
		defer close(done)
		raw, err := l.Accept()
		if err != nil {
			return
		}
		defer raw.Close()
		raw.SetDeadline(time.Now().Add(20 * time.Second))
		c := tls.Server(raw, &tls.Config{Certificates: pki.TLS.Certificates, MaxVersion: version})
		if err := c.Handshake(); err == nil {
			serve(c, raw.(*net.TCPConn))
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String()), roots
}

// TestSaysHowItEnded: what came is carried, and close_notify told from every other
// end.
func TestSaysHowItEnded(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(c *tls.Conn, raw *net.TCPConn)
		ended bool
	}{
		"close_notify": {func(c *tls.Conn, _ *net.TCPConn) { c.CloseWrite() }, true},
		"close_notify, FIN": {func(c *tls.Conn, raw *net.TCPConn) {
			c.CloseWrite()
			raw.CloseWrite()
		}, true},
		"FIN": {func(_ *tls.Conn, raw *net.TCPConn) { raw.CloseWrite() }, false},
		"part of a header, FIN": {func(_ *tls.Conn, raw *net.TCPConn) {
			raw.Write([]byte{23, 3, 3})
			raw.CloseWrite()
		}, false},
		"part of a record, FIN": {func(_ *tls.Conn, raw *net.TCPConn) {
			raw.Write([]byte{23, 3, 3, 1, 0, 'x'})
			raw.CloseWrite()
		}, false},
		"record that is none": {func(_ *tls.Conn, raw *net.TCPConn) { raw.Write(bytes.Repeat([]byte{23, 3, 3, 0, 32}, 10)) }, false},
		"reset": {func(_ *tls.Conn, raw *net.TCPConn) {
			raw.SetLinger(0)
			raw.Close()
		}, false},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+", "+tls.VersionName(version), func(t *testing.T) {
				heard := make(chan struct{})
				hear := sync.OnceFunc(func() { close(heard) })
				address, roots := scripted(t, version, func(s *tls.Conn, raw *net.TCPConn) {
					io.WriteString(s, "hello")
					<-heard
					c.end(s, raw)
					io.Copy(io.Discard, raw)
				})
				defer hear()
				b, _ := start(t, Options{ServerName: "example.com", Roots: roots})
				conn, link := linked(t, b, address, "")
				want(t, conn, Connected)
				got := make([]byte, 5)
				if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" || link.Ended() {
					t.Errorf("%q, %v, ended %t", got, err, link.Ended())
				}
				hear()
				if n, err := conn.Read(got); err != io.EOF {
					t.Errorf("%q, %v", got[:n], err)
				}
				if link.Ended() != c.ended {
					t.Errorf("ended with close_notify: %t", link.Ended())
				}
			})
		}
	}
}

// TestWorkerLeaves: an upstream that does not end its side, whether the worker had
// ended its own before or not, is left as soon as the worker leaves.
func TestWorkerLeaves(t *testing.T) {
	for _, half := range []bool{false, true} {
		gone := make(chan error, 1)
		address, roots := scripted(t, 0, func(c *tls.Conn, raw *net.TCPConn) {
			b, err := io.ReadAll(c) // to its close_notify
			if err == nil && string(b) != "the last words" {
				err = io.ErrNoProgress
			}
			io.WriteString(c, "heard")
			if err == nil {
				_, err = io.Copy(io.Discard, raw) // to its FIN, or reset where "heard" is not read
			}
			if errors.Is(err, syscall.ECONNRESET) {
				err = nil
			}
			gone <- err
		})
		b, _ := start(t, Options{ServerName: "example.com", Roots: roots})
		conn, link := linked(t, b, address, "")
		want(t, conn, Connected)
		io.WriteString(conn, "the last words")
		if half {
			conn.CloseWrite()
			if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		link.Leave()
		if err := <-gone; err != nil {
			t.Errorf("half-closed before: %t: %v", half, err)
		}
	}
}

// TestLeftBeforeItWasMade: nothing is connected to for nobody.
func TestLeftBeforeItWasMade(t *testing.T) {
	b, log := start(t, Options{Name: "x"})
	link := b.Link()
	link.Leave()
	conn, err := net.Dial("unix", b.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write(AppendPreface(nil, link.ID(), netip.MustParseAddrPort("127.0.0.1:1"), nil))
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 || len(log) > 0 {
		t.Errorf("got %q, %v; %d lines", got, err, len(log))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.links) > 0 {
		t.Errorf("%d links are left", len(b.links))
	}
}

// TestAnswerDuringUpload: an upstream that answers and takes no more of what is
// sent loses nothing of its answer.
func TestAnswerDuringUpload(t *testing.T) {
	address, roots := scripted(t, 0, func(c *tls.Conn, raw *net.TCPConn) {
		c.Read(make([]byte, 100))
		io.WriteString(c, "too much")
		c.CloseWrite()
	}) // and closes, with most of it unread: what else is sent is answered by a reset
	b, _ := start(t, Options{ServerName: "example.com", Roots: roots})
	conn, link := linked(t, b, address, "")
	want(t, conn, Connected)
	go io.Copy(conn, io.LimitReader(neverEnding{}, 16<<20))
	if got, err := io.ReadAll(conn); err != nil || string(got) != "too much" || !link.Ended() {
		t.Errorf("%q, %v, ended %t", got, err, link.Ended())
	}
}

// neverEnding gives bytes without end.
type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }
