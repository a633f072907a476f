package gateway

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/edge/site"
)

// bench is one worker on a simulated reactor, with a site and a plain listener.
type bench struct {
	t     testing.TB
	sim   *sim.Reactor
	w     *worker
	s     *server
	plain *sim.Listener
	log   *bytes.Buffer
	files map[string][]byte
}

// benchOptions change what newBench makes.
type benchOptions struct {
	sim    sim.Options
	config func(*config.Config)
	noSite bool
	server func(*server) // before the worker is made
}

func newBench(t testing.TB, o benchOptions) *bench {
	t.Helper()
	b := &bench{t: t, log: new(bytes.Buffer), files: maps.Clone(benchFiles())}
	cfg := config.New()
	cfg.Workers = 1
	if o.config != nil {
		o.config(cfg)
	}
	if o.sim.SocketsMax == 0 {
		o.sim.SocketsMax = 64
	}
	b.sim = sim.New(t, o.sim)
	b.s = newServer(Options{Config: cfg, Out: io.Discard, Log: NewLog(b.log), Getenv: func(string) string { return "" }})
	g := &generation{number: 1, certs: &certificates{}}
	if !o.noSite {
		g.serve(&openSite{Site: openBenchSite(t)})
	}
	g.take()
	b.s.gen.Store(g)
	if o.server != nil {
		o.server(b.s)
	}
	b.w = newWorker(b.s, 0, b.sim)
	b.sim.Attach(b.w)
	b.plain = b.sim.Listener("plain")
	if err := b.w.listen(b.plain.FD, listener{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && b.log.Len() > 0 {
			t.Logf("log:\n%s", b.log)
		}
	})
	return b
}

// benchFiles is a site with one file on each side of every size that matters.
var benchFiles = sync.OnceValue(func() map[string][]byte {
	files := map[string][]byte{"index.html": []byte("<h1>index</h1>\n"), "empty.txt": {}}
	rnd := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{174, 16384, 16385, 100 << 10, 131072, 1<<20 + 7, 3<<20 + 1} {
		data := make([]byte, n)
		rnd.Read(data)
		files[fmt.Sprintf("f%d.bin", n)] = data
	}
	return files
})

// benchArchive is the tar of benchFiles, which has no name any more.
var benchArchive = sync.OnceValue(func() *os.File {
	dir, err := os.MkdirTemp("", "edge-bench-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(dir + "/site.tar")
	if err != nil {
		panic(err)
	}
	w := tar.NewWriter(f)
	for name, data := range benchFiles() {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Unix(1700000000, 0)})
		w.Write(data)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return f
})

