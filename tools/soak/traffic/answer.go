package traffic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"edge/tools/soak/websocket"
)

// asked is what a path asks for: /app/KIND/TOKEN/ANSWER-BYTES/UPLOAD-BYTES.
type asked struct {
	kind   string
	token  Token
	answer int64
	upload int64
}

func (a asked) path() string {
	return fmt.Sprintf("%s/%s/%s/%d/%d", Prefix, a.kind, a.token, a.answer, a.upload)
}

func parsePath(path string) (a asked, err error) {
	part := strings.Split(path, "/")
	if len(part) != 6 {
		return a, fmt.Errorf("MIXED UP: a path that nobody asked for: %.80q", path)
	}
	token, err1 := strconv.ParseUint(part[3], 16, 64)
	a.kind, a.token = part[2], Token(token)
	var err2, err3 error
	a.answer, err2 = strconv.ParseInt(part[4], 10, 64)
	a.upload, err3 = strconv.ParseInt(part[5], 10, 64)
	return a, errors.Join(err1, err2, err3)
}

// serve answers one request.
func (t *target) serve(w http.ResponseWriter, r *http.Request) {
	t.app.active.Add(1)
	defer t.app.active.Add(-1)
	a, err := parsePath(r.URL.Path)
	if err != nil {
		t.app.judge.fault("application", 0, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if got := r.Header.Get("X-Token"); got != a.token.String() {
		t.app.judge.fault("application", a.token, fmt.Errorf("MIXED UP: it came with the token %q", got))
	}
	w.Header().Set("X-Token", a.token.String())
	if a.kind != kindEarly && a.kind != kindRefused && !t.takeUpload(r, a) {
		c, _ := t.take(w)
		t.release(c) // what is not whole is not answered
		return
	}
	t.answer(w, r, a)
}

// takeUpload reads a request's body, which must be right or visibly cut; false: it
// was cut.
func (t *target) takeUpload(r *http.Request, a asked) bool {
	err := checkStream(r.Body, a.token, uploadBytes, a.upload)
	if err != nil {
		if isFault(err) {
			t.app.judge.fault("upload", a.token, err)
		}
		return false
	}
	if a.upload > 0 && r.ContentLength < 0 && r.Trailer.Get("X-Sum") != a.token.String() {
		t.app.judge.fault("upload", a.token, fmt.Errorf("its trailers are %v", r.Trailer))
	}
	if r.Method == http.MethodPost && t.app.twice(a.token) {
		t.app.judge.fault("upload", a.token, errors.New("DOUBLED: it was sent twice"))
	}
	return true
}

// twice says that a POST was here before.
func (a *App) twice(t Token) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.posts[t]
	a.posts[t] = true
	return before
}

// forget lets go of a POST that its client knows the end of.
func (a *App) forget(t Token) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.posts, t)
}

func (t *target) answer(w http.ResponseWriter, r *http.Request, a asked) {
	body := newPattern(a.token, answerBytes)
	switch a.kind {
	case kindSocket:
		t.echo(w, r)
		return
	case kindNotModified:
		w.Header().Set("Etag", `"`+a.token.String()+`"`)
		w.WriteHeader(http.StatusNotModified)
		return
	case kindUntilClose:
		t.untilClose(w, a, &body)
		return
	case kindEvents:
		t.events(w, a)
		return
	case kindHints:
		w.Header().Set("Link", "</"+a.token.String()+">; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
	case kindChunked:
		w.Header().Set("Trailer", "X-Sum")
		for left := a.answer; left > 0; {
			n := min(left, 1+int64(body.seed%5000))
			io.CopyN(w, &body, n) // fails if the client is gone
			w.(http.Flusher).Flush()
			left -= n
		}
		w.Header().Set("X-Sum", a.token.String())
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(a.answer, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(&body, a.answer), make([]byte, 32<<10)) // fails if the client is gone
	}
}

// events sends a stream of a.answer events.
func (t *target) events(w http.ResponseWriter, a asked) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range a.answer {
		fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i, a.token)
		w.(http.Flusher).Flush()
	}
}

// take takes the connection out of the server's hands.
func (t *target) take(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic("BUG: a connection that cannot be taken: " + err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[c] = true
	return c, rw
}

func (t *target) release(c net.Conn) {
	c.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, c)
}

// untilClose answers as applications did before lengths were known.
func (t *target) untilClose(w http.ResponseWriter, a asked, body *pattern) {
	c, _ := t.take(w)
	defer t.release(c)
	c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX-Token: %s\r\nConnection: close\r\n\r\n", a.token)
	io.CopyN(c, body, a.answer) // fails if the client is gone
}

// echo is a WebSocket that gives back what it gets.
func (t *target) echo(w http.ResponseWriter, r *http.Request) {
	c, rw := t.take(w)
	defer t.release(c)
	c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nX-Token: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n", r.Header.Get("X-Token"), websocket.AcceptKey(r.Header.Get("Sec-WebSocket-Key")))
	if err := websocket.Echo(rw.Reader, c); err == websocket.ErrFrame {
		t.app.judge.fault(kindSocket, 0, fmt.Errorf("MIXED UP: %w", err))
	}
}
