package tlsstack

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Handshakes with openssl s_client over loopback, where it is installed.

// opensslTime bounds one run.
const opensslTime = time.Minute

// tcpServer serves connections one after the other until the test ends, and
// returns the address and a function that waits for the info of the next one.
func tcpServer(t *testing.T, cfg *Config) (address string, next func() Info) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback: %v", err)
	}
	infos := make(chan Info, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			infos <- serveTCP(conn, cfg)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr().String(), func() Info {
		select {
		case info := <-infos:
			return info
		case <-time.After(opensslTime):
			t.Fatal("no connection was served")
			return Info{}
		}
	}
}

// serveTCP echoes on one connection.
func serveTCP(conn net.Conn, cfg *Config) Info {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(opensslTime))
	var c Conn
	c.Init(cfg, rand.Reader)
	var pending []byte
	buf := make([]byte, 32<<10)
	for {
		n, plain, err := c.Receive(testTime, pending)
		pending = pending[n:]
		if c.Wait() == WaitDecision {
			err = c.Continue(testTime)
		}
		conn.Write(c.AppendOutput(nil))
		if err != nil {
			conn.Write(c.AppendCloseNotify(nil))
			return *c.Info()
		}
		if len(plain) > 0 {
			conn.Write(c.SealAppend(nil, plain))
		}
		if n == 0 {
			n, err := conn.Read(buf)
			if err != nil {
				return *c.Info()
			}
			pending = append(pending, buf[:n]...)
		}
	}
}

// exchangeLine is a line typed at s_client and what must be printed before the
// next one: s_client takes its commands only at the start of what it reads.
type exchangeLine struct{ send, want string }

// sClient runs openssl s_client, types the lines and Q, and returns what it
// printed.
func sClient(t *testing.T, address string, lines []exchangeLine, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), opensslTime)
	defer cancel()
	attime := strconv.FormatInt(testTime.Unix(), 10)
	args = append([]string{"s_client", "-connect", address, "-servername", testName, "-attime", attime}, args...)
	cmd := exec.CommandContext(ctx, "openssl", args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		writer.Close()
	}()
	var out []byte
	buf := make([]byte, 4096)
	for i := 0; ; {
		if i == 0 || i < len(lines) && bytes.Contains(out, []byte(lines[i-1].want)) {
			if i < len(lines) {
				io.WriteString(in, lines[i].send+"\n")
			}
			i++
		} else if i == len(lines) && bytes.Contains(out, []byte(lines[i-1].want)) {
			io.WriteString(in, "Q\n")
			i++
		}
		n, err := reader.Read(buf)
		out = append(out, buf[:n]...)
		if err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("openssl %v did not end:\n%s", args, out)
	}
	return string(out)
}

// hello is the usual exchange: the echo of a line shows that tickets were read.
var hello = []exchangeLine{{"echo-hello", "echo-hello"}}

// opensslFiles writes the authority, and a client's certificate and key.
func opensslFiles(t *testing.T) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	der, err := x509.MarshalPKCS8PrivateKey(testKeys[keyP256]())
	if err != nil {
		t.Fatal(err)
	}
	leaf := sharedCA().leaf(t, testKeys[keyP256](), x509.ExtKeyUsageClientAuth)[0]
	return write("ca.pem", pemCertificate(sharedCA().cert.Raw)), write("client.pem", pemCertificate(leaf)),
		write("client.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	ca, cert, key := opensslFiles(t)
	cases := []struct {
		name string
		auth ClientAuth
		args []string
		want []string
		has  func(Info) bool
	}{
		{"AES-128", 0, []string{"-ciphersuites", "TLS_AES_128_GCM_SHA256"}, []string{"TLS_AES_128_GCM_SHA256"}, nil},
		{"AES-256", 0, []string{"-ciphersuites", "TLS_AES_256_GCM_SHA384"}, []string{"TLS_AES_256_GCM_SHA384"}, nil},
		{"ChaCha20", 0, []string{"-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"}, []string{"TLS_CHACHA20_POLY1305_SHA256"}, nil},
		{"ChaCha20 first", 0, []string{"-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"}, []string{"TLS_CHACHA20_POLY1305_SHA256"}, nil},
		{"X25519", 0, []string{"-groups", "X25519"}, []string{"X25519"}, nil},
		{"P-256", 0, []string{"-groups", "P-256"}, nil, nil},
		{"P-384", 0, []string{"-groups", "P-384"}, nil, nil},
		{"retry", 0, []string{"-groups", "P-521:X25519"}, []string{"X25519"}, func(i Info) bool { return i.Retried }},
		{"ALPN", 0, []string{"-alpn", "http/1.1,h2"}, []string{"ALPN protocol: h2"}, func(i Info) bool { return i.ALPN == "h2" }},
		{"record size limit", 0, []string{"-maxfraglen", "512"}, nil, nil},
		{"client certificate", ClientAuthRequire, []string{"-cert", cert, "-key", key}, nil, func(i Info) bool { return i.Client != nil }},
		{"middlebox off", 0, []string{"-no_middlebox"}, nil, nil},
		{"RSA", 0, []string{"-sigalgs", "rsa_pss_rsae_sha256"}, []string{"RSA-PSS"}, nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			cfg := clientAuthConfig(t, tc.auth)
			cfg.Certificates = testConfig(t, keyP256, keyRSA).Certificates
			address, next := tcpServer(t, cfg)
			out := sClient(t, address, hello, append(tc.args, "-CAfile", ca, "-verify_return_error")...)
			info := next()
			for _, want := range append(tc.want, "Verify return code: 0 (ok)", "TLSv1.3") {
				if !strings.Contains(out, want) {
					t.Fatalf("no %q in:\n%s", want, out)
				}
			}
			if tc.has != nil && !tc.has(info) {
				t.Errorf("info is %+v", info)
			}
		})
	}
}

// TestOpenSSLResumption: a session from a file.
func TestOpenSSLResumption(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	ca, _, _ := opensslFiles(t)
	address, next := tcpServer(t, ticketConfig(t))
	session := filepath.Join(t.TempDir(), "session")
	out := sClient(t, address, hello, "-CAfile", ca, "-sess_out", session)
	next()
	saved, err := os.ReadFile(session)
	if err != nil || !bytes.Contains(saved, []byte("SSL SESSION")) {
		t.Fatalf("no session was saved: %v\n%s", err, out)
	}
	out = sClient(t, address, hello, "-CAfile", ca, "-sess_in", session)
	if info := next(); !info.Resumed || !strings.Contains(out, "Reused") {
		t.Errorf("not resumed:\n%s", out)
	}
}

// TestOpenSSLKeyUpdate: K asks for an update of ours, k does not.
func TestOpenSSLKeyUpdate(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	ca, _, _ := opensslFiles(t)
	address, next := tcpServer(t, testConfig(t))
	for _, command := range []string{"K", "k"} {
		sClient(t, address, []exchangeLine{
			{"echo-before", "echo-before"}, {command, "KEYUPDATE"}, {"echo-after", "echo-after"},
		}, "-CAfile", ca)
		next()
	}
}
