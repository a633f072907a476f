package gateway

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// scriptDir has programs in C, and as the objects that tests run.
const scriptDir = "../../testvectors/bpf/scripts"

// scriptFile reads an object of scriptDir.
func scriptFile(t testing.TB, name string) ProgramFile {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(scriptDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return ProgramFile{Name: name, Content: b}
}

// withScripts has a bench run programs of scriptDir.
func withScripts(t *testing.T, o benchOptions, names ...string) benchOptions {
	before := o.server
	o.server = func(s *server) {
		if before != nil {
			before(s)
		}
		for _, name := range names {
			s.builtIn = append(s.builtIn, scriptFile(t, name))
		}
		p, err := s.loadPrograms(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.current().run(p)
	}
	return o
}

func TestProgramsAmendAnswers(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{}, "header.o", "answer.o"))
	b.files["teapot"] = nil
	resp := exchanged(t, b.ask(get("/f174.bin?n=1")), "GET")[0]
	h := resp.Header
	if resp.StatusCode != 200 || !bytes.Equal(bodyOf(t, resp), b.files["f174.bin"]) {
		t.Errorf("status %d, or the body differs", resp.StatusCode)
	}
	for name, want := range map[string]string{
		"X-Script": "GET /f174.bin?n=1", "Server": "example", "Link": "</a> </b>", "Etag": "",
		"X-Type": "application/octet-stream", "X-From": "early",
	} {
		if got := strings.Join(h.Values(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if resp := exchanged(t, b.ask(get("/teapot")), "GET")[0]; resp.StatusCode != 418 || resp.Header.Get("X-Script") != "GET /teapot" {
		t.Errorf("status %d, X-Script %q", resp.StatusCode, resp.Header.Get("X-Script"))
	}
	b.done()
}

func TestProgramsAnswer(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{}, "answer.o", "json.o"))
	raw := get(`/json?a="`) + "HEAD /json HTTP/1.1\r\nHost: a\r\n\r\n" + get("/f174.bin")
	all := exchanged(t, b.ask(raw), "GET", "HEAD", "GET")
	if got, want := string(bodyOf(t, all[0])), `{"service":"bench","method":"GET","uri":"/json?a=\""}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	h := all[0].Header
	if h.Get("Content-Type") != "application/json" || h.Get("X-Type") != "application/json" || h.Get("Server") != "example" {
		t.Errorf("header %v", h)
	}
	if want := int64(len(`{"service":"bench","method":"HEAD","uri":"/json"}`)); all[1].ContentLength != want {
		t.Errorf("HEAD: Content-Length %d, want %d", all[1].ContentLength, want)
	}
	if !bytes.Equal(bodyOf(t, all[2]), b.files["f174.bin"]) {
		t.Error("what the program does not answer is not the site's")
	}
	b.done()
}

func TestProgramsRunInOrder(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{}, "order.o", "header.o"))
	for _, tc := range []struct{ extra, order, script string }{
		{"", "first second", "GET /"},
		{"X-Last: 1\r\n", "first", ""},
	} {
		resp := exchanged(t, b.ask("GET / HTTP/1.1\r\nHost: a\r\n"+tc.extra+"\r\n"), "GET")[0]
		if got := strings.Join(resp.Header.Values("X-Order"), " "); got != tc.order {
			t.Errorf("%q: order %q, want %q", tc.extra, got, tc.order)
		}
		if got := resp.Header.Get("X-Script"); got != tc.script {
			t.Errorf("%q: X-Script %q, want %q", tc.extra, got, tc.script)
		}
	}
	b.done()
}

// Every error of edge.h that a request can meet, as the program sees it.
func TestHelperErrors(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{}, "errors.o"))
	resp := exchanged(t, b.ask(get("/some/path")), "GET")[0]
	want := `cut 10
no room 10
no field -2
no query -2
no key -2
empty key -22
long key -22
long value -28
set 0
get 1
delete 0
delete again -2
bad name -22
bad value -22
framing -1
long -28
too early -1
status early -1
no ja4 -2
hello -1
bad status -22
bad type -22
long type -28
long body -7
`
	if got := string(bodyOf(t, resp)); got != want {
		t.Errorf("got\n%s", got)
	}
	b.done()
}

// What a program does wrong is answered 500, with the place in the log.
func TestFailingPrograms(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{}, "trap.o", "answer.o"))
	for path, want := range map[string]string{
		"/load":     "program trap, instruction ",
		"/pointer":  "argument 1 is no pointer to as many readable bytes",
		"/negative": "program trap returned -22",
	} {
		b.log.Reset()
		b.sim.Advance(time.Second)
		b.s.log.kinds = map[string]*limitedKind{}
		resp := exchanged(t, b.ask(get(path)), "GET")[0]
		if resp.StatusCode != 500 || resp.Header.Get("X-From") != "" {
			t.Errorf("%s: status %d, header %v", path, resp.StatusCode, resp.Header)
		}
		if !strings.Contains(b.log.String(), want) || !strings.Contains(b.log.String(), "trap.") {
			t.Errorf("%s: log says %q, want %q", path, b.log, want)
		}
	}
	if resp := exchanged(t, b.ask(get("/f174.bin")), "GET")[0]; resp.StatusCode != 200 {
		t.Errorf("afterwards: status %d", resp.StatusCode)
	}
	b.done()
}

// A program that loops delays nobody but its own request, is stopped, and said to
// be in one line a second (B07).
func TestLoopingPrograms(t *testing.T) {
	for _, path := range []string{"/loop", "/late"} {
		b := newBench(t, withScripts(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) {
			c.Timeouts.Script = 2 * time.Millisecond
		}}, "loop.o"))
		b.s.log.now = func() time.Time { return time.Unix(1, 0) }
		var loops []*sim.Peer
		for range 5 {
			p := b.plain.Dial()
			p.Write(get(path) + get("/f174.bin"))
			loops = append(loops, p)
		}
		for turns := 0; len(b.w.waiting) < len(loops) && turns < 50; turns++ {
			b.sim.Step()
		}
		if len(b.w.waiting) != len(loops) {
			t.Fatalf("%s: %d programs wait, want %d", path, len(b.w.waiting), len(loops))
		}
		for i := range 10 {
			p := b.plain.Dial()
			p.Write(get("/f174.bin"))
			for turns := 0; len(p.Read()) == 0; turns++ {
				if turns > 10 {
					t.Fatalf("%s: request %d beside the loop is not answered after %d turns", path, i, turns)
				}
				b.sim.Step()
			}
			p.Close()
		}
		b.sim.Idle()
		for i, p := range loops {
			all := exchanged(t, p.Read(), "GET", "GET")
			if all[0].StatusCode != 503 || all[1].StatusCode != 200 {
				t.Errorf("%s, peer %d: status %d, then %d", path, i, all[0].StatusCode, all[1].StatusCode)
			}
			p.Close()
		}
		if n := strings.Count(b.log.String(), "took longer than --script-time 2ms and was stopped"); n != 1 {
			t.Errorf("%s: %d lines in the log:\n%s", path, n, b.log)
		}
		b.done()
	}
}

// A turn gives one slice to those that wait, and a crowd that comes in one turn
// hardly more than one to start with: that is what others are kept waiting for.
func TestSlicesOfATurn(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{sim: sim.Options{Calm: true}}, "loop.o"))
	var loops []*sim.Peer
	for range 9 {
		loops = append(loops, b.plain.Dial())
	}
	b.sim.Idle()
	for _, p := range loops {
		p.Write(get("/loop"))
	}
	var before time.Duration
	for turn := range 6 {
		b.sim.Step()
		var used time.Duration
		for _, r := range b.w.waiting {
			used += r.used
		}
		want := sliceTime
		if turn == 0 {
			want += sliceTime + 8*sliceTime/crowdedPart
		}
		if used-before != want {
			t.Errorf("turn %d: %v used, want %v", turn, used-before, want)
		}
		before = used
	}
	for _, p := range loops {
		p.Reset()
	}
	b.done()
}

// A long program that ends within its time is answered, whatever the client does
// meanwhile.
func TestLongPrograms(t *testing.T) {
	long := "GET /f16385.bin HTTP/1.1\r\nHost: a\r\nX-Work: 1000\r\n\r\n"
	b := newBench(t, withScripts(t, benchOptions{}, "loop.o"))
	whole := b.plain.Dial()
	whole.Write(long + get("/f174.bin"))
	posted := b.plain.Dial()
	posted.Write("POST / HTTP/1.1\r\nHost: a\r\nX-Work: 1000\r\nContent-Length: 5\r\n\r\nhello" + get("/f174.bin"))
	halfClosed := b.plain.Dial()
	halfClosed.Write(long)
	halfClosed.CloseWrite()
	gone := b.plain.Dial()
	gone.Write(long)
	for range 50 {
		b.sim.Step()
	}
	gone.Reset()
	b.sim.Idle()
	all := exchanged(t, whole.Read(), "GET", "GET")
	if !bytes.Equal(bodyOf(t, all[0]), b.files["f16385.bin"]) || !bytes.Equal(bodyOf(t, all[1]), b.files["f174.bin"]) {
		t.Error("bodies differ")
	}
	whole.Close()
	if all := exchanged(t, posted.Read(), "POST", "GET"); all[0].StatusCode != 405 || all[1].StatusCode != 200 {
		t.Errorf("POST: status %d, then %d", all[0].StatusCode, all[1].StatusCode)
	}
	posted.Close()
	if all := exchanged(t, halfClosed.Read(), "GET"); all[0].StatusCode != 200 {
		t.Errorf("half closed: status %d", all[0].StatusCode)
	}
	halfClosed.WantEOF("answered, and no more to come")
	halfClosed.Close()
	b.done()
}

func TestProgramsAllocateNothing(t *testing.T) {
	for _, tc := range []struct{ file, path string }{{"header.o", "/f174.bin"}, {"json.o", "/json?n=1"}, {"answer.o", "/f174.bin"}, {"count.o", "/f174.bin"}} {
		b := newBench(t, withScripts(t, benchOptions{sim: sim.Options{Calm: true}}, tc.file))
		b.ask(get("/f174.bin")) // now it is in memory
		p := b.plain.Dial()
		b.sim.Idle()
		c := b.onlyConn()
		raw := []byte(get(tc.path))
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
			t.Errorf("%s: %v allocations per request", tc.file, allocs)
		}
		c.dirty = false
		b.w.dirty = b.w.dirty[:0]
		p.Close()
		b.done()
	}
}

// A reload keeps what shared maps hold, if file, name and shape stay, and lets go
// of the programs that nobody runs any more.
func TestReloadKeepsMaps(t *testing.T) {
	b := newBench(t, withScripts(t, benchOptions{}, "count.o"))
	for i := 1; i <= 4; i++ {
		resp := exchanged(t, b.ask(get("/")), "GET")[0]
		if got := resp.Header.Get("X-Count"); got != fmt.Sprint(i) {
			t.Errorf("request %d: X-Count %q", i, got)
		}
		if i%2 == 0 {
			old := b.s.current()
			p, err := b.s.loadPrograms(nil)
			if err != nil {
				t.Fatal(err)
			}
			next := &generation{number: old.number + 1, certs: old.certs, tls: old.tls}
			next.serve(old.shared)
			next.run(p)
			next.take()
			b.s.gen.Store(next)
			next.take()
			b.w.adopt(next)
			old.drop()
			if n := old.users.Load(); n != 0 {
				t.Errorf("the old generation has %d users", n)
			}
		}
	}
	b.done()
}

// A bad file refuses all, and is named (B08).
func TestBadProgramsAreRefused(t *testing.T) {
	good := scriptFile(t, "header.o")
	big := ProgramFile{Name: "big.o", Content: make([]byte, programBytesMax)}
	elf := "../../testvectors/bpf/elf/clang14/"
	object := func(name string) ProgramFile {
		b, err := os.ReadFile(elf + name)
		if err != nil {
			t.Fatal(err)
		}
		return ProgramFile{Name: name, Content: b}
	}
	for _, tc := range []struct {
		file ProgramFile
		want string
	}{
		{ProgramFile{Name: "empty.o"}, "empty.o: "},
		{ProgramFile{Name: "text.o", Content: []byte("int main;")}, "text.o: "},
		{big, "big.o: "},
		{object("refused_bigendian.o"), "refused_bigendian.o: "},
		{object("refused_hook.o"), "refused_hook.o: "},
		{object("refused_extern.o"), "refused_extern.o: "},
		{object("strings.o"), "there is no helper number 100"},
	} {
		b := newBench(t, benchOptions{server: func(s *server) { s.builtIn = []ProgramFile{good, tc.file} }})
		p, err := b.s.loadPrograms(nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.file.Name) {
			t.Errorf("%s: %v, %v; want %q", tc.file.Name, p, err, tc.want)
		}
	}
}
