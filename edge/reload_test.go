package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A reload is all or nothing: what cannot be loaded leaves what is in service,
// says why, and the next good one is taken.
func TestReloadIsAllOrNothing(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	certs := t.TempDir()
	authority := writePair(t, certs, "a.pem", 1, "localhost")
	tickets := filepath.Join(t.TempDir(), "tickets")
	writeFile(t, tickets, ticketKey(t))
	d := startDaemon(t, daemonOptions{args: []string{"--cert-dir", certs, "--http", "127.0.0.1:0", "--ticket-keys", tickets, v.path}})
	d.trust(authority)

	good := readFile(t, v.path)
	failures := 0
	for _, c := range []struct {
		name        string
		spoil, mend func()
		want        string
	}{
		{"site missing", func() { os.Remove(v.path) }, func() { writeFile(t, v.path, good) }, "no such file"},
		{"site empty", func() { rename(t, "/dev/null", v.path) }, func() { v.release("0") }, v.path},
		{"site cut short", func() { writeFile(t, v.path+"x", good[:3000]); os.Rename(v.path+"x", v.path) }, func() { v.release("0") }, v.path},
		{"certificates gone", func() { os.Rename(certs, certs+".away") }, func() { os.Rename(certs+".away", certs) }, "does not exist"},
		{"ticket keys no keys", func() { writeFile(t, tickets, []byte("hello\n")) }, func() { writeFile(t, tickets, ticketKey(t)) }, "96 hex digits"},
		{"ticket keys missing", func() { os.Remove(tickets) }, func() { writeFile(t, tickets, ticketKey(t)) }, "--ticket-keys"},
	} {
		c.spoil()
		d.signal(syscall.SIGHUP)
		failures++
		d.awaitLog("reload (SIGHUP) failed, generation 1 stays in service: ", failures)
		lines := strings.Split(strings.TrimSpace(d.errors()), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, c.want) {
			t.Errorf("%s: the log says %q, want %q", c.name, last, c.want)
		}
		if got := d.version(); got != "0" {
			t.Errorf("%s: version %q", c.name, got)
		}
		c.mend()
	}
	v.release("good")
	d.signal(syscall.SIGHUP)
	d.awaitLog("reload (SIGHUP): generation 2 is in service", 1)
	if got := d.version(); got != "good" {
		t.Errorf("version %q after a good reload", got)
	}
	if c, err := d.handshake(d.config(), nil); err != nil {
		t.Errorf("after all reloads: %v", err)
	} else {
		c.Close()
	}
}

// Many at once count as one or a few, and the last state wins.
func TestFiftyHangups(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}})
	for i := range 50 {
		if i == 25 {
			v.release("last")
		}
		d.signal(syscall.SIGHUP)
	}
	d.await("the last version", func() bool { return d.version() == "last" })
	if strings.Contains(d.errors(), "failed") {
		t.Errorf("log:\n%s", d.errors())
	}
}

// A SIGHUP while the program starts neither ends it nor is in its way.
func TestHangupDuringStart(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	errorLog := filepath.Join(t.TempDir(), "error.log")
	d := launchDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--error-log", errorLog, v.path}})
	d.await("the error log", func() bool { _, err := os.Stat(errorLog); return err == nil })
	for range 20 {
		d.signal(syscall.SIGHUP)
	}
	d.awaitReady(0)
	d.await("the reload", func() bool { return bytes.Contains(readFile(t, errorLog), []byte("reload (SIGHUP): generation ")) })
	if got := d.version(); got != "0" {
		t.Errorf("version %q", got)
	}
}

// slowDownload asks for /big.bin and reads the head, and not yet the body, which
// is more than the kernel holds between two sockets.
func (d *daemon) slowDownload() net.Conn {
	d.t.Helper()
	c := d.dialTo(d.plain)
	if err := c.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil {
		d.t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		d.t.Fatal(err)
	}
	head := make([]byte, 9)
	if _, err := io.ReadFull(c, head); err != nil {
		d.t.Fatal(err)
	}
	return c
}

// bodyOf is what comes behind the head.
func bodyOf(c net.Conn) ([]byte, error) {
	b, err := io.ReadAll(c)
	_, body, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	return body, err
}

