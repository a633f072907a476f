package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy/coding"
)

func bufioReader(b []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(b)) }

// The site's own text is compressed too: from memory, and from the tar by pieces.
func TestCompressesTheSite(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	b.files["small.css"] = []byte(prose(700))
	b.files["large.js"] = []byte(prose(3 << 20))
	b.files["coded.js"] = []byte(prose(3000))
	b.files["coded.js.gz"] = []byte("as it lies there")
	b.serveFiles()
	for _, coding := range []string{"zstd", "gzip", "br"} {
		for _, name := range []string{"small.css", "large.js"} {
			for range 2 { // the second time the small one comes from memory
				resp := exchanged(t, b.ask(getCoded("/"+name, coding)), "GET")[0]
				if decoded(t, resp, coding) != string(b.files[name]) {
					t.Errorf("%s, %s: the body differs", name, coding)
				}
				wantHeader(t, name, resp, "Vary: Accept-Encoding", "Accept-Ranges: ", "Content-Length: ")
				if tag := resp.Header.Get("ETag"); !strings.HasPrefix(tag, `W/"`) {
					t.Errorf("%s: ETag is %s", name, tag)
				}
			}
		}
	}
	resp := exchanged(t, b.ask(getCoded("/small.css", "identity")), "GET")[0]
	tag := resp.Header.Get("ETag")
	wantHeader(t, "as it is", resp, "Vary: Accept-Encoding", "Accept-Ranges: bytes", "Content-Length: 700", "Content-Encoding: ")
	for _, c := range []struct {
		field, tag string
		status     int
	}{
		{"If-None-Match: W/" + tag, "W/" + tag, 304},
		{"If-None-Match: " + tag, tag, 304},
		{"If-Match: " + tag, "W/" + tag, 200},
		{"If-Match: W/" + tag, "", 412},
		{"Range: bytes=0-9", tag, 206},
		{"Range: bytes=0-9\r\nIf-Range: " + tag, tag, 206},
		{"Range: bytes=0-9\r\nIf-Range: W/" + tag, "W/" + tag, 200},
	} {
		resp := exchanged(t, b.ask(getCoded("/small.css", "br", c.field)), "GET")[0]
		if resp.StatusCode != c.status || resp.Header.Get("ETag") != c.tag {
			t.Errorf("%s: %d, ETag %s, want %d, %s", c.field, resp.StatusCode, resp.Header.Get("ETag"), c.status, c.tag)
		}
		if c.status == 206 {
			wantHeader(t, c.field, resp, "Content-Encoding: ", "Vary: Accept-Encoding", "Content-Length: 10")
		}
	}
	resp = exchanged(t, b.ask(getCoded("/coded.js", "gzip")), "GET")[0]
	if string(bodyOf(t, resp)) != "as it lies there" || resp.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("a precompressed file is not served as it is: %v", resp.Header)
	}
	all := exchanged(t, b.ask(getCoded("/large.js", "zstd")+getCoded("/small.css", "br")+get("/f174.bin")), "GET", "GET", "GET")
	if decoded(t, all[0], "zstd") != string(b.files["large.js"]) || decoded(t, all[1], "br") != string(b.files["small.css"]) {
		t.Error("pipelined: the bodies differ")
	}
	b.compressDone()
}

// serveFiles has the bench serve what is in b.files now.
func (b *bench) serveFiles() {
	b.t.Helper()
	g := &generation{number: 2, certs: &certificates{}}
	g.serve(&openSite{Site: openFiles(b.t, b.files)})
	g.take()
	b.w.adopt(g)
}

