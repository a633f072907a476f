package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// askUpload asks for a small answer to an upload.
func (c *client) askUpload(kind string) asked {
	a := c.ask(kind, 300)
	a.upload = int64(c.rnd.IntN(8 << 10))
	if c.chance(6) {
		a.upload = int64(c.rnd.IntN(512 << 10))
	}
	return a
}

// method draws one for an upload.
func (c *client) method() string {
	if c.chance(20) {
		return http.MethodPut
	}
	return http.MethodPost
}

func length(a asked) string { return fmt.Sprintf("Content-Length: %d", a.upload) }

// upload is a body with a length.
func (c *client) upload(int) int {
	return c.one(c.askUpload(kindUpload), func(a asked) error {
		method := c.method()
		body := newPattern(a.token, uploadBytes)
		return c.during(
			func(w io.Writer) error {
				if _, err := io.WriteString(w, head(method, a, length(a))); err != nil {
					return err
				}
				_, err := io.CopyN(w, &body, a.upload)
				return err
			},
			func() error { return c.answer(method, a, 200) })
	})
}

// during sends and receives at the same time. If both fail, it is what was
// received that says why.
func (c *client) during(send func(w io.Writer) error, receive func() error) error {
	sent := make(chan error, 1)
	conn := c.conn // receive may end it
	go func() { sent <- send(conn) }()
	err := receive()
	if err != nil {
		conn.Close()
	}
	if sending := <-sent; err == nil && sending != nil && c.conn != nil {
		return fmt.Errorf("answered, and yet: %w", sending)
	}
	return err
}

// uploadChunked is a body in chunks, with trailers.
func (c *client) uploadChunked(int) int {
	return c.one(c.askUpload(kindUploadChunk), func(a asked) error {
		method, sizes := c.method(), c.rnd.Uint64()
		return c.during(
			func(w io.Writer) error {
				if _, err := io.WriteString(w, head(method, a, "Transfer-Encoding: chunked", "Trailer: X-Sum")); err != nil {
					return err
				}
				return chunks(w, a, a.upload, sizes)
			},
			func() error { return c.answer(method, a, 200) })
	})
}

// chunks sends the first n bytes of an upload in chunks of odd sizes, and the end
// if that is all.
func chunks(w io.Writer, a asked, n int64, sizes uint64) error {
	body := newPattern(a.token, uploadBytes)
	var b bytes.Buffer
	for left := n; left > 0; {
		sizes = spread(sizes + 1)
		k := min(left, 1+int64(sizes%9000))
		fmt.Fprintf(&b, "%x\r\n", k)
		io.CopyN(&b, &body, k)
		b.WriteString("\r\n")
		left -= k
		if b.Len() > 16<<10 || sizes%8 == 0 {
			if _, err := b.WriteTo(w); err != nil {
				return err
			}
		}
	}
	if n == a.upload {
		fmt.Fprintf(&b, "0\r\nX-Sum: %s\r\n\r\n", a.token)
	}
	_, err := b.WriteTo(w)
	return err
}

// expect waits for 100 before it sends the body.
func (c *client) expect(int) int {
	return c.one(c.askUpload(kindExpect), func(a asked) error {
		if a.upload == 0 {
			a.upload = 1
		}
		if err := c.send(head(http.MethodPost, a, length(a), "Expect: 100-continue")); err != nil {
			return err
		}
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return err
		}
		if resp.StatusCode != 100 {
			return fmt.Errorf("status %d, not 100", resp.StatusCode)
		}
		body := newPattern(a.token, uploadBytes)
		if _, err := io.CopyN(c.conn, &body, a.upload); err != nil {
			return err
		}
		return c.answer(http.MethodPost, a, 200)
	})
}

// refused offers a body, and gets the answer instead of 100.
func (c *client) refused(int) int {
	return c.one(c.askUpload(kindRefused), func(a asked) error {
		if err := c.send(head(http.MethodPost, a, length(a), "Expect: 100-continue")); err != nil {
			return err
		}
		if err := c.answer(http.MethodPost, a, 200); err != nil {
			return err
		}
		if a.upload > 0 && c.conn != nil {
			return errors.New("MIXED UP: the connection stays open, with a body due")
		}
		return nil
	})
}

// early sends a body that the application does not wait for.
func (c *client) early(int) int {
	return c.one(c.askUpload(kindEarly), func(a asked) error {
		body := newPattern(a.token, uploadBytes)
		return c.during(
			func(w io.Writer) error {
				io.WriteString(w, head(http.MethodPost, a, length(a)))
				io.CopyN(w, &body, a.upload) // fails once nobody reads it
				return nil
			},
			func() error { return c.answer(http.MethodPost, a, 200) })
	})
}