// A download that is in progress when the site is replaced gets all of the old
// file; requests that begin later get the new one.
func TestDownloadsOutliveAReplacedSite(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}})
	for i, replace := range []func(version string){
		v.release,
		func(version string) { // the same size, the same time
			info, err := os.Stat(v.path)
			if err != nil {
				t.Fatal(err)
			}
			next := v.pack(version)
			if err := os.Chtimes(next, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(next, v.path); err != nil {
				t.Skip(err) // temporary folders on different file systems
			}
		},
		func(version string) { // deleted first
			os.Remove(v.path)
			if got := d.version(); got == version {
				t.Error("a site that is not there yet is served")
			}
			v.release(version)
		},
	} {
		want := v.big
		c := d.slowDownload()
		version := fmt.Sprint(i + 1)
		replace(version)
		d.signal(syscall.SIGHUP)
		d.await("version "+version, func() bool { return d.version() == version })
		if got, err := bodyOf(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("version %s: %d bytes of %d of the old file, %v", version, len(got), len(want), err)
		}
	}
}

// Writing over a site that is in service is a mistake. It is seen: answers are cut
// short, never filled up with anything else, and the log says what to do.
func TestSiteSpoiledInPlace(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string, other []byte) error{
		"written over, shorter": func(path string, other []byte) error { return os.WriteFile(path, other[:len(other)/2], 0o600) },
		"written over, as long": func(path string, other []byte) error { return os.WriteFile(path, other, 0o600) },
		"emptied":               func(path string, _ []byte) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			v := newVersions(t)
			d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", v.path}})
			old := v.big
			c := d.slowDownload()
			other := readFile(t, v.pack("1"))
			if err := spoil(v.path, other); err != nil {
				t.Fatal(err)
			}
			got, err := bodyOf(c)
			if err == nil || len(got) >= len(old) {
				t.Errorf("the download got %d bytes of %d and %v, want it cut short", len(got), len(old), err)
			}
			if !bytes.HasPrefix(old, got) {
				t.Error("the download got bytes that are not of its file")
			}
			d.awaitLog("an answer was cut short; replace a site by renaming a new file over it, then reload", 1)
			v.release("2")
			d.signal(syscall.SIGHUP)
			d.await("version 2", func() bool { got, err := d.tryVersion(); return err == nil && got == "2" })
		})
	}
}

// --reload-on-change needs no signal. What is half-written is not taken, and what
// was there stays.
func TestReloadOnChange(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	d := startDaemon(t, daemonOptions{args: []string{"--http", "127.0.0.1:0", "--reload-on-change", v.path}})
	v.release("1")
	d.await("version 1", func() bool { return d.version() == "1" })
	next := readFile(t, v.pack("2"))
	writeFile(t, v.path+".half", next[:len(next)/2])
	if err := os.Rename(v.path+".half", v.path); err != nil {
		t.Fatal(err)
	}
	d.awaitLog("reload (site changed) failed, generation 2 stays in service", 1)
	if got := d.version(); got != "1" {
		t.Errorf("version %q with a site that is half-written", got)
	}
	rename(t, v.pack("3"), v.path)
	d.await("version 3", func() bool { return d.version() == "3" })
	if n := strings.Count(d.errors(), "failed"); n != 1 {
		t.Errorf("the half-written site was tried %d times", n)
	}
}

