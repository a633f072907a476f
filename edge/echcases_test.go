package main

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Field cases of ECH over the whole program. Others are named where they are
// tested.

// echType is encrypted_client_hello.
const echType = 0xfe0d

// withECH is a hello, in one record, with another body of encrypted_client_hello,
// which must be its last extension but for padding of the list.
func withECH(t *testing.T, hello, body []byte) []byte {
	t.Helper()
	h := hello[recordHeaderBytes+4:]
	at := 2 + 32
	at += 1 + int(h[at])                               // session id
	at += 2 + int(binary.BigEndian.Uint16(h[at:]))     // suites
	at += 1 + int(h[at])                               // compression
	list := h[at+2:][:binary.BigEndian.Uint16(h[at:])] // extensions
	var out []byte
	found := false
	for len(list) > 0 {
		typ, n := binary.BigEndian.Uint16(list), int(binary.BigEndian.Uint16(list[2:]))
		content := list[4:][:n]
		if typ == echType {
			content, found = body, true
		}
		out = binary.BigEndian.AppendUint16(out, typ)
		out = binary.BigEndian.AppendUint16(out, uint16(len(content)))
		out = append(out, content...)
		list = list[4+n:]
	}
	if !found {
		t.Fatal("the hello has no encrypted_client_hello")
	}
	m := append(bytes.Clone(h[:at]), byte(len(out)>>8), byte(len(out)))
	m = append(m, out...)
	m = append([]byte{1, 0, byte(len(m) >> 8), byte(len(m))}, m...)
	return append([]byte{22, 3, 1, byte(len(m) >> 8), byte(len(m))}, m...)
}

// TestMalformedECHIsNotRelayed: field case E04. What is malformed is refused with
// the alert that RFC 9849 has for it, though its name is one that is relayed; what
// cannot be opened is relayed.
func TestMalformedECHIsNotRelayed(t *testing.T) {
	n := newNames(t)
	certs := t.TempDir()
	writePair(t, certs, "hidden.pem", 3, hiddenName)
	to := newTarget(t, func(c *net.TCPConn, saw *transcript) { saw.read(c, -1) })
	s := n.serve("--cert-dir", certs, "--ech", n.keys, "--relay", publicName+"="+to.address(), site(t))
	hello := clientHello(t, n.client(n.configs(n.keys)))
	head := []byte{0, 0, 1, 0, 1, 9} // outer, suite, config_id
	enc, payload := append([]byte{0, 32}, make([]byte, 32)...), append([]byte{0, 100}, make([]byte, 100)...)
	good := append(append(bytes.Clone(head), enc...), payload...)
	const illegalParameter, decodeError = 47, 50
	for name, c := range map[string]struct {
		body  []byte
		alert byte
	}{
		"a byte more":         {append(bytes.Clone(good), 0), decodeError},
		"type 7":              {[]byte{7}, illegalParameter},
		"type inner":          {[]byte{1}, illegalParameter},
		"empty payload":       {append(append(bytes.Clone(head), enc...), 0, 0), decodeError},
		"empty":               {nil, decodeError},
		"enc beyond the end":  {append(bytes.Clone(head), 0, 33, 1, 2), decodeError},
		"payload cut in half": {good[:len(good)-50], decodeError},
	} {
		conn := s.dial()
		conn.Write(withECH(t, hello, c.body))
		conn.(*net.TCPConn).CloseWrite()
		var saw transcript
		if saw.read(conn, -1); !bytes.Equal(saw.got, []byte{21, 3, 3, 0, 2, 2, c.alert}) {
			t.Errorf("%s: answered with %x, want the alert %d and no more", name, saw.got, c.alert)
		}
	}
	relayed := withECH(t, hello, good)
	conn := s.dial()
	conn.Write(relayed)
	conn.(*net.TCPConn).CloseWrite()
	if saw := to.saw(); !bytes.Equal(saw.got, relayed) {
		t.Errorf("the target saw %d bytes, want the hello that cannot be opened", len(saw.got))
	}
	if line := s.counters(); !strings.Contains(line, "relayed: 1 all") {
		t.Error(line)
	}
}

