package traffic

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

// client is one client, which has one connection at a time and does one thing
// after the other, as its seed has it.
type client struct {
	run  *run
	rnd  *rand.Rand
	next Token // of its next request

	raw  *net.TCPConn
	conn net.Conn // raw, or TLS over it
	r    *bufio.Reader
}

// errEarlyEnd is the end of a connection that nobody announced.
var errEarlyEnd = errors.New("LOST: the connection ended without an answer")

// token takes the next token. Those of two clients are never the same.
func (c *client) token() Token {
	c.next++
	return c.next
}

// connect makes sure that there is a connection.
func (c *client) connect() error {
	if c.conn != nil {
		c.conn.SetDeadline(time.Now().Add(patience))
		return nil
	}
	to := c.run.o.Plain
	overTLS := to == "" || c.run.o.TLS != "" && c.chance(50)
	if overTLS {
		to = c.run.o.TLS
	}
	raw, err := net.DialTimeout("tcp", to, patience)
	if err != nil {
		return err
	}
	c.raw = raw.(*net.TCPConn)
	c.conn = raw
	if overTLS {
		c.conn = tls.Client(raw, c.run.conf)
	}
	c.conn.SetDeadline(time.Now().Add(patience))
	c.r = bufio.NewReaderSize(c.conn, 16<<10)
	return nil
}

// hangUp ends the connection in good order.
func (c *client) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// drop ends the connection in one of the ways that clients go away.
func (c *client) drop() {
	if c.conn == nil {
		return
	}
	switch {
	case c.chance(50):
		c.raw.SetLinger(0) // a reset
		c.raw.Close()
	case c.chance(50):
		c.raw.Close() // FIN, and no close_notify
	default:
		c.conn.Close()
	}
	c.conn = nil
}

func (c *client) chance(percent int) bool { return c.rnd.IntN(100) < percent }

// head is a request's head.
func head(method string, a asked, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nX-Token: %s\r\n", method, a.path(), a.token)
	for _, f := range fields {
		b.WriteString(f)
		b.WriteString("\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

// send writes s.
func (c *client) send(s string) error {
	_, err := io.WriteString(c.conn, s)
	return err
}

// response reads a response head, and checks that it is the answer to a: from the
// application, with its token.
func (c *client) response(method string, a asked, status int) (*http.Response, error) {
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errEarlyEnd
	}
	if err != nil {
		return nil, err
	}
	if token := resp.Header.Get("X-Token"); token != a.token.String() && (token != "" || resp.StatusCode == status) {
		return nil, fmt.Errorf("MIXED UP: status %d came with the token %q", resp.StatusCode, token)
	}
	if resp.StatusCode != status {
		return nil, fmt.Errorf("status %d, not %d", resp.StatusCode, status)
	}
	return resp, nil
}

// answer reads the whole answer to a.
func (c *client) answer(method string, a asked, status int) error {
	resp, err := c.response(method, a, status)
	if err != nil {
		return err
	}
	return c.rest(resp, method, a)
}

// rest reads the body of an answer, and heeds what it says of the connection.
func (c *client) rest(resp *http.Response, method string, a asked) error {
	want := a.answer
	if method == http.MethodHead || resp.StatusCode == http.StatusNotModified {
		want = 0
	}
	if err := checkStream(resp.Body, a.token, answerBytes, want); err != nil {
		return err
	}
	if a.kind == kindChunked && resp.Trailer.Get("X-Sum") != a.token.String() {
		return fmt.Errorf("MIXED UP: its trailers are %v", resp.Trailer)
	}
	if resp.Close {
		c.hangUp()
	}
	return nil
}