// It watches whatever else a reload loads; what is bad among it keeps what was there,
// and keeps nothing else from being loaded.
func TestReloadOnChangeOfTheRest(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	dir := t.TempDir()
	scripts, tickets, cas := filepath.Join(dir, "scripts"), filepath.Join(dir, "tickets"), filepath.Join(dir, "ca.pem")
	if err := os.Mkdir(scripts, 0o755); err != nil {
		t.Fatal(err)
	}
	ca := writePair(t, dir, "pair.pem", 1, "authority.example")
	writeFile(t, cas, ca)
	writeFile(t, tickets, ticketKey(t))
	d := startDaemon(t, daemonOptions{args: []string{
		"--http", "127.0.0.1:0", "--reload-on-change", "--script-dir", scripts, "--ticket-keys", tickets,
		"--client-auth", "request", "--client-ca", cas, v.path,
	}})
	change := func(path string, content []byte) {
		writeFile(t, path+"~", content) // no program by its name
		if err := os.Rename(path+"~", path); err != nil {
			t.Fatal(err)
		}
	}
	change(tickets, ticketKey(t))
	d.awaitLog("reload (ticket keys changed): generation 2 is in service", 1)
	change(cas, append(ca, ca...))
	d.awaitLog("reload (client authorities changed): generation 3 is in service", 1)
	change(filepath.Join(scripts, "bad.o"), []byte("no object"))
	d.awaitLog("reload (site changed) failed, generation 3 stays in service", 1)
	v.release("1")
	d.awaitLog("reload (site changed) failed, generation 3 stays in service", 2)
	change(tickets, []byte("no key\n"))
	d.awaitLog("reload (ticket keys changed) failed, generation 3 stays in service", 1)
	change(tickets, ticketKey(t))
	d.awaitLog("reload (ticket keys changed): generation 4 is in service", 1)
	if err := os.Remove(filepath.Join(scripts, "bad.o")); err != nil {
		t.Fatal(err)
	}
	d.awaitLog("reload (site changed): generation 5 is in service", 1)
	if got := d.version(); got != "1" {
		t.Errorf("version %q", got)
	}
}

// writePair writes a certificate that signs itself, with its key, to one file of
// dir. The serial number tells it from others.
func writePair(t testing.TB, dir, file string, serial int64, names ...string) (certificate []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), certificate...)
	writeFile(t, filepath.Join(dir, file+".next~"), both)
	if err := os.Rename(filepath.Join(dir, file+".next~"), filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
	return certificate
}

// serial is that of the certificate for a name.
func (d *daemon) serial(name string) int64 {
	d.t.Helper()
	c, err := d.handshake(&tls.Config{ServerName: name, InsecureSkipVerify: true}, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// Certificates that change are in service without a signal, and requests go on.
func TestCertificatesAreFollowed(t *testing.T) {
	t.Parallel()
	v := newVersions(t)
	certs := t.TempDir()
	writePair(t, certs, "a.pem", 1, "a.example")
	d := startDaemon(t, daemonOptions{args: []string{"--cert-dir", certs, "--http", "127.0.0.1:0", v.path}})
	if got := d.serial("a.example"); got != 1 {
		t.Fatalf("serial %d at the start", got)
	}
	writePair(t, certs, "a.pem", 2, "a.example")
	d.await("the renewed certificate", func() bool { return d.serial("a.example") == 2 })
	writePair(t, certs, "b.pem", 3, "b.example")
	d.await("one more certificate", func() bool { return d.serial("b.example") == 3 })
	os.Remove(filepath.Join(certs, "a.pem"))
	d.await("one certificate less", func() bool { return d.serial("a.example") == 3 })
	os.Remove(filepath.Join(certs, "b.pem"))
	d.awaitLog("holds no usable certificate", 1)
	if got := d.serial("b.example"); got != 3 {
		t.Errorf("serial %d after the last certificate was taken away", got)
	}
	writePair(t, certs, "c.pem", 4, "b.example")
	d.await("a certificate again", func() bool { return d.serial("b.example") == 4 })
	if got := d.version(); got != "0" {
		t.Errorf("version %q", got)
	}
}

// ECH keys that are added decrypt, and those that are taken away do not, without
// a signal.
func TestECHKeysAreFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := func() []byte {
		status, out, errs := outcome(t, "keys", "gen-ech", "--public-name", "public.localhost", "--dir", dir, "--format", "base64")
		if status != 0 {
			t.Fatal(errs)
		}
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(out))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := list()
	d := startDaemon(t, daemonOptions{args: []string{"--ech", dir, site(t)}})
	var last error
	accepted := func(configs []byte) bool {
		conf := d.config()
		conf.EncryptedClientHelloConfigList = configs
		c, err := d.handshake(conf, nil)
		if last = err; err != nil {
			return false
		}
		defer c.Close()
		return c.ConnectionState().ECHAccepted
	}
	if !accepted(first) {
		t.Fatalf("the key of the start is not accepted: %v", last)
	}
	old, err := filepath.Glob(dir + "/*.pem")
	if err != nil || len(old) != 1 {
		t.Fatalf("key files %q, %v", old, err)
	}
	both := list()
	d.await("the new key", func() bool { return accepted(both) })
	os.Remove(old[0])
	d.await("the old key's end", func() bool { return !accepted(first) })
}
