package gateway

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// A storm: clients of every kind, applications that break in every way, all drawn
// from one seed. What is whole must be right, and of what is not nothing may stay.
//
// A client asks for /api/KIND/SEED/LENGTH: the application answers with LENGTH
// bytes made of SEED, so that an answer that went astray is known. An upload is
// made the same way, and the application looks whether it is right.

// stormBytes makes the n bytes of a seed.
func stormBytes(seed uint64, n int) []byte {
	rnd := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	b := make([]byte, n)
	rnd.Read(b)
	return b
}

type storm struct {
	t       *testing.T
	b       *bench
	rnd     *rand.Rand
	app     *sim.Backend
	clients []*stormClient
	apps    []*stormApp
	whole   int // answers that were
	number  uint64
}

// stormClient is one client with one request under way.
type stormClient struct {
	p      *sim.Peer
	got    []byte
	seed   uint64
	length int
	method string
	rude   bool // it goes away, or its application misbehaves: anything but a wrong answer will do
	done   bool
}

// stormApp is an application's end of a connection.
type stormApp struct {
	p    *sim.Peer
	in   []byte
	gone bool
}

func (s *storm) chance(percent int) bool { return s.rnd.IntN(100) < percent }

// kinds are how an application answers; the second half are faults.
var stormKinds = []string{"length", "chunked", "hints", "close", "early", "cut", "reset", "silent", "junk"}

func (s *storm) ask(c *stormClient) {
	s.number++
	kind := stormKinds[s.rnd.IntN(len(stormKinds))]
	c.seed, c.length, c.done, c.got = s.number, s.rnd.IntN(300), false, nil
	if s.chance(20) {
		c.length = s.rnd.IntN(400 << 10)
	}
	c.rude = s.chance(15) || kind == "cut" || kind == "reset" || kind == "silent" || kind == "junk"
	c.method = "GET"
	up := 0
	switch {
	case kind == "early":
		c.method, up = "POST", 1+s.rnd.IntN(300<<10)
	case s.chance(25):
		c.method, up = "POST", s.rnd.IntN(100<<10)
	case s.chance(10):
		c.method = "HEAD"
	}
	path := fmt.Sprintf("/api/%s/%d/%d", kind, c.seed, c.length)
	body := stormBytes(c.seed, up)
	switch {
	case c.method != "POST":
		c.p.Write(c.method + " " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")
		return
	case s.chance(50):
		c.p.Write(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", path, up))
	default:
		c.p.Write("POST " + path + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
		body = chunks(s.rnd, body)
	}
	if c.rude && s.chance(30) {
		body = body[:s.rnd.IntN(len(body)+1)]
	}
	c.p.Write(body)
}

// chunks cuts b into chunks of odd sizes.
func chunks(rnd *rand.Rand, b []byte) (out []byte) {
	for len(b) > 0 {
		n := 1 + rnd.IntN(min(len(b), 9000))
		out = append(strconv.AppendInt(out, int64(n), 16), "\r\n"...)
		out = append(append(out, b[:n]...), "\r\n"...)
		b = b[n:]
	}
	return append(out, "0\r\n\r\n"...)
}

// serve has an application look at what came, and answer what is whole.
func (s *storm) serve(a *stormApp) {
	a.in = append(a.in, a.p.Read()...)
	if a.gone {
		return
	}
	head, rest, ok := bytes.Cut(a.in, []byte("\r\n\r\n"))
	if !ok {
		return
	}
	method, path, _ := strings.Cut(string(head), " ")
	path, _, _ = strings.Cut(path, " ")
	parts := strings.Split(path, "/")
	if len(parts) != 5 {
		s.t.Fatalf("the application got %q", head)
	}
	seed, _ := strconv.ParseUint(parts[3], 10, 64)
	length, _ := strconv.Atoi(parts[4])
	used, body, ok := stormBody(s.t, string(head), rest)
	if parts[2] != "early" {
		if !ok {
			return
		}
		if !bytes.Equal(body, stormBytes(seed, len(body))) {
			s.t.Fatalf("request %d came with the body of another, or a part twice", seed)
		}
		a.in = a.in[len(head)+4+used:]
	}
	s.answer(a, parts[2], method, stormBytes(seed, length))
}

// stormBody reads a request's body off b; false: it is not whole.
func stormBody(t *testing.T, head string, b []byte) (used int, body []byte, ok bool) {
	if _, after, found := strings.Cut(head, "\r\nContent-Length: "); found {
		text, _, _ := strings.Cut(after, "\r\n")
		n, _ := strconv.Atoi(text)
		if len(b) < n {
			return 0, nil, false
		}
		return n, b[:n], true
	}
	if !strings.Contains(head, "\r\nTransfer-Encoding: chunked") {
		return 0, nil, true
	}
	for at := 0; ; {
		line, _, found := bytes.Cut(b[at:], []byte("\r\n"))
		if !found {
			return 0, nil, false
		}
		n, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			t.Fatalf("the application got a chunk of %q bytes", line)
		}
		start := at + len(line) + 2
		if at = start + int(n) + 2; at > len(b) {
			return 0, nil, false
		}
		if n == 0 {
			return at, body, true
		}
		body = append(body, b[start:start+int(n)]...)
	}
}

func (s *storm) answer(a *stormApp, kind, method string, body []byte) {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body))
	framed := body
	switch kind {
	case "chunked":
		head, framed = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunks(s.rnd, body)
	case "hints":
		head = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + head
	case "close", "early":
		head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
	case "cut":
		framed = framed[:len(framed)/2]
	case "reset":
		a.p.Write(head)
		a.p.Reset()
		a.gone = true
		return
	case "silent":
		return
	case "junk":
		head = "HTTP/1.1 200\x00\r\n\r\n"
	}
	a.p.Write(head)
	if method != "HEAD" {
		a.p.Write(framed)
	}
	if kind == "close" || kind == "early" || kind == "cut" || s.chance(10) {
		a.p.Close()
		a.gone = true
	}
}