// TestGREASEIsServedHere: field case E08. GREASE for a name that there is a
// certificate for has nothing to do with the public name's server.
func TestGREASEIsServedHere(t *testing.T) {
	n := newNames(t)
	certs := t.TempDir()
	n.roots.AppendCertsFromPEM(writePair(t, certs, "hidden.pem", 3, hiddenName))
	s := n.serve("--cert-dir", certs, "--ech", n.keys, "--relay", publicName+"=127.0.0.1:1", site(t))
	other := filepath.Join(t.TempDir(), "other")
	n.command("keys", "gen-ech", "--public-name", hiddenName, "--dir", other)
	var rejected *tls.ECHRejectionError
	if _, err := s.page(n.client(n.configs(other))); !errors.As(err, &rejected) || !bytes.Equal(rejected.RetryConfigList, n.configs(n.keys)) {
		t.Errorf("%v: want a whole handshake, and the configs", err)
	}
	if line := s.counters(); !strings.Contains(line, "1 grease") || !strings.Contains(line, "relayed: 0 all") {
		t.Error(line)
	}
}

// keyFiles are key files of every kind, made of good ones: their text, and whether
// they can be used.
func keyFiles(t *testing.T, n *names) map[string]struct {
	text string
	good bool
} {
	t.Helper()
	var texts []string
	for range 3 {
		dir := filepath.Join(t.TempDir(), "made")
		n.generate(dir)
		files, err := filepath.Glob(filepath.Join(dir, "*.pem"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		texts = append(texts, string(readFile(t, files[0])))
	}
	const cut = "-----BEGIN ECHCONFIG"
	key, config, _ := strings.Cut(texts[0], cut)
	_, other, _ := strings.Cut(texts[1], cut)
	return map[string]struct {
		text string
		good bool
	}{
		"crlf.pem":      {strings.ReplaceAll(texts[1], "\n", "\r\n"), true},
		"same.pem":      {texts[0], true},
		"mismatch.pem":  {key + cut + other, false},
		"swapped.pem":   {cut + config + key, true},
		"twice.pem":     {key + cut + config + cut + config, true},
		"alone.pem":     {key, false},
		"empty.pem":     {"", false},
		"truncated.pem": {texts[2][:len(texts[2])/2], false},
		"letters.pem":   {strings.Replace(texts[2], "MC4C", "!C4C", 1), false},
	}
}

// TestKeyDirectoryWithBadFiles: field case E14. Bad files are named, and the others
// serve; a reload with bad files changes nothing; and no private key is in anything
// that is printed.
func TestKeyDirectoryWithBadFiles(t *testing.T) {
	n := newNames(t)
	var secrets []string
	remember := func(text string) {
		if block, _ := pem.Decode([]byte(text)); block != nil && block.Type == "PRIVATE KEY" {
			raw := block.Bytes[len(block.Bytes)-32:]
			secrets = append(secrets, base64.StdEncoding.EncodeToString(block.Bytes)[24:], base64.StdEncoding.EncodeToString(raw)[:40],
				hex.EncodeToString(raw), string(raw))
		}
	}
	published := n.configs(n.keys)
	files := keyFiles(t, n)
	for name, f := range files {
		writeFile(t, filepath.Join(n.keys, name), []byte(f.text))
		remember(f.text)
	}
	s := n.serve("--cert-dir", n.certs, "--ech", n.keys, site(t))
	for name, f := range files {
		if named := strings.Contains(s.stderr.String(), "ECH key file "+name+": "); named == f.good {
			t.Errorf("%s: named %v at the start:\n%s", name, named, s.stderr.String())
		}
	}
	accepted := func(when string) {
		t.Helper()
		if state, err := s.page(n.client(published)); err != nil || !state.ECHAccepted {
			t.Errorf("%s: %v, accepted %v", when, err, state.ECHAccepted)
		}
	}
	accepted("with bad files beside it")

	// A reload keeps what there is, whatever was taken away.
	good, err := filepath.Glob(filepath.Join(n.keys, "public.example-*.pem"))
	if err != nil || len(good) != 1 {
		t.Fatal(good, err)
	}
	remember(string(readFile(t, good[0])))
	if err := os.Remove(good[0]); err != nil {
		t.Fatal(err)
	}
	s.hangup("reload (SIGHUP) failed, generation 1 stays in service")
	accepted("after a reload that failed")

	_, list, errs := outcome(t, "keys", "list", "--dir", n.keys)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.waitStderr("counters: ")
	for _, secret := range secrets {
		for from, text := range map[string]string{"stderr": s.stderr.String(), "access log": string(readFile(t, s.access)), "keys list": list + errs} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows a private key: %s", from, text)
			}
		}
	}
	if len(secrets) == 0 {
		t.Error("no private key was looked for")
	}
}
