package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"testing"
)

// Field case S07: a request for a host that a connection was not made for is turned away; which
// hosts those are is decided by the name the client sent and the certificates we
// hold (RFC 9110, 15.5.20).
func TestMisdirectedRequests(t *testing.T) {
	t.Parallel()
	certs := t.TempDir()
	writePair(t, certs, "default.pem", 1, "a.example", "*.w.example")
	writePair(t, certs, "b.pem", 2, "b.example")
	d := startDaemon(t, daemonOptions{args: []string{"--cert-dir", certs, site(t)}})
	for _, c := range []struct {
		sent, host string
		status     int
	}{
		{"a.example", "a.example", 200},
		{"a.example", "A.Example.:8443", 200},
		{"a.example", "b.example", 200}, // a certificate of ours
		{"a.example", "x.w.example", 200},
		{"a.example", "x.y.w.example", 421},
		{"a.example", "other.example", 421},
		{"a.example", "a.example.other.example", 421},
		{"a.example", "a..example", 421}, // no name at all
		{"a.example", "192.0.2.1", 200},
		{"a.example", "[2001:db8::1]:8443", 200},
		{"other.example", "other.example", 200}, // met the default certificate, and went on
		{"other.example", "a.example", 200},
		{"other.example", "another.example", 421},
		{"", "other.example", 200},
		{"", "a.example", 200},
	} {
		conn, err := d.handshake(&tls.Config{ServerName: c.sent, InsecureSkipVerify: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(conn)
		for _, method := range []string{"HEAD", "GET"} { // the connection goes on
			fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: %s\r\n\r\n", method, c.host)
			resp, err := http.ReadResponse(r, &http.Request{Method: method})
			if err != nil || resp.StatusCode != c.status {
				t.Errorf("SNI %q, Host %q: %v, %v; want %d", c.sent, c.host, resp, err, c.status)
				break
			}
			resp.Body.Close()
		}
		conn.Close()
	}
}
