package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// newCompressBench is newProxyBench with --compress zstd,br,gzip.
func newCompressBench(t *testing.T, o benchOptions) *bench {
	t.Helper()
	return newBench(t, compressOptions(t, o))
}

func compressOptions(t *testing.T, o benchOptions) benchOptions {
	before := o.config
	o.config = func(c *config.Config) {
		c.Compress = []string{"zstd", "br", "gzip"}
		if before != nil {
			before(c)
		}
	}
	o = proxyOptions(t, o, false)
	proxy := o.server
	o.server = func(s *server) {
		proxy(s)
		if err := s.setUpCompress(); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// compressDone is done, and all encoders are back.
func (b *bench) compressDone() {
	b.t.Helper()
	b.done()
	if z := b.w.compress; z.pool.InUse() != 0 || len(z.listed) != 0 || z.pool.Idle() != 0 {
		b.t.Errorf("%d encoders in use, %d idle, %d listed", z.pool.InUse(), z.pool.Idle(), len(z.listed))
	}
}

// getCoded asks for a path, with Accept-Encoding and further fields.
func getCoded(path, accept string, fields ...string) string {
	raw := "GET " + path + " HTTP/1.1\r\nHost: a.example\r\nAccept-Encoding: " + accept + "\r\n"
	for _, f := range fields {
		raw += f + "\r\n"
	}
	return raw + "\r\n"
}

// prose is n bytes of text.
func prose(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "<p>paragraph %d, of %x words</p>\n", i, i*i*2654435761)
	}
	return b.String()[:n]
}

