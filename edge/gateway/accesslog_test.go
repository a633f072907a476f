package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"edge/edge/reactor/sim"
	"edge/proxy"
)

// logLine is an access log line as its readers see it.
type logLine struct {
	Time   time.Time
	ID     string
	Peer   string
	For    string
	Host   string
	Method string
	Path   string
	Proto  string
	Status int
	Bytes  int64
	US     *int64
	Cut    bool
}

// newLogBench is a bench whose access log ends in a buffer; lines gives what is
// in it so far.
func newLogBench(t *testing.T) (b *bench, lines func() []logLine) {
	t.Helper()
	b = newHTTPBench(t, benchOptions{})
	var out bytes.Buffer
	file := startLogFile("access log", "", &out, logBatchesMax, b.s.log.Printf)
	b.w.access.to = file
	return b, func() []logLine {
		t.Helper()
		b.w.access.flush()
		if !file.end() {
			t.Fatal("the log does not end")
		}
		var all []logLine
		d := json.NewDecoder(&out)
		d.DisallowUnknownFields()
		for {
			var l logLine
			if err := d.Decode(&l); err == io.EOF {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, l)
		}
	}
}

func TestAccessLogLine(t *testing.T) {
	b, lines := newLogBench(t)
	now := b.sim.Wall()
	p := b.plain.DialFrom(netip.MustParseAddrPort("[2001:db8::1]:4711"))
	p.Write("GET /thousand.bin?x=%22 HTTP/1.1\r\nHost: a.example:80\r\n\r\nHEAD /nowhere HTTP/1.0\r\n\r\n")
	b.sim.Idle()
	p.Close()
	b.done()
	all := lines()
	if len(all) != 2 {
		t.Fatalf("%d lines", len(all))
	}
	first, second := all[0], all[1]
	if first.ID == second.ID || len(first.ID) != 32 || first.US == nil || *first.US != 0 || !first.Time.Equal(now) {
		t.Errorf("%+v", first)
	}
	for i := range all {
		all[i].Time, all[i].ID, all[i].US = time.Time{}, "", nil
	}
	if want := (logLine{Peer: "[2001:db8::1]:4711", Host: "a.example:80", Method: "GET", Path: "/thousand.bin?x=%22", Proto: "HTTP/1.1", Status: 200, Bytes: 1000}); all[0] != want {
		t.Errorf("got  %+v\nwant %+v", all[0], want)
	}
	if want := (logLine{Peer: "[2001:db8::1]:4711", Method: "HEAD", Path: "/nowhere", Proto: "HTTP/1.0", Status: 404}); all[1] != want {
		t.Errorf("got  %+v\nwant %+v", all[1], want)
	}
}

// A worker may have slept for a while before a request wakes it: the date of the
// answer and of its line is that of the request, not that of the last turn.
func TestDatesAfterASleep(t *testing.T) {
	b, lines := newLogBench(t)
	p := b.plain.Dial()
	p.Write("GET /thousand.bin HTTP/1.1\r\nHost: a\r\n\r")
	b.sim.Sleep(5 * time.Second)
	now := b.sim.Wall().Add(5 * time.Second)
	p.Write("\n") // which comes in one piece
	b.sim.Idle()
	got := p.Read()
	if want := now.UTC().Format("\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\n"); !strings.Contains(string(got), want) {
		t.Errorf("got %.300q, want %q in it", got, want)
	}
	p.Close()
	b.done()
	if all := lines(); len(all) != 1 || !all[0].Time.Equal(now) {
		t.Errorf("got %+v, want one line of %v", all, now)
	}
}