// What programs answer is compressed, and what they say about an answer counts.
func TestCompressesAfterPrograms(t *testing.T) {
	b := newBench(t, compressOptions(t, benchOptions{config: func(c *config.Config) { c.CompressMinBytes = 10 }}))
	b.runScripts("answer.o", "json.o")
	resp := exchanged(t, b.ask(getCoded("/json", "gzip")), "GET")[0]
	if got, want := decoded(t, resp, "gzip"), `{"service":"bench","method":"GET","uri":"/json"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	// The program saw the answer as it was, and its changes stand.
	wantHeader(t, "a program's", resp, "X-Type: application/json", "Server: example", "Vary: Accept-Encoding")
	b.compressDone()
}

// Programs have the last word on what an application's answer is, slow ones too.
func TestProgramsDecideWhatIsCompressed(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	b.runScripts("types.o", "slow.o")
	app := b.sim.Serve(appOne)
	body := prose(50000)
	for path, c := range map[string]struct{ typ, coding string }{
		"/api/plain": {"text/html", ""},
		"/api/text":  {"image/png", "br"},
		"/api/other": {"text/html", "br"},
		"/api/slow":  {"text/html", "br"},
	} {
		got := appAnswer(t, b, app, getCoded(path, "br"), lengthAnswer(body, "Content-Type: "+c.typ), false)
		resp := exchanged(t, got, "GET")[0]
		if c.coding == "" {
			wantHeader(t, path, resp, "Content-Encoding: ", "Vary: ", "Content-Length: 50000")
		} else if decoded(t, resp, c.coding) != body {
			t.Errorf("%s: the body differs", path)
		}
	}
	b.compressDone()
}

// A reader that stops does not make us keep its answer, nor anybody else wait.
func TestSlowReadersOfCompressedAnswers(t *testing.T) {
	b := newCompressBench(t, benchOptions{})
	app := b.sim.Serve(appOne)
	rnd := rand.NewChaCha8([32]byte{3})
	noise := make([]byte, 4<<20) // text by its type alone, so that much comes out
	rnd.Read(noise)
	for _, answer := range []string{lengthAnswer(string(noise), "Content-Type: text/plain"), ""} {
		path := "/api"
		if answer == "" {
			b.files["noise.txt"] = noise
			b.serveFiles()
			path = "/noise.txt"
		}
		p := b.plain.Dial()
		p.Stalled = true
		p.Write(getCoded(path, "zstd"))
		b.sim.Idle()
		var conn *sim.Peer
		if answer != "" {
			conn = app.Accept("the request")
			request(t, b, conn)
			conn.Write(answer)
			b.sim.Idle()
			if conn.Unsent() < len(noise)/2 {
				t.Errorf("%d of %d bytes were taken from the application for a reader that reads none", len(noise)-conn.Unsent(), len(noise))
			}
		}
		if used := b.w.r.Buffers().Used(); used > 4*outBytesMax {
			t.Errorf("%s: %d bytes of buffers for one reader", path, used)
		}
		if resp := exchanged(t, b.ask(getCoded("/f174.bin", "zstd")), "GET")[0]; resp.StatusCode != 200 {
			t.Errorf("%s: somebody else is answered %d", path, resp.StatusCode)
		}
		p.Stalled = false
		b.sim.Idle()
		if decoded(t, exchanged(t, p.Read(), "GET")[0], "zstd") != string(noise) {
			t.Errorf("%s: the body differs", path)
		}
		p.Close()
		if conn != nil {
			conn.Close()
		}
		b.sim.Idle()
	}
	b.compressDone()
}

// No turn codes more than its share, however many want to, and all get on.
func TestTurnsAreShared(t *testing.T) {
	b := newCompressBench(t, benchOptions{sim: sim.Options{Calm: true, PipeBytes: 4 << 20}})
	b.files["large.js"] = []byte(prose(900 << 10)) // it is kept in memory after the first time
	b.serveFiles()
	b.ask(getCoded("/large.js", "gzip"))
	var peers []*sim.Peer
	for range 5 {
		p := b.plain.Dial()
		p.Write(getCoded("/large.js", "gzip"))
		peers = append(peers, p)
	}
	turns := 0 // that ended within an answer; nothing but its share holds one up
	for b.sim.Step() {
		if b.w.compress.pool.InUse() > 0 {
			turns++
		}
	}
	// A turn's own, and what its end deals out for the next.
	if least := 5 * 900 << 10 / (2 * (codedTurnBytes + coding.PieceBytesMax)); turns < least {
		t.Errorf("it took %d turns, fewer than %d", turns, least)
	}
	for _, p := range peers {
		if decoded(t, exchanged(t, p.Read(), "GET")[0], "gzip") != string(b.files["large.js"]) {
			t.Error("a body differs")
		}
		p.Close()
	}
	b.compressDone()
}

// Beyond --max-compressed answers go out as they are.
func TestMostCompressedAtOnce(t *testing.T) {
	b := newCompressBench(t, benchOptions{config: func(c *config.Config) { c.Limits.Compressed = 2 }})
	app := b.sim.Serve(appOne)
	body := prose(2000)
	var peers, conns []*sim.Peer
	for i := range 4 {
		p := b.plain.Dial()
		p.Write(getCoded("/api", "gzip"))
		b.sim.Idle()
		conn := app.Accept("a request")
		request(t, b, conn)
		conn.Write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
		b.sim.Idle()
		if in := b.w.compress.pool.InUse(); in != min(i+1, 2) {
			t.Errorf("%d answers are being compressed", in)
		}
		peers, conns = append(peers, p), append(conns, conn)
	}
	for i, p := range peers {
		conns[i].Write(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
		b.sim.Idle()
		resp := exchanged(t, p.Read(), "GET")[0]
		wantHeader(t, "any", resp, "Vary: Accept-Encoding")
		got := ""
		if i < 2 {
			got = decoded(t, resp, "gzip")
		} else {
			got = string(bodyOf(t, resp))
		}
		if got != body {
			t.Errorf("answer %d differs", i)
		}
		p.Close()
		conns[i].Close()
	}
	if !strings.Contains(b.log.String(), "--max-compressed") {
		t.Errorf("the log says %q", b.log)
	}
	b.compressDone()
}

// Answers that are broken off by either side, at any time, leave nothing behind.
func TestStormOfBrokenCompressedAnswers(t *testing.T) {
	b := newCompressBench(t, benchOptions{config: func(c *config.Config) { c.Limits.Compressed = 5 }})
	app := b.sim.Serve(appOne)
	body := prose(200 << 10)
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		p := b.plain.Dial()
		p.Stalled = rnd.IntN(4) == 0
		p.Write(getCoded("/api", []string{"zstd", "br", "gzip"}[rnd.IntN(3)]))
		b.sim.Idle()
		conn := app.Accept("a request")
		request(t, b, conn)
		conn.Write(lengthAnswer(body, "Content-Type: text/html"))
		for range rnd.IntN(30) {
			b.sim.Step()
		}
		switch rnd.IntN(3) {
		case 0:
			p.Reset()
		case 1:
			conn.Reset()
		}
		b.sim.Idle()
		if rnd.IntN(2) == 0 {
			p.Reset()
			conn.Close()
		} else {
			p.Stalled = false
			b.sim.Idle()
			p.Close()
			conn.Close()
		}
		b.sim.Idle()
	}
	b.compressDone()
}

// Once encoders are there, a compressed answer takes no memory.
func TestCompressedAnswerAllocatesNothing(t *testing.T) {
	b := newCompressBench(t, benchOptions{sim: sim.Options{Calm: true}})
	app := b.sim.Serve(appOne)
	raw := []byte(getCoded("/api/x", "gzip"))
	answer := []byte(lengthAnswer(prose(3000), "Content-Type: text/html", `ETag: "a"`, "Vary: Origin"))
	p := b.plain.Dial()
	p.Write(raw)
	conn := app.Accept("the first request")
	request(t, b, conn)
	conn.Write(answer)
	b.sim.Idle()
	exchanged(t, p.Read(), "GET")
	c, u := b.onlyConn(), onlyUpstream(b)
	in, back := make([]byte, len(raw)), make([]byte, len(answer))
	allocs := testing.AllocsPerRun(100, func() {
		copy(in, raw)
		c.received(in, 0)
		u.release(&u.out)
		u.asked = true // as if it was sent
		copy(back, answer)
		u.received(back, 0)
		b.w.runCoders()
		if len(c.out) == 0 {
			t.Fatal("no answer")
		}
		c.release(&c.out)
		c.unsent = 0
	})
	if allocs != 0 {
		t.Errorf("%v allocations per request", allocs)
	}
	if c.x != nil || u.c != nil {
		t.Error("a request is still under way")
	}
	c.dirty, u.dirty = false, false
	b.w.dirty, b.w.dirtyUps = b.w.dirty[:0], b.w.dirtyUps[:0]
	p.Close()
	conn.Close()
	b.compressDone()
}
