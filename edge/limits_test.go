package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Each limit is set low and passed: the answer is the one the RFC names, and the
// next client is served as ever.
func TestLimitsBite(t *testing.T) {
	for flag, tc := range map[string]struct {
		value   string
		request string
		status  int
	}{
		"--max-request-line-bytes": {"256", "GET /" + strings.Repeat("a", 300) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414},
		"--max-head-bytes":         {"8k", "GET / HTTP/1.1\r\nHost: localhost\r\nA: " + strings.Repeat("a", 9000) + "\r\n\r\n", 431},
		"--max-fields":             {"8", "GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("A: b\r\n", 8) + "\r\n", 431},
		"--max-method-bytes":       {"8", "PROPFINDS / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501},
		"--max-body-bytes":         {"10", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n", 413},
	} {
		t.Run(flag, func(t *testing.T) {
			in := serveDev(t, flag, tc.value, site(t))
			c, err := in.handshake(in.config(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, tc.request); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != tc.status || !resp.Close {
				t.Errorf("%v, %v; want %d and the end", resp, err, tc.status)
			}
			in.waitStderr(strings.TrimPrefix(flag, "--"))
			next, err := in.handshake(in.config(), nil)
			if err != nil {
				t.Fatal(err)
			}
			expectPage(t, next)
		})
	}
}

// A ClientHello longer than it may be is refused before it is whole.
func TestHelloLimit(t *testing.T) {
	in := serveDev(t, "--max-hello-bytes", "4k", site(t))
	conf := in.config()
	conf.NextProtos = []string{"http/1.1"}
	for i := range 40 {
		conf.NextProtos = append(conf.NextProtos, fmt.Sprintf("%0100d", i))
	}
	_, err := in.handshake(conf, nil)
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		t.Errorf("%v; want an alert", err)
	}
	in.waitStderr("--max-hello-bytes")
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	expectPage(t, c)
}

// ended says whether err is how a refused connection looks to its client.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// tryPage asks for the page on a connection of its own, which may be refused at
// any point, connecting included.
func (in *instance) tryPage() (body string, err error) {
	c, err := net.DialTimeout("tcp", in.plain, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	_, body, err = get(c, "/")
	return body, err
}

func TestConnectionLimits(t *testing.T) {
	for flag, most := range map[string]int{"--max-connections": 16, "--max-connections-per-address": 3} {
		t.Run(flag, func(t *testing.T) {
			in := serveDev(t, flag, fmt.Sprint(most), "--http", "127.0.0.1:0", site(t))
			var held []net.Conn
			for range most {
				c := in.dialTo(in.plain)
				expectPage(t, c)
				held = append(held, c)
			}
			if _, err := in.tryPage(); !ended(err) {
				t.Errorf("connection %d: %v; want it refused", most+1, err)
			}
			held[0].Close()
			// The place is free once the server has seen the end.
			for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				body, err := in.tryPage()
				if err == nil && body == page {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("no connection after one was closed: %v", err)
				}
			}
		})
	}
}

// Each timeout is set low and waited for: what comes is the end, never a hang.
func TestTimeoutsBite(t *testing.T) {
	for flag, tc := range map[string]struct {
		send string // on a connection after its handshake; "-": no handshake
		want string // in what comes before the end
	}{
		"--handshake-timeout": {"-", ""},
		"--idle-timeout":      {"", ""},
		"--head-timeout":      {"GET / HTTP/1.1\r\n", "HTTP/1.1 408 "},
		"--body-timeout":      {"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab", ""},
	} {
		t.Run(flag, func(t *testing.T) {
			in := serveDev(t, flag, "200ms", site(t))
			var c net.Conn = in.dial()
			if tc.send != "-" {
				var err error
				if c, err = in.handshake(in.config(), c); err != nil {
					t.Fatal(err)
				}
				io.WriteString(c, tc.send)
			}
			got, err := io.ReadAll(c)
			if err != nil && !ended(err) || !bytes.Contains(got, []byte(tc.want)) {
				t.Errorf("%q, %v; want %q and the end", got, err, tc.want)
			}
			if flag != "--idle-timeout" { // that is nobody's fault
				in.waitStderr("connection ended by " + flag)
			}
		})
	}
}

// A peer that takes nothing of its answer is cut off, and its memory is free.
func TestWriteTimeout(t *testing.T) {
	in := serveDev(t, "--write-timeout", "200ms", site(t))
	raw := in.dial()
	if err := raw.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	c, err := in.handshake(in.config(), raw)
	if err != nil {
		t.Fatal(err)
	}
	// Far more than the sockets' buffers hold.
	if _, err := io.WriteString(c, strings.Repeat("GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n", 50)); err != nil {
		t.Fatal(err)
	}
	in.waitStderr("connection ended by --write-timeout") // without a byte read
	n, err := io.Copy(io.Discard, c)
	if err == nil || n >= 50<<20 {
		t.Errorf("%d bytes and %v; want the connection cut off", n, err)
	}
}

// A request may take no longer than that as a whole, moving or not.
func TestRequestTimeout(t *testing.T) {
	in := serveDev(t, "--request-timeout", "300ms", site(t))
	c, err := in.handshake(in.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // a byte at a time keeps --body-timeout away
		if _, err = c.Write([]byte("a")); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		t.Error("a thousand bytes in ten seconds were all taken")
	}
	in.waitStderr("connection ended by --request-timeout")
}

// With few open files a worker takes fewer connections, says so, and goes on
// serving when more come than it can take.
func TestFewOpenFiles(t *testing.T) {
	t.Setenv(openFiles, "64")
	in := serveDev(t, "--http", "127.0.0.1:0", site(t))
	in.waitStderr("64 files may be open: a worker takes ")
	for range 3 {
		var storm []net.Conn
		for range 100 {
			c, err := net.DialTimeout("tcp", in.plain, patience)
			if err != nil {
				continue // refused: that is the point
			}
			storm = append(storm, c)
		}
		for _, c := range storm {
			c.Close()
		}
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		body, err := in.tryPage()
		if err == nil && body == page {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no page after the storm: %v; stderr:\n%s", err, in.stderr.String())
		}
	}
}

// Too few to serve at all is an error.
func TestTooFewOpenFiles(t *testing.T) {
	t.Setenv(openFiles, "30")
	status, out, errs := outcome(t, "serve", "--dev", "--state-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--workers", "1")
	expectRefusal(t, status, 1, out, errs, []string{"only 30 files may be open", "ulimit -n"})
}