// decoder reads coded bytes.
func decoder(t *testing.T, coding string, coded io.Reader) io.Reader {
	t.Helper()
	switch coding {
	case "br":
		return brotli.NewReader(coded)
	case "gzip":
		z, err := gzip.NewReader(coded)
		if err != nil {
			t.Fatal(err)
		}
		return z
	case "zstd":
		z, err := zstd.NewReader(coded, zstd.WithDecoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	t.Fatalf("Content-Encoding is %q", coding)
	return nil
}

// decoded is the body of an answer that must be coded so.
func decoded(t *testing.T, resp *http.Response, coding string) string {
	t.Helper()
	if got := resp.Header.Get("Content-Encoding"); got != coding {
		t.Fatalf("status %d, Content-Encoding is %q, want %q", resp.StatusCode, got, coding)
	}
	b, err := io.ReadAll(decoder(t, coding, resp.Body))
	if err != nil {
		t.Fatalf("%s: %v", coding, err)
	}
	return string(b)
}

// wantHeader compares fields, each "Name: value"; an empty value is for none.
func wantHeader(t *testing.T, name string, resp *http.Response, fields ...string) {
	t.Helper()
	for _, line := range fields {
		f, want, _ := strings.Cut(line, ": ")
		if got := strings.Join(resp.Header.Values(f), " | "); got != want {
			t.Errorf("%s: %s is %q, want %q", name, f, got, want)
		}
	}
}

// appAnswer has the application's connection answer, in one piece, and returns
// what the client got once nothing moves any more.
func appAnswer(t *testing.T, b *bench, app *sim.Backend, ask, answer string, end bool) []byte {
	t.Helper()
	p := b.plain.Dial()
	p.Write(ask)
	b.sim.Idle()
	conn := app.Accept("a request")
	request(t, b, conn)
	conn.Write(answer)
	b.sim.Idle()
	if end {
		conn.CloseWrite()
		b.sim.Idle()
	}
	got := p.Read()
	p.Close()
	conn.Close()
	b.sim.Idle()
	return got
}

func lengthAnswer(body string, fields ...string) string {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n", len(body))
	for _, f := range fields {
		head += f + "\r\n"
	}
	return head + "\r\n" + body
}

func TestCompressesProxiedAnswers(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	app := b.sim.Serve(appOne)
	for _, size := range []int{512, 3000, 100 << 10, 1 << 20} {
		body := prose(size)
		chunked := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n5;x=y\r\n%s\r\n0\r\nX-Sum: 1\r\nRepr-Digest: sha-256=:x:\r\n\r\n",
			size-5, body[:size-5], body[size-5:])
		for _, coding := range []string{"zstd", "br", "gzip"} {
			name := fmt.Sprintf("%d bytes, %s", size, coding)
			got := appAnswer(t, b, app, getCoded("/api/x", coding), lengthAnswer(body, "Content-Type: text/html", `ETag: "abc"`, "Vary: Origin", "Accept-Ranges: bytes"), false)
			resp := exchanged(t, got, "GET")[0]
			if decoded(t, resp, coding) != body {
				t.Errorf("%s: the body differs", name)
			}
			if len(got) > size/2+500 {
				t.Errorf("%s: %d bytes are left", name, len(got))
			}
			wantHeader(t, name, resp, "Vary: Origin, Accept-Encoding", `ETag: W/"abc"`, "Accept-Ranges: ", "Content-Length: ", "Content-Type: text/html")
			if resp.Close || len(resp.TransferEncoding) != 1 {
				t.Errorf("%s: Transfer-Encoding %q, or the connection closes", name, resp.TransferEncoding)
			}
			got = appAnswer(t, b, app, getCoded("/api/x", coding), chunked, false)
			resp = exchanged(t, got, "GET")[0]
			if decoded(t, resp, coding) != body {
				t.Errorf("%s, chunked: the body differs", name)
			}
			if !bytes.HasSuffix(got, []byte("\r\n0\r\nX-Sum: 1\r\n\r\n")) {
				t.Errorf("%s, chunked: it ends in %q", name, got[len(got)-50:])
			}
			got = appAnswer(t, b, app, getCoded("/api/x", coding), "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"+body, true)
			if decoded(t, exchanged(t, got, "GET")[0], coding) != body {
				t.Errorf("%s, until close: the body differs", name)
			}
		}
	}
	b.compressDone()
}

// Neither where the application's bytes are cut, nor where its chunks are, makes a
// difference.
func TestCompressedAnswersCutAtEveryByte(t *testing.T) {
	b := newCompressBench(t, benchOptions{sim: sim.Options{Calm: true}})
	app := b.sim.Serve(appOne)
	body := prose(600)
	for i, raw := range []string{
		lengthAnswer(body, "Content-Type: text/html"),
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n" + body[:256] + "\r\n158\r\n" + body[256:] + "\r\n0\r\nX-Sum: 1\r\n\r\n",
	} {
		coding := []string{"zstd", "br"}[i]
		for cut := 1; cut < len(raw); cut++ {
			p := b.plain.Dial()
			p.Write(getCoded("/api", coding, "Connection: close"))
			b.sim.Idle()
			conn := app.Accept("a request")
			request(t, b, conn)
			conn.Write(raw[:cut])
			b.sim.Idle()
			conn.Write(raw[cut:])
			b.sim.Idle()
			if got := decoded(t, exchanged(t, p.Read(), "GET")[0], coding); got != body {
				t.Fatalf("%s cut at %d: the body differs", coding, cut)
			}
			p.Close()
			conn.Close()
			b.sim.Idle()
		}
	}
	b.compressDone()
}

// An event is with the client as soon as it is with us, and the stream may be
// silent for as long as it likes (P08).
func TestEventsAreNotHeldBack(t *testing.T) {
	for _, coding := range []string{"zstd", "br", "gzip"} {
		b := newCompressBench(t, benchOptions{})
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(getCoded("/api/events", coding))
		b.sim.Idle()
		conn := app.Accept("the request")
		request(t, b, conn)
		conn.Write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
		b.sim.Idle()
		got := p.Read()
		if !bytes.Contains(got, []byte("\r\n\r\n")) {
			t.Fatalf("%s: the head is held back: %q", coding, got)
		}
		want := ""
		for i := range 20 {
			event := fmt.Sprintf("data: event %d\n\n", i)
			want += event
			conn.Write(fmt.Sprintf("%x\r\n%s\r\n", len(event), event))
			b.sim.Idle()
			got = append(got, p.Read()...)
			resp, err := http.ReadResponse(bufioReader(got), nil)
			if err != nil {
				t.Fatal(err)
			}
			seen := make([]byte, len(want))
			if _, err := io.ReadFull(decoder(t, coding, resp.Body), seen); err != nil || string(seen) != want {
				t.Fatalf("%s, event %d: %q: %v", coding, i, seen, err)
			}
		}
		conn.Write("0\r\n\r\n")
		b.sim.Idle()
		if decoded(t, exchanged(t, append(got, p.Read()...), "GET")[0], coding) != want {
			t.Errorf("%s: the stream differs", coding)
		}
		p.Close()
		conn.Close()
		b.compressDone()
	}
}

// An application that breaks off is seen to break off.
func TestTruncatedIsNotMadeWhole(t *testing.T) {
	body := prose(5000)
	for name, answer := range map[string]string{
		"length":  lengthAnswer(body, "Content-Type: text/html")[:4000],
		"chunked": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + body[:4000],
		"junk":    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + body[:1000] + "\r\n5these\r\n",
	} {
		b := newCompressBench(t, benchOptions{})
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write(getCoded("/api", "gzip"))
		b.sim.Idle()
		conn := app.Accept(name)
		request(t, b, conn)
		conn.Write(answer)
		b.sim.Idle()
		conn.CloseWrite()
		b.sim.Idle()
		if got := p.Read(); bytes.HasSuffix(got, []byte("0\r\n\r\n")) || !p.WasReset() {
			t.Errorf("%s: a clean end of %d bytes", name, len(got))
		}
		conn.Close()
		b.compressDone()
	}
}

// bodies that may not be touched pass by, but for Vary where another client would
// have got them compressed.
func TestLeavesAnswersAlone(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	app := b.sim.Serve(appOne)
	body := prose(2000)
	const html = "Content-Type: text/html"
	for _, c := range []struct {
		name, ask, answer, vary string
	}{
		{"an image", getCoded("/api", "gzip"), lengthAnswer(body, "Content-Type: image/png", `ETag: "a"`), ""},
		{"coded already", getCoded("/api", "gzip"), lengthAnswer(body, html, "Content-Encoding: x-own", `ETag: "a"`), ""},
		{"no-transform", getCoded("/api", "gzip"), lengthAnswer(body, html, "Cache-Control: no-transform", `ETag: "a"`), ""},
		{"a digest", getCoded("/api", "gzip"), lengthAnswer(body, html, "Repr-Digest: sha-256=:x:", `ETag: "a"`), ""},
		{"another client", getCoded("/api", "deflate"), lengthAnswer(body, html, `ETag: "a"`), "Accept-Encoding"},
		{"a client that wants it as it is", getCoded("/api", "gzip", "Cache-Control: no-transform"), lengthAnswer(body, html, `ETag: "a"`, "Vary: *"), "*"},
		{"HTTP/1.0", "GET /api HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n", lengthAnswer(body, html, `ETag: "a"`), "Accept-Encoding"},
		{"a part", getCoded("/api", "gzip", "Range: bytes=0-1999"), strings.Replace(lengthAnswer(body, html, `ETag: "a"`, "Content-Range: bytes 0-1999/5000"), "200 OK", "206 Partial Content", 1), "Accept-Encoding"},
	} {
		resp := exchanged(t, appAnswer(t, b, app, c.ask, c.answer, false), "GET")[0]
		if string(bodyOf(t, resp)) != body || resp.ContentLength != int64(len(body)) {
			t.Errorf("%s: the body differs, or Content-Length is %d", c.name, resp.ContentLength)
		}
		wantHeader(t, c.name, resp, "Vary: "+c.vary, `ETag: "a"`)
	}
	short := exchanged(t, appAnswer(t, b, app, getCoded("/api", "gzip"), lengthAnswer("short", html), false), "GET")[0]
	wantHeader(t, "short", short, "Vary: ", "Content-Encoding: ", "Content-Length: 5")
	b.compressDone()
}

// HEAD is answered with what GET would be, and 304 with the entity tag that the
// client knows.
func TestCompressedWithoutBody(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	app := b.sim.Serve(appOne)
	ask := strings.Replace(getCoded("/api", "br, gzip"), "GET", "HEAD", 1)
	got := appAnswer(t, b, app, ask, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nContent-Type: text/css\r\nETag: \"a\"\r\n\r\n", false)
	resp := exchanged(t, got, "HEAD")[0]
	wantHeader(t, "HEAD", resp, "Content-Encoding: br", "Vary: Accept-Encoding", `ETag: W/"a"`, "Content-Length: ", "Transfer-Encoding: ")
	const unchanged = "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"
	resp = exchanged(t, appAnswer(t, b, app, getCoded("/api", "br", `If-None-Match: W/"a"`), unchanged, false), "GET")[0]
	wantHeader(t, "304", resp, "Vary: Accept-Encoding", `ETag: W/"a"`)
	resp = exchanged(t, appAnswer(t, b, app, getCoded("/api", "br", `If-None-Match: "a"`), unchanged, false), "GET")[0]
	wantHeader(t, "304 of the plain one", resp, `ETag: "a"`)
	for _, status := range []string{"204 No Content", "205 Reset Content"} {
		got := appAnswer(t, b, app, getCoded("/api", "br"), "HTTP/1.1 "+status+"\r\nContent-Type: text/css\r\nContent-Length: 0\r\n\r\n", false)
		wantHeader(t, status, exchanged(t, got, "GET")[0], "Content-Encoding: ", "Vary: ")
	}
	b.compressDone()
}

// What we made of an entity tag is undone where the application compares strongly.
func TestIfMatchFindsWhatWasWeakened(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	app := b.sim.Serve(appOne)
	for accept, want := range map[string]string{"br": "If-Match: W/\"a\", \"a\"\r\n", "identity": "If-Match: W/\"a\"\r\n"} {
		p := b.plain.Dial()
		p.Write(getCoded("/api", accept, `If-Match: W/"a"`, `If-Range: W/"a"`, `If-None-Match: W/"a"`))
		b.sim.Idle()
		conn := app.Accept("the request")
		got := request(t, b, conn)
		for _, line := range []string{want, "If-Range: W/\"a\"\r\n", "If-None-Match: W/\"a\"\r\n"} {
			if !strings.Contains(got, line) {
				t.Errorf("%s: there is no %q in %q", accept, line, got)
			}
		}
		p.Close()
		conn.Close()
		b.sim.Idle()
	}
	b.compressDone()
}