// openBenchSite opens it anew: nothing is kept in memory yet.
func openBenchSite(t testing.TB) *site.Site {
	t.Helper()
	s, err := site.Open(fmt.Sprintf("/proc/self/fd/%d", benchArchive().Fd()), site.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openFiles(t testing.TB, files map[string][]byte) *site.Site {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := site.OpenDir(dir, site.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// get is the plainest request for a path.
func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: a.example\r\n\r\n" }

// exchanged reads answers to the methods given from all that a peer received.
func exchanged(t testing.TB, got []byte, methods ...string) []*http.Response {
	t.Helper()
	r := bufio.NewReader(bytes.NewReader(got))
	var all []*http.Response
	for i, m := range methods {
		resp, err := http.ReadResponse(r, &http.Request{Method: m})
		if err != nil {
			t.Fatalf("answer %d of %d: %v", i+1, len(methods), err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("body of answer %d: %v", i+1, err)
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		all = append(all, resp)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Fatalf("%d bytes behind the last answer: %.80q", len(rest), rest)
	}
	return all
}

func bodyOf(t testing.TB, resp *http.Response) []byte {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ask sends raw and returns everything that came back once nothing moves any
// more.
func (b *bench) ask(raw string) []byte {
	p := b.plain.Dial()
	p.Write(raw)
	b.sim.Idle()
	got := p.Read()
	p.Close()
	b.sim.Idle()
	return got
}

// done checks that nothing is left behind.
func (b *bench) done() {
	b.t.Helper()
	b.sim.Advance(b.s.cfg.Timeouts.Idle + time.Minute)
	b.sim.WantClean()
	if b.w.open != 0 {
		b.t.Errorf("%d connections on the books", b.w.open)
	}
	if n := b.w.gen.holders; n != 0 {
		b.t.Errorf("%d holders of the generation", n)
	}
}

func TestFilesOfEverySize(t *testing.T) {
	b := newBench(t, benchOptions{})
	for range 2 { // the second time small ones come from memory
		for name, want := range b.files {
			resp := exchanged(t, b.ask(get("/"+name)), "GET")[0]
			if resp.StatusCode != 200 || !bytes.Equal(bodyOf(t, resp), want) {
				t.Errorf("%s: status %d, body differs or is short", name, resp.StatusCode)
			}
		}
	}
	b.done()
}

func TestHeadHasNoBody(t *testing.T) {
	b := newBench(t, benchOptions{})
	resp := exchanged(t, b.ask("HEAD /f16385.bin HTTP/1.1\r\nHost: a\r\n\r\n"), "HEAD")[0]
	if resp.StatusCode != 200 || resp.ContentLength != 16385 {
		t.Errorf("status %d, Content-Length %d", resp.StatusCode, resp.ContentLength)
	}
	b.done()
}

// Field case H14: two requests, cut after each byte.
func TestRequestCutAtEveryByte(t *testing.T) {
	b := newBench(t, benchOptions{sim: sim.Options{Calm: true}})
	raw := get("/f174.bin") + get("/index.html")
	for cut := 1; cut < len(raw); cut++ {
		p := b.plain.Dial()
		p.Write(raw[:cut])
		b.sim.Idle()
		p.Write(raw[cut:])
		b.sim.Idle()
		all := exchanged(t, p.Read(), "GET", "GET")
		if !bytes.Equal(bodyOf(t, all[0]), b.files["f174.bin"]) || !bytes.Equal(bodyOf(t, all[1]), b.files["index.html"]) {
			t.Fatalf("cut after %d bytes: wrong bodies", cut)
		}
		p.Close()
		b.sim.Idle()
	}
	b.done()
}

func TestPipelinedAnswersKeepTheirOrder(t *testing.T) {
	b := newBench(t, benchOptions{})
	names := []string{"f174.bin", "f102400.bin", "index.html", "f16384.bin", "f1048583.bin"}
	var raw strings.Builder
	var methods []string
	for i := range 50 {
		raw.WriteString(get("/" + names[i%len(names)]))
		methods = append(methods, "GET")
	}
	for i, resp := range exchanged(t, b.ask(raw.String()), methods...) {
		if want := b.files[names[i%len(names)]]; !bytes.Equal(bodyOf(t, resp), want) {
			t.Fatalf("answer %d is not %s", i, names[i%len(names)])
		}
	}
	b.done()
}

func TestLastAnswerSaysClose(t *testing.T) {
	for name, raw := range map[string]string{
		"asked for": "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"HTTP/1.0":  "GET / HTTP/1.0\r\n\r\n",
		"malformed": "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
		"not HTTP":  "\x16\x03\x01 this is TLS\r\n\r\n",
	} {
		b := newBench(t, benchOptions{})
		p := b.plain.Dial()
		p.Write(raw)
		b.sim.Idle()
		resp := exchanged(t, p.Read(), "GET")[0]
		if !resp.Close {
			t.Errorf("%s: the answer does not say close", name)
		}
		p.WantEOF(name)
		p.Close()
		b.done()
	}
}

func TestUnwantedBodies(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		methods   []string
	}{
		{"short, read over", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + get("/"), []string{"POST", "GET"}},
		{"long, closed", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\nhello", []string{"POST"}},
		{"chunked, closed", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", []string{"POST"}},
		{"expected, closed", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", []string{"POST"}},
	} {
		b := newBench(t, benchOptions{})
		all := exchanged(t, b.ask(c.raw), c.methods...)
		if all[0].StatusCode != 405 {
			t.Errorf("%s: status %d", c.name, all[0].StatusCode)
		}
		if last := all[len(all)-1]; len(all) == 2 && last.StatusCode != 200 {
			t.Errorf("%s: second status %d", c.name, last.StatusCode)
		}
		b.done()
	}
}

func TestTimeouts(t *testing.T) {
	t.Run("idle", func(t *testing.T) {
		b := newBench(t, benchOptions{})
		p := b.plain.Dial()
		b.sim.Idle()
		b.sim.Advance(b.s.cfg.Timeouts.Idle + time.Second)
		p.WantEOF("idle")
		p.Close()
		b.done()
	})
	t.Run("idle after an answer", func(t *testing.T) {
		b := newBench(t, benchOptions{})
		p := b.plain.Dial()
		p.Write(get("/"))
		b.sim.Advance(b.s.cfg.Timeouts.Idle - time.Second)
		exchanged(t, p.Read(), "GET")
		p.WantIdle("still within the idle time")
		b.sim.Advance(3 * time.Second)
		p.WantEOF("idle")
		p.Close()
		b.done()
	})
	t.Run("dripped head", func(t *testing.T) {
		b := newBench(t, benchOptions{})
		p := b.plain.Dial()
		var got []byte
		for i := 0; i < 20 && len(got) == 0; i++ { // to write on would cost it the answer: it would be reset
			p.Write("GET / HTTP/1.1\r\n"[i%16 : i%16+1])
			b.sim.Advance(time.Second)
			got = p.Read()
		}
		b.sim.Idle()
		if got = append(got, p.Read()...); !bytes.HasPrefix(got, []byte("HTTP/1.1 408 ")) && !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) {
			t.Errorf("answer %.40q", got)
		}
		p.Close()
		b.done()
	})
	t.Run("reader that stops", func(t *testing.T) {
		b := newBench(t, benchOptions{})
		p := b.plain.Dial()
		p.Stalled = true
		p.Write(get("/f3145729.bin"))
		b.sim.Advance(3 * b.s.cfg.Timeouts.Write)
		p.Stalled = false
		p.WantReset("takes no byte")
		b.done()
	})
}

func TestConnectionLimits(t *testing.T) {
	b := newBench(t, benchOptions{config: func(c *config.Config) { c.Limits.Connections = 3 }})
	var peers []*sim.Peer
	for range 3 {
		peers = append(peers, b.plain.Dial())
	}
	b.sim.Idle()
	over := b.plain.Dial()
	over.WantReset("one connection too many")
	peers[0].Close()
	b.sim.Idle()
	again := b.plain.Dial()
	again.Write(get("/"))
	b.sim.Idle()
	exchanged(t, again.Read(), "GET")
	b.done()
}

func TestTruncatedFileCutsTheAnswer(t *testing.T) {
	b := newBench(t, benchOptions{})
	f := b.sim.File(make([]byte, 1000))
	p := b.plain.Dial()
	b.sim.Idle()
	// An exchange whose file turns out to be shorter than it was.
	c := b.onlyConn()
	x := b.w.newExchange()
	c.begin(x)
	x.bodyEnd = true
	x.req.KeepAlive, x.req.Minor = true, 1
	x.resp.Reset(200)
	x.resp.File, x.resp.ContentLength = f.FD, 5000
	c.produce()
	p.WantReset("the file ended early")
	if !strings.Contains(b.log.String(), "cut short") {
		t.Errorf("log says %q", b.log)
	}
	b.done()
}

func (b *bench) onlyConn() *conn {
	for _, e := range b.w.ends {
		if c, ok := e.(*conn); ok {
			return c
		}
	}
	b.t.Fatal("no connection")
	return nil
}

func TestWaitingForMemoryLosesNothing(t *testing.T) {
	b := newBench(t, benchOptions{sim: sim.Options{BufferBytes: 512 << 10}})
	var peers []*sim.Peer
	for range 20 {
		p := b.plain.Dial()
		p.Write(get("/f1048583.bin"))
		peers = append(peers, p)
	}
	b.sim.Idle()
	for i, p := range peers {
		resp := exchanged(t, p.Read(), "GET")[0]
		if !bytes.Equal(bodyOf(t, resp), b.files["f1048583.bin"]) {
			t.Errorf("peer %d: body differs", i)
		}
		p.Close()
	}
	b.done()
}

func TestDrain(t *testing.T) {
	b := newBench(t, benchOptions{})
	idle, busy := b.plain.Dial(), b.plain.Dial()
	busy.Stalled = true
	busy.Write(get("/f3145729.bin"))
	b.sim.Idle()
	b.w.drain(drainIdleTime)
	b.sim.Advance(drainIdleTime + time.Second)
	idle.WantEOF("idle at the drain")
	idle.Close()
	busy.Stalled = false
	b.sim.Idle()
	resp := exchanged(t, busy.Read(), "GET")[0]
	if !bytes.Equal(bodyOf(t, resp), b.files["f3145729.bin"]) {
		t.Error("the answer in progress was not finished")
	}
	b.sim.Advance(drainIdleTime + time.Second)
	busy.WantEOF("drained")
	busy.Close()
	b.done()
}

func TestWelcomePage(t *testing.T) {
	b := newBench(t, benchOptions{noSite: true})
	for _, method := range []string{"GET", "HEAD"} {
		resp := exchanged(t, b.ask(method+" /x HTTP/1.1\r\nHost: a\r\n\r\n"), method)[0]
		if resp.StatusCode != 200 || method == "GET" && !bytes.Contains(bodyOf(t, resp), []byte("edge pack")) {
			t.Errorf("%s: status %d", method, resp.StatusCode)
		}
	}
	b.done()
}

func TestKeepAliveStaticAllocatesNothing(t *testing.T) {
	b := newBench(t, benchOptions{sim: sim.Options{Calm: true}})
	b.ask(get("/f174.bin")) // now it is in memory
	p := b.plain.Dial()
	b.sim.Idle()
	c := b.onlyConn()
	raw := []byte(get("/f174.bin"))
	scratch := make([]byte, len(raw))
	allocs := testing.AllocsPerRun(200, func() {
		copy(scratch, raw)
		c.received(scratch, 0)
		if len(c.out) == 0 {
			t.Fatal("no answer")
		}
		out := c.out
		c.out, c.unsent = nil, 0
		c.release(&out)
	})
	if allocs != 0 {
		t.Errorf("%v allocations per request", allocs)
	}
	c.dirty = false
	b.w.dirty = b.w.dirty[:0]
	p.Close()
	b.done()
}
