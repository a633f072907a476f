package traffic

import (
	"io"
	"net/http"
	"time"

	"edge/tools/soak/websocket"
)

// leave begins something and goes away in the middle of it.
func (c *client) leave(int) int {
	start := time.Now()
	token := c.next + 1
	err := c.connect()
	if err == nil {
		c.conn.SetDeadline(time.Now().Add(5 * time.Second)) // a failure of any kind will do
		switch c.rnd.IntN(5) {
		case 0:
			c.leaveHead()
		case 1:
			c.leaveUpload()
		case 2:
			c.leaveChunked()
		case 3:
			c.leaveSocket()
		default:
			err = c.leaveAnswer()
		}
	}
	if !isFault(err) {
		err = nil
	}
	c.drop()
	c.run.app.judge.outcome(kindLeaving, token, 1, start, err)
	return 1
}

// leaveHead goes before a request is whole.
func (c *client) leaveHead() {
	h := head(http.MethodGet, c.ask(kindSmall, 300))
	c.send(h[:c.rnd.IntN(len(h))]) // whatever comes of it
}

// leaveUpload goes within a body with a length.
func (c *client) leaveUpload() {
	a := c.askUpload(kindUpload)
	a.upload++
	body := newPattern(a.token, uploadBytes)
	if c.send(head(http.MethodPost, a, length(a))) == nil {
		io.CopyN(c.conn, &body, c.rnd.Int64N(a.upload)) // whatever comes of it
	}
}

// leaveChunked goes within a body in chunks.
func (c *client) leaveChunked() {
	a := c.askUpload(kindUploadChunk)
	a.upload++
	if c.send(head(http.MethodPost, a, "Transfer-Encoding: chunked")) == nil {
		chunks(c.conn, a, c.rnd.Int64N(a.upload), c.rnd.Uint64()) // whatever comes of it
	}
}

// leaveAnswer goes before or within an answer. What it reads must be right.
func (c *client) leaveAnswer() error {
	kind := []string{kindLarge, kindHuge, kindChunked, kindUntilClose, kindEvents}[c.rnd.IntN(5)]
	a := c.ask(kind, 300<<10)
	if kind == kindEvents {
		a.answer = 1000
	}
	if err := c.send(head(http.MethodGet, a)); err != nil || c.chance(30) {
		return err
	}
	resp, err := c.response(http.MethodGet, a, 200)
	if err != nil || kind == kindEvents || a.answer == 0 {
		return err
	}
	_, err = io.CopyN(newChecker(a.token, answerBytes), resp.Body, c.rnd.Int64N(a.answer))
	return err
}

// leaveSocket goes in the middle of an echo.
func (c *client) leaveSocket() {
	a := c.ask(kindSocket, 300)
	if c.open(a) == nil {
		p := make([]byte, c.rnd.IntN(100<<10))
		f := websocket.AppendFrame(nil, websocket.Binary, 1, p)
		c.conn.Write(f[:c.rnd.IntN(len(f))]) // whatever comes of it
	}
}
