package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Split mode: a front that opens hellos and an origin behind it whose TLS they are
// for, both as whole programs; and an origin that we did not write.

// front starts an edge that hands opened hellos for the hidden name to the origin.
func (n *names) front(origin string, args ...string) *echServer {
	n.t.Helper()
	// The front holds the certificate of the public name alone.
	certs := n.t.TempDir()
	n.roots.AppendCertsFromPEM(writePair(n.t, certs, "public.pem", 9, publicName))
	return n.serve(append([]string{"--cert-dir", certs, "--ech", n.keys, "--origin", hiddenName + "=" + origin}, args...)...)
}

func TestSplitModeWithTwoEdges(t *testing.T) {
	n := newNames(t)
	back := n.serve("--cert-dir", n.certs, "--ech-backend", "127.0.0.1", site(t))
	front := n.front(back.tls)
	for i, conf := range []*tls.Config{n.client(n.configs(n.keys)), n.client(n.configs(n.keys))} {
		if i == 1 {
			conf.CurvePreferences = unknownGroupFirst
		}
		state, err := front.page(conf)
		if err != nil || !state.ECHAccepted || state.HelloRetryRequest != (i == 1) || state.PeerCertificates[0].DNSNames[0] != hiddenName {
			t.Fatalf("%v, accepted %v, retried %v", err, state.ECHAccepted, state.HelloRetryRequest)
		}
		l := front.line(i + 1)
		if l.ECH != "accepted" || l.SNI != publicName || l.Inner != hiddenName || l.Relay != back.tls || l.In == 0 || l.Out == 0 {
			t.Errorf("the front's log says %+v", l)
		}
		if l := back.line(i + 1); l.ECH != "accepted" || l.SNI != hiddenName || l.Host != hiddenName {
			t.Errorf("the origin's log says %+v", l)
		}
	}
	// Sessions resume: the ticket is the origin's.
	conf := n.client(n.configs(n.keys))
	conf.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	for i := range 2 {
		if state, err := front.page(conf); err != nil || !state.ECHAccepted || state.DidResume != (i == 1) {
			t.Errorf("connection %d: %v, accepted %v, resumed %v", i, err, state.ECHAccepted, state.DidResume)
		}
	}
	// A stale config is rejected by the front itself.
	var rejected *tls.ECHRejectionError
	if _, err := front.page(n.client(n.stale())); !errors.As(err, &rejected) || len(rejected.RetryConfigList) == 0 {
		t.Errorf("a stale config: %v", err)
	}
}

// The origin's log does not show the hidden name either when it may not.
func TestOriginHidesTheName(t *testing.T) {
	n := newNames(t)
	back := n.serve("--cert-dir", n.certs, "--ech-backend", "127.0.0.1", "--log-inner-name=false", site(t))
	if _, err := n.front(back.tls).page(n.client(n.configs(n.keys))); err != nil {
		t.Fatal(err)
	}
	if l := back.line(1); l.ECH != "accepted" || l.SNI != "" || l.Host != "" || l.Inner != "" {
		t.Errorf("the origin's log says %+v", l)
	}
	// A client that comes by itself has hidden nothing.
	if _, err := back.page(n.client(nil)); err != nil {
		t.Fatal(err)
	}
	if l := back.line(2); l.ECH != "none" || l.SNI != hiddenName || l.Host != hiddenName {
		t.Errorf("the origin's log says %+v", l)
	}
}

// The standard library's server takes inner hellos from anybody, once it has a
// list of keys to look at.
func TestSplitModeWithAnotherOrigin(t *testing.T) {
	n := newNames(t)
	cert, err := tls.LoadX509KeyPair(filepath.Join(n.certs, hiddenName+".pem"), filepath.Join(n.certs, hiddenName+".pem"))
	if err != nil {
		t.Fatal(err)
	}
	for name, groups := range map[string][]tls.CurveID{"at once": nil, "with a retry": {tls.CurveP384}} {
		t.Run(name, func(t *testing.T) {
			origin := pageServer(t, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13, CurvePreferences: groups})
			front := n.front(origin)
			state, err := front.page(n.client(n.configs(n.keys)))
			if err != nil || !state.ECHAccepted || state.HelloRetryRequest != (groups != nil) {
				t.Errorf("%v, accepted %v, retried %v", err, state.ECHAccepted, state.HelloRetryRequest)
			}
		})
	}
}

// pageServer serves the page over TLS to whoever comes, and returns its address.
func pageServer(t *testing.T, conf *tls.Config) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(patience))
				var request strings.Builder
				for b := make([]byte, 1000); !strings.Contains(request.String(), "\r\n\r\n"); {
					k, err := c.Read(b)
					if err != nil {
						return
					}
					request.Write(b[:k])
				}
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
			}()
		}
	}()
	return l.Addr().String()
}

// An inner hello is taken from client-facing servers alone: from anybody else it
// would be a way to claim that ECH was used (RFC 9849, 7).
func TestOriginTakesInnerHellosFromFrontsAlone(t *testing.T) {
	n := newNames(t)
	for from, want := range map[string]string{"192.0.2.1": "illegal_parameter", "127.0.0.0/8": ""} {
		back := n.serve("--cert-dir", n.certs, "--ech", n.keys, "--ech-backend", "::1,"+from, site(t))
		front := n.front(back.tls)
		state, err := front.page(n.client(n.configs(n.keys)))
		if want == "" {
			if err != nil || !state.ECHAccepted {
				t.Errorf("front within %s: %v", from, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("front %s: taken from 127.0.0.1", from)
		}
		back.waitStderr(want)
	}
}

// An origin that is not there looks like a server that is gone, and nothing of the
// hidden name is told to the client.
func TestSplitModeWithoutOrigin(t *testing.T) {
	n := newNames(t)
	front := n.front("127.0.0.1:1")
	_, err := front.page(n.client(n.configs(n.keys)))
	var op *net.OpError
	if !errors.As(err, &op) || !strings.Contains(err.Error(), "reset") {
		t.Errorf("%v: want a reset", err)
	}
	if l := front.line(1); !l.Failed || l.ECH != "accepted" {
		t.Errorf("the log says %+v", l)
	}
}
