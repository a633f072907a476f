package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program runs another client; the test is skipped where it is not installed.
func program(t *testing.T, input, name string, args ...string) (output string, err error) {
	t.Helper()
	path, lookErr := exec.LookPath(name)
	if lookErr != nil {
		t.Skipf("%s is not installed", name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	return string(out), err
}

// request is one request for openssl s_client, which ends with the connection.
const request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

// sClient is openssl s_client with args.
func (in *instance) sClient(t *testing.T, args ...string) (string, error) {
	t.Helper()
	all := []string{"s_client", "-connect", in.tls, "-servername", "localhost", "-CAfile", in.caFile,
		"-verify_return_error", "-tls1_3", "-ign_eof"}
	return program(t, request, "openssl", append(all, args...)...)
}

func TestOpenSSLSuites(t *testing.T) {
	in := serveDev(t, site(t))
	for _, suite := range []string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"} {
		out, err := in.sClient(t, "-ciphersuites", suite)
		if err != nil || !strings.Contains(out, "Cipher is "+suite) || !strings.Contains(out, page) {
			t.Errorf("%s: %v\n%s", suite, err, out)
		}
	}
	// No overlap: handshake_failure (RFC 9846, 4.2.1).
	out, err := in.sClient(t, "-ciphersuites", "TLS_AES_128_CCM_SHA256")
	if err == nil || !strings.Contains(out, "handshake failure") {
		t.Errorf("CCM: %v\n%s", err, out)
	}
}

func TestOpenSSLGroups(t *testing.T) {
	in := serveDev(t, site(t))
	for _, group := range []string{"X25519", "P-256", "P-384"} {
		out, err := in.sClient(t, "-groups", group)
		if err != nil || !strings.Contains(out, page) {
			t.Errorf("%s: %v\n%s", group, err, out)
		}
	}
}

// The first group listed gets the key share: of one that we do not have, a
// HelloRetryRequest asks for another (RFC 9846, 4.2.4).
func TestOpenSSLHelloRetryRequest(t *testing.T) {
	in := serveDev(t, site(t))
	for _, groups := range []string{"P-521:P-384", "P-521:X25519", "P-521:P-256"} {
		for _, more := range [][]string{nil, {"-no_middlebox"}} {
			out, err := in.sClient(t, append(more, "-msg", "-groups", groups)...)
			if hellos := strings.Count(out, ", ClientHello"); err != nil || hellos != 2 || !strings.Contains(out, page) {
				t.Errorf("%s %q: %v, %d hellos\n%s", groups, more, err, hellos, out)
			}
		}
	}
}

func TestOpenSSLResumption(t *testing.T) {
	in := serveDev(t, site(t))
	session := filepath.Join(t.TempDir(), "session.pem")
	if out, err := in.sClient(t, "-sess_out", session); err != nil || !strings.Contains(out, "New, TLSv1.3") {
		t.Fatalf("first: %v\n%s", err, out)
	}
	if _, err := os.Stat(session); err != nil {
		t.Fatalf("no ticket came: %v", err)
	}
	if out, err := in.sClient(t, "-sess_in", session); err != nil || !strings.Contains(out, "Reused, TLSv1.3") || !strings.Contains(out, page) {
		t.Errorf("second: %v\n%s", err, out)
	}
}

// Early data is refused, and the connection goes on (RFC 9846, 4.3.10).
func TestOpenSSLEarlyDataIsSkipped(t *testing.T) {
	in := serveDev(t, site(t))
	session := filepath.Join(t.TempDir(), "session.pem")
	if out, err := in.sClient(t, "-sess_out", session); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	early := filepath.Join(t.TempDir(), "early")
	writeFile(t, early, []byte("GET /early HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	out, err := in.sClient(t, "-sess_in", session, "-early_data", early)
	if err != nil || strings.Contains(out, "Early data was accepted") || !strings.Contains(out, page) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOpenSSLWithoutMiddleboxCompatibility(t *testing.T) {
	in := serveDev(t, site(t))
	if out, err := in.sClient(t, "-no_middlebox"); err != nil || !strings.Contains(out, page) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOpenSSLALPN(t *testing.T) {
	in := serveDev(t, site(t))
	if out, err := in.sClient(t, "-alpn", "foo,http/1.1"); err != nil || !strings.Contains(out, "ALPN protocol: http/1.1") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := in.sClient(t, "-alpn", "foo"); err == nil || !strings.Contains(out, "no application protocol") {
		t.Errorf("no overlap: %v\n%s", err, out)
	}
}

// Other record sizes, from the client: fragments of 512 bytes.
func TestOpenSSLSmallRecords(t *testing.T) {
	in := serveDev(t, site(t))
	if out, err := in.sClient(t, "-max_send_frag", "512", "-split_send_frag", "512"); err != nil || !strings.Contains(out, page) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCurl(t *testing.T) {
	in := serveDev(t, site(t))
	port := in.tls[strings.LastIndexByte(in.tls, ':')+1:]
	url := "https://localhost:" + port + "/"
	base := []string{"-sS", "--fail", "--noproxy", "*", "--cacert", in.caFile, "--resolve", "localhost:" + port + ":127.0.0.1", "--tlsv1.3"}
	for _, extra := range [][]string{
		nil,
		{"--http1.1"},
		{"--http2"},
		{"--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"},
		{"--curves", "P-384"},
		{"--no-alpn"},
	} {
		args := append(append([]string{}, base...), append(extra, url)...)
		out, err := program(t, "", "curl", args...)
		if err != nil || out != page {
			t.Errorf("curl %q: %v\n%s", extra, err, out)
		}
	}
	if out, err := program(t, "", "curl", append(base, "--tls-max", "1.2", "--tlsv1.2", url)...); err == nil {
		t.Errorf("TLS 1.2 was served:\n%s", out)
	}
	// Two transfers on one connection, of a file of a megabyte.
	args := append(append([]string{}, base...), "-w", "%{num_connects} ", "-o", "/dev/null", url+"big.bin", "-o", "/dev/null", url+"big.bin")
	if out, err := program(t, "", "curl", args...); err != nil || strings.TrimSpace(out) != "1 0" {
		t.Errorf("two transfers made %q connections, %v; want one, then none", out, err)
	}
}
