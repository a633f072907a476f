package gateway

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// Server names in hellos, and hosts in requests.

// Field case S01, SNI: every spelling of a name, which certificate it gets, or the
// alert. What is not a host name is not an error, unless --strict-sni is given.
func TestServerNameForms(t *testing.T) {
	one := func(name string) []byte {
		entry := append([]byte{0}, vector16([]byte(name))...)
		return vector16(entry)
	}
	const unrecognized, decode, illegal = 112, 50, 47
	longest := strings.Repeat("a.", 123) + "example" // 253 bytes
	cases := []struct {
		what   string
		body   []byte
		cert   int  // which certificate: 0 is the default one
		strict byte // alert with --strict-sni
		alert  byte // alert in any case
	}{
		{"as it is", one("a.example"), 1, 0, 0},
		{"upper case", one("A.Example"), 1, 0, 0},
		{"trailing dot", one("a.example."), 1, 0, 0},
		{"two trailing dots", one("a.example.."), 0, unrecognized, 0},
		{"wildcard", one("W.B.example."), 2, 0, 0},
		{"two labels for a wildcard", one("v.w.b.example"), 0, unrecognized, 0},
		{"underscore", one("foo_bar.b.example"), 2, 0, 0},
		{"punycode", one("xn--bcher-kva.example"), 3, 0, 0},
		{"punycode, upper case", one("XN--BCHER-KVA.example"), 3, 0, 0},
		{"UTF-8", one("bücher.example"), 3, 0, 0},
		{"UTF-8, upper case", one("BÜCHER.EXAMPLE."), 3, 0, 0},
		{"UTF-8 of nothing we have", one("bäcker.example"), 0, unrecognized, 0},
		{"broken UTF-8", one("b\xfccher.example"), 0, unrecognized, 0},
		{"empty label", one("a..example"), 0, unrecognized, 0},
		{"leading dot", one(".a.example"), 0, unrecognized, 0},
		{"wildcard itself", one("*.b.example"), 0, unrecognized, 0},
		{"NUL", one("a.example\x00"), 0, unrecognized, 0},
		{"a port", one("a.example:443"), 0, unrecognized, 0},
		{"a path", one("../../a.example"), 0, unrecognized, 0},
		{"IPv4", one("192.0.2.1"), 0, unrecognized, 0},
		{"IPv4, short", one("127.1"), 0, unrecognized, 0},
		{"IPv6", one("::1"), 0, unrecognized, 0},
		{"IPv6 in brackets", one("[::1]"), 0, unrecognized, 0},
		{"253 bytes", one(longest), 0, unrecognized, 0},
		{"254 bytes", one("a" + longest), 0, unrecognized, 0},
		{"none", nil, 0, 0, 0},
		{"empty name", one(""), 0, 0, decode},
		{"empty list", vector16(nil), 0, 0, decode},
		{"two names", vector16(append(one("a.example")[2:], one("b.example")[2:]...)), 0, 0, illegal},
	}
	for _, strict := range []bool{false, true} {
		b := newTLSBench(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) { c.StrictSNI = strict }},
			[]string{"default.example"}, []string{"a.example"}, []string{"*.b.example"}, []string{"xn--bcher-kva.example"})
		for _, c := range cases {
			want := c.alert
			if strict && want == 0 {
				want = c.strict
			}
			p := b.secure.Dial()
			p.Write(helloWithName(t, c.body))
			b.sim.Idle()
			got := p.Read()
			switch {
			case want != 0:
				if !bytes.Equal(got, []byte{21, 3, 3, 0, 2, 2, want}) {
					t.Errorf("%s, strict %v: got %.10x, want alert %d", c.what, strict, got, want)
				}
			case len(got) < 6 || got[0] != 22 || got[5] != 2:
				t.Errorf("%s, strict %v: got %.10x, want a ServerHello", c.what, strict, got)
			default:
				info := b.onlyConn().tls.Info()
				if cred := b.s.current().certs.byPair[c.cert]; info.Credential != cred || info.DefaultCert != (c.cert == 0) {
					t.Errorf("%s, strict %v: the certificate is not number %d", c.what, strict, c.cert)
				}
			}
			p.Close()
			b.sim.Idle()
		}
		b.done()
	}
}

// Looking a name up allocates nothing, unless it is in UTF-8.
func TestCredentialsAllocateNothing(t *testing.T) {
	b := newTLSBench(t, benchOptions{}, []string{"a.example", "*.b.example"})
	certs := b.s.current().certs
	for _, name := range []string{"a.example", "w.b.example", "other.example", "a..example"} {
		raw := []byte(name)
		if n := testing.AllocsPerRun(100, func() { certs.Credentials(raw) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Field case S01, Host: the same spellings mean the same host as in SNI; a host that
// is nothing of ours is not served on a connection for another (RFC 9110, 15.5.20).
func TestHostForms(t *testing.T) {
	b := newTLSBench(t, benchOptions{sim: sim.Options{Calm: true}},
		[]string{"default.example"}, []string{"a.example"}, []string{"*.b.example"}, []string{"xn--bcher-kva.example"})
	for host, want := range map[string]int{
		"a.example":             200,
		"A.EXAMPLE":             200,
		"a.example.":            200,
		"A.Example.:8443":       200,
		"foo_bar.b.example":     200,
		"xn--bcher-kva.example": 200,
		"XN--bcher-kva.example": 200,
		"192.0.2.1":             200,
		"[::1]:8080":            200,
		"other.example":         421,
		"v.w.b.example":         421,
		"a.example..":           421,
		"a..example":            421,
		"":                      400,
		"a.example:99999":       400,
	} {
		c := b.dial("a.example")
		if got := b.askTLS(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n", "GET").StatusCode; got != want {
			t.Errorf("Host %q: %d, want %d", host, got, want)
		}
		c.Close()
		b.sim.Idle()
	}
	b.done()
}

func vector16(body []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(body))), body...)
}

// helloWithName is the record of a ClientHello whose server_name extension has the
// body given; nil leaves the extension out.
func helloWithName(t *testing.T, body []byte) []byte {
	t.Helper()
	var kept keepConn
	tls.Client(&kept, &tls.Config{ServerName: "placeholder.example", InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}).Handshake()
	msg := kept.sent[5+4:]
	at := 2 + 32
	at += 1 + int(msg[at])                           // legacy_session_id
	at += 2 + int(binary.BigEndian.Uint16(msg[at:])) // cipher_suites
	at += 1 + int(msg[at])                           // legacy_compression_methods
	var extensions []byte
	for rest := msg[at+2:]; len(rest) > 0; {
		n := 4 + int(binary.BigEndian.Uint16(rest[2:]))
		if binary.BigEndian.Uint16(rest) != 0 {
			extensions = append(extensions, rest[:n]...)
		} else if body != nil {
			extensions = append(append(extensions, 0, 0), vector16(body)...)
		}
		rest = rest[n:]
	}
	msg = slices.Concat(msg[:at], vector16(extensions))
	msg = slices.Concat([]byte{1, 0}, vector16(msg))
	return slices.Concat([]byte{22, 3, 1}, vector16(msg))
}

// keepConn keeps what is written to it, and has nothing to read.
type keepConn struct {
	net.Conn
	sent []byte
}

func (k *keepConn) Write(p []byte) (int, error) {
	k.sent = append(k.sent, p...)
	return len(p), nil
}
func (*keepConn) Read([]byte) (int, error) { return 0, io.EOF }