// Field case P05: what a trusted peer says of client and request is in the log; what
// anybody else says is not.
func TestAccessLogOfATrustedPeer(t *testing.T) {
	const fields = "X-Forwarded-For: 192.0.2.66, 192.0.2.7, 10.0.0.9\r\nX-Request-ID: theirs\r\n"
	b, lines := newLogBench(t)
	b.s.trust, _ = proxy.ParseTrust([]string{"10.0.0.0/8"})
	for _, from := range []string{"10.0.0.1:1", "192.0.2.1:1"} {
		p := b.plain.DialFrom(netip.MustParseAddrPort(from))
		p.Write("GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
		b.sim.Idle()
		p.Close()
	}
	b.done()
	all := lines()
	if len(all) != 4 {
		t.Fatalf("%d lines", len(all))
	}
	for i, l := range all {
		told := i == 0
		if told != (l.For == "192.0.2.7") || !told && l.For != "" || told != (l.ID == "theirs") || !told && len(l.ID) != 32 {
			t.Errorf("line %d: %+v", i, l)
		}
	}
}

// An answer that did not end as it should is told apart, with the bytes that went
// out.
func TestAccessLogOfACutAnswer(t *testing.T) {
	b, lines := newLogBench(t)
	f := b.sim.File(make([]byte, 1000))
	b.plain.Dial()
	b.sim.Idle()
	c := b.onlyConn()
	x := b.w.newExchange()
	c.begin(x)
	x.bodyEnd = true
	x.resp.Reset(200)
	x.resp.File, x.resp.ContentLength = f.FD, 5000
	c.produce()
	b.sim.Idle()
	b.done()
	if all := lines(); len(all) != 1 || !all[0].Cut || all[0].Bytes != 1000 {
		t.Errorf("%+v", all)
	}
}

// Whatever bytes a client sends, each line is JSON, and says the same when they
// are text.
func TestAccessLogIsSafe(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	value := func() []byte {
		b := make([]byte, rnd.IntN(40))
		for i := range b {
			b[i] = byte(rnd.IntN(256))
		}
		switch rnd.IntN(3) {
		case 0:
			return append(b, "äß€\U0001F600\u2028\ufffd\"\\\x1b[31m"...)
		case 1:
			return bytes.Repeat(append(b, 0xe2, 0x82), 100) // cut within a character
		}
		return b
	}
	b := newHTTPBench(t, benchOptions{})
	b.plain.Dial()
	b.sim.Idle()
	c := b.onlyConn()
	x := b.w.newExchange()
	c.begin(x)
	for range 3000 {
		x.req.Authority, x.req.Method, x.req.Target = value(), value(), value()
		line := b.w.appendLine(nil, c, x)
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("more than one line: %q", line)
		}
		if i := bytes.IndexFunc(line[:len(line)-1], func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 || !utf8.Valid(line) {
			t.Fatalf("a control character, or no text: %q", line)
		}
		var l logLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if utf8.Valid(x.req.Method) && l.Method != string(x.req.Method) {
			t.Fatalf("%q became %q", x.req.Method, l.Method)
		}
	}
}

// Values are cut where they would make lines of any length.
func TestAccessLogValuesAreBounded(t *testing.T) {
	b := newHTTPBench(t, benchOptions{sim: sim.Options{Calm: true}})
	b.plain.Dial()
	b.sim.Idle()
	c := b.onlyConn()
	x := b.w.newExchange()
	c.begin(x)
	x.req.Target = []byte(strings.Repeat("\x01", 60000))
	if n := len(b.w.appendLine(nil, c, x)); n > 6*logValueMax+1000 {
		t.Errorf("a line of %d bytes", n)
	}
}

func TestAccessLogAllocatesNothing(t *testing.T) {
	b := newHTTPBench(t, benchOptions{})
	b.plain.Dial()
	b.sim.Idle()
	c := b.onlyConn()
	x := b.w.newExchange()
	c.begin(x)
	x.req.Method, x.req.Target, x.req.Authority = []byte("GET"), []byte("/a?b=\"c\""), []byte("a.example")
	line := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { line = b.w.appendLine(line[:0], c, x) }); n != 0 {
		t.Errorf("%v allocations per line", n)
	}
}