// look takes what came for a client, and checks an answer that is whole.
func (s *storm) look(c *stormClient) {
	c.got = append(c.got, c.p.Read()...)
	for bytes.HasPrefix(c.got, []byte("HTTP/1.1 1")) {
		_, rest, ok := bytes.Cut(c.got, []byte("\r\n\r\n"))
		if !ok {
			return
		}
		c.got = rest
	}
	head, rest, ok := bytes.Cut(c.got, []byte("\r\n\r\n"))
	if !ok {
		return
	}
	var body []byte
	if c.method != "HEAD" {
		if _, body, ok = stormBody(s.t, string(head), rest); !ok {
			return
		}
	}
	c.done = true
	switch status := string(head[len("HTTP/1.1 "):][:3]); {
	case status != "200" && !c.rude && status != "502" && status != "503":
		s.t.Fatalf("request %d: status %s", c.seed, status)
	case status != "200":
	case c.method != "HEAD" && !bytes.Equal(body, stormBytes(c.seed, c.length)):
		s.t.Fatalf("request %d got %d bytes, not its own %d", c.seed, len(body), c.length)
	default:
		s.whole++
	}
}

func (s *storm) round() {
	for range 1 + s.rnd.IntN(4) {
		c := &stormClient{p: s.b.plain.Dial()}
		c.p.Stalled = s.chance(10)
		s.ask(c)
		s.clients = append(s.clients, c)
	}
	s.settle()
	for _, c := range s.clients {
		s.look(c)
		switch {
		case c.done && !c.p.EOF() && !c.p.WasReset() && s.chance(80):
			s.ask(c)
		case c.rude && s.chance(30):
			c.p.Reset()
		case c.rude && s.chance(30), c.done:
			c.p.Close()
		case s.chance(50):
			c.p.Stalled = false
		}
	}
	if s.chance(5) { // the application starts anew
		for _, a := range s.apps {
			a.p.Reset()
		}
		s.apps = nil
	}
}

// settle has all that can happen without time passing happen.
func (s *storm) settle() {
	for range 4 {
		s.b.sim.Idle()
		for s.app.Waiting() > 0 {
			s.apps = append(s.apps, &stormApp{p: s.app.Accept("waiting")})
		}
		for _, a := range s.apps {
			s.serve(a)
		}
	}
}

func (s *storm) end() {
	for _, c := range s.clients {
		c.p.Stalled = false
	}
	s.settle()
	s.b.sim.Advance(5 * time.Minute)
	for _, c := range s.clients {
		if s.look(c); !c.done && !c.p.EOF() && !c.p.WasReset() {
			s.t.Errorf("request %d hangs", c.seed)
		}
		c.p.Close()
	}
	for _, a := range s.apps {
		a.p.Close()
	}
	s.b.done()
}

func TestProxyStorm(t *testing.T) {
	seeds, whole := 100, 0
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { whole += runStorm(t, seed) })
	}
	if whole < seeds*5 {
		t.Errorf("of %d storms only %d answers came through whole", seeds, whole)
	}
}

func runStorm(t *testing.T, seed int) (whole int) {
	o := benchOptions{sim: sim.Options{Seed: uint64(seed + 1), SocketsMax: 256}}
	if seed%4 == 3 {
		o.sim.BufferBytes = 2 << 20 // memory is short
	}
	if seed%5 == 1 {
		o.config = func(c *config.Config) { c.Limits.ProxyConnections = 2 } // the others wait
	}
	b := newProxyBench(t, o, false)
	s := &storm{t: t, b: b, rnd: rand.New(rand.NewPCG(uint64(seed), 7)), app: b.sim.Serve(appOne)}
	for range 6 {
		s.round()
	}
	s.end()
	return s.whole
}
