package traffic

import (
	"fmt"
	"io"
	"net/http"

	"edge/tools/soak/websocket"
)

// open makes the opening handshake of a WebSocket (RFC 6455, 4.1).
func (c *client) open(a asked) error {
	const key = "dGhlIHNhbXBsZSBub25jZQ=="
	err := c.send(head(http.MethodGet, a, "Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: "+key))
	if err != nil {
		return err
	}
	resp, err := c.response(http.MethodGet, a, 101)
	if err != nil {
		return err
	}
	if got := resp.Header.Get("Sec-WebSocket-Accept"); got != websocket.AcceptKey(key) {
		return fmt.Errorf("MIXED UP: Sec-WebSocket-Accept %q", got)
	}
	return nil
}

// socket sends messages, checks that they come back, and makes the closing
// handshake.
func (c *client) socket(int) int {
	return c.one(c.ask(kindSocket, 300), func(a asked) error {
		if err := c.open(a); err != nil {
			return err
		}
		for i := range c.rnd.IntN(8) {
			size := c.rnd.IntN(2000)
			if c.chance(5) {
				size = c.rnd.IntN(200 << 10)
			}
			p := make([]byte, size)
			body := newPattern(a.token, messageBytes+uint64(i))
			body.Read(p)
			if err := c.echoed(p); err != nil {
				return err
			}
		}
		return c.closeSocket()
	})
}

// echoed sends a message, or a ping if it is small, and reads it back.
func (c *client) echoed(p []byte) error {
	op, back := websocket.Binary, websocket.Binary
	if len(p) < 126 && c.chance(50) {
		op, back = websocket.Ping, websocket.Pong
	}
	return c.during(
		func(w io.Writer) error {
			_, err := w.Write(websocket.AppendFrame(nil, op, 0x12345678, p))
			return err
		},
		func() error {
			got, q, err := websocket.ReadFrame(c.r)
			if err == nil && (got != back || string(q) != string(p)) {
				err = fmt.Errorf("MIXED UP: a message of %d bytes came back as %d of kind %d", len(p), len(q), got)
			}
			return err
		})
}

// closeSocket closes with a status, reads it back, and then the end.
func (c *client) closeSocket() error {
	status := "\x03\xe8"
	if _, err := c.conn.Write(websocket.AppendFrame(nil, websocket.Close, 0x12345678, []byte(status))); err != nil {
		return err
	}
	op, p, err := websocket.ReadFrame(c.r)
	if err != nil {
		return err
	}
	if op != websocket.Close || string(p) != status {
		return fmt.Errorf("MIXED UP: the closing handshake ends in %d %q", op, p)
	}
	if n, err := io.Copy(io.Discard, c.r); n != 0 || err != nil {
		return fmt.Errorf("MIXED UP: after the closing handshake %d bytes and %v", n, err)
	}
	c.hangUp()
	return nil
}
