package traffic

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// What clients ask for.
const (
	kindSmall       = "small"
	kindChunked     = "chunked"
	kindLarge       = "large"
	kindHuge        = "huge"
	kindHead        = "head"
	kindNotModified = "not-modified"
	kindHints       = "hints"
	kindUntilClose  = "until-close"
	kindUpload      = "upload"
	kindUploadChunk = "upload-chunked"
	kindExpect      = "expect"
	kindRefused     = "refused" // with Expect, and an answer before the body
	kindEarly       = "early"   // answered before the body is read
	kindPipelined   = "pipelined"
	kindSocket      = "websocket"
	kindEvents      = "events"
	kindSlow        = "slow"
	kindLeaving     = "leaving" // the client goes away in the middle
)

// mix is how often each kind is drawn, in a thousand. do does one, or as many
// requests as it says.
var mix = []struct {
	kind string
	of   int
	do   func(c *client, left int) (n int)
}{
	{kindSmall, 342, plain(kindSmall, http.MethodGet, 300)},
	{kindChunked, 90, plain(kindChunked, http.MethodGet, 20<<10)},
	{kindLarge, 80, plain(kindLarge, http.MethodGet, 128<<10)},
	{kindHuge, 2, plain(kindHuge, http.MethodGet, 2<<20)},
	{kindHead, 50, plain(kindHead, http.MethodHead, 100<<10)},
	{kindNotModified, 40, plain(kindNotModified, http.MethodGet, 300)},
	{kindHints, 30, (*client).hints},
	{kindUntilClose, 20, plain(kindUntilClose, http.MethodGet, 20<<10)},
	{kindUpload, 100, (*client).upload},
	{kindUploadChunk, 60, (*client).uploadChunked},
	{kindExpect, 10, (*client).expect},
	{kindRefused, 5, (*client).refused},
	{kindEarly, 5, (*client).early},
	{kindPipelined, 80, (*client).pipeline},
	{kindSocket, 20, (*client).socket},
	{kindEvents, 20, (*client).events},
	{kindSlow, 2, (*client).slow},
	{kindLeaving, 44, (*client).leave},
}

var mixSum = func() (n int) {
	for _, m := range mix {
		n += m.of
	}
	return n
}()

// step does what the seed says is next, of at most left requests.
func (c *client) step(left int) int {
	draw := c.rnd.IntN(mixSum)
	for _, m := range mix {
		if draw -= m.of; draw < 0 {
			return m.do(c, left)
		}
	}
	panic("BUG: a draw beyond the mix")
}

// one does one request, and has it judged.
func (c *client) one(a asked, do func(a asked) error) int {
	start := time.Now()
	err := c.connect()
	if err == nil {
		err = do(a)
	}
	c.run.app.judge.outcome(a.kind, a.token, 1, start, err)
	if err != nil {
		c.drop()
	}
	c.run.app.forget(a.token)
	return 1
}

func (c *client) ask(kind string, most int) asked {
	return asked{kind: kind, token: c.token(), answer: int64(c.rnd.IntN(most))}
}

// plain is a request without a body.
func plain(kind, method string, most int) func(*client, int) int {
	status, fields := 200, []string(nil)
	if kind == kindNotModified {
		status, fields = 304, []string{`If-None-Match: "x"`}
	}
	return func(c *client, _ int) int {
		return c.one(c.ask(kind, most), func(a asked) error {
			if err := c.send(head(method, a, fields...)); err != nil {
				return err
			}
			return c.answer(method, a, status)
		})
	}
}

// hints is an answer with 103 before it.
func (c *client) hints(int) int {
	return c.one(c.ask(kindHints, 300), func(a asked) error {
		if err := c.send(head(http.MethodGet, a)); err != nil {
			return err
		}
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			return err
		}
		if resp.StatusCode != 103 {
			if resp.StatusCode < 500 {
				return fmt.Errorf("LOST: 103; status %d came first", resp.StatusCode)
			}
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		if link := resp.Header.Get("Link"); !strings.Contains(link, a.token.String()) {
			return fmt.Errorf("MIXED UP: 103 for %q", link)
		}
		return c.answer(http.MethodGet, a, 200)
	})
}

// pipeline sends several requests before it reads their answers.
func (c *client) pipeline(left int) int {
	n := min(2+c.rnd.IntN(14), left)
	start := time.Now()
	err := c.connect()
	var b strings.Builder
	all := make([]asked, n)
	methods := make([]string, n)
	for i := range all {
		all[i], methods[i] = c.ask(kindPipelined, 2000), http.MethodGet
		if c.chance(20) {
			methods[i] = http.MethodHead
		}
		b.WriteString(head(methods[i], all[i]))
	}
	done := 0
	if err == nil {
		err = c.send(b.String())
	}
	for ; err == nil && done < n; done++ {
		if c.conn == nil {
			err = errEarlyEnd // it was announced with the last answer
			break
		}
		if err = c.answer(methods[done], all[done], 200); err != nil {
			break
		}
	}
	c.run.app.judge.outcome(kindPipelined, all[0].token, done, start, nil)
	if done < n {
		c.run.app.judge.outcome(kindPipelined, all[done].token, n-done, start, err)
		c.drop()
	}
	return n
}

// events reads a stream of events to its end.
func (c *client) events(int) int {
	return c.one(c.ask(kindEvents, 20), func(a asked) error {
		if err := c.send(head(http.MethodGet, a, "Accept: text/event-stream")); err != nil {
			return err
		}
		resp, err := c.response(http.MethodGet, a, 200)
		if err != nil {
			return err
		}
		var want strings.Builder
		for i := range a.answer {
			fmt.Fprintf(&want, "id: %d\ndata: %s\n\n", i, a.token)
		}
		got, err := io.ReadAll(resp.Body)
		switch {
		case err != nil:
			return err
		case string(got) != want.String():
			return fmt.Errorf("MIXED UP: the events are %.100q", got)
		case resp.Close:
			c.hangUp()
		}
		return nil
	})
}

// slow reads a large answer in small pieces, with pauses.
func (c *client) slow(int) int {
	c.hangUp()
	return c.one(c.ask(kindSlow, 1<<20), func(a asked) error {
		c.raw.SetReadBuffer(16 << 10)
		if err := c.send(head(http.MethodGet, a)); err != nil {
			return err
		}
		resp, err := c.response(http.MethodGet, a, 200)
		if err != nil {
			return err
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{&slowly{r: resp.Body, bytes: 16 << 10, pause: 5 * time.Millisecond}, resp.Body}
		err = c.rest(resp, http.MethodGet, a)
		c.hangUp() // the next one is not to be slow
		return err
	})
}

// slowly pauses before each piece it reads.
type slowly struct {
	r     io.Reader
	bytes int
	pause time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.r.Read(p[:min(len(p), s.bytes)])
}
