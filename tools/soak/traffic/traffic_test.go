package traffic

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// between passes connections on to the application's first address, with what
// comes back changed by spoil if it is not nil. It stands where a proxy would.
func between(t *testing.T, app *App, spoil func(p []byte) []byte) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { pass(c, app, spoil) })
		}
	})
	return l.Addr().String()
}

func pass(c net.Conn, app *App, spoil func(p []byte) []byte) {
	defer c.Close()
	u, err := net.Dial("tcp", app.targets[0].address)
	if err != nil {
		return
	}
	defer u.Close()
	go func() {
		io.Copy(u, c)
		u.(*net.TCPConn).CloseWrite()
	}()
	b := make([]byte, 32<<10)
	for {
		n, err := u.Read(b)
		p := b[:n]
		if spoil != nil {
			p = spoil(p)
		}
		if _, failed := c.Write(p); err != nil || failed != nil {
			return
		}
	}
}

func startApp(t *testing.T) *App {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // short: it is the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	app, err := StartApp(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Stop(); os.RemoveAll(dir) })
	return app
}

// Where nothing stands between, nothing goes wrong.
func TestNothingBetween(t *testing.T) {
	app := startApp(t)
	r, err := Run(t.Context(), app, Options{Plain: between(t, app, nil), Seed: 1, Requests: 2000, Clients: 8})
	if err != nil {
		t.Fatal(err)
	}
	if r.Wrong > 0 || r.Total.Excused > 0 || r.Total.Right+r.Total.Left != 2000 {
		t.Error(r)
	}
	if len(r.Kinds) != len(mix) {
		t.Errorf("of %d kinds there were %d:\n%s", len(mix), len(r.Kinds), r)
	}
}

// What is wrong is found, and called by its name.
func TestFaultsAreFound(t *testing.T) {
	for want, spoil := range map[string]func(p []byte) []byte{
		"MIXED UP": func(p []byte) []byte {
			if head := string(p[:min(len(p), 400)]); len(p) > 2000 && strings.HasPrefix(head, "HTTP/1.1 200") && strings.Contains(head, "Content-Length: ") {
				p[len(p)-1] ^= 1 // of its body
			}
			return p
		},
		"status 500": func(p []byte) []byte { return []byte(strings.Replace(string(p), "200 OK", "500 No", 1)) },
	} {
		app := startApp(t)
		r, err := Run(t.Context(), app, Options{Plain: between(t, app, spoil), Seed: 2, Requests: 500, Clients: 4, FaultsMax: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Wrong == 0 || !strings.Contains(strings.Join(r.Faults, "\n"), want) {
			t.Errorf("%s was not found:\n%s", want, r)
		}
	}
}

func TestJudge(t *testing.T) {
	timeout := &net.OpError{Err: os.ErrDeadlineExceeded}
	for _, c := range []struct {
		what    string
		err     error
		restart bool
		wrong   int
		want    Tally
	}{
		{"right", nil, false, 0, Tally{Right: 1}},
		{"a failure", errEarlyEnd, false, 1, Tally{}},
		{"a failure while the application starts", errEarlyEnd, true, 0, Tally{Excused: 1}},
		{"wrong bytes then", errors.New("MIXED UP: this"), true, 1, Tally{}},
		{"no end", timeout, true, 1, Tally{}},
	} {
		j := newJudge()
		j.restarting.Store(c.restart)
		j.outcome(kindSmall, 1, 1, time.Now(), c.err)
		if r := j.report(); r.Wrong != c.wrong || r.Kinds[kindSmall] != c.want {
			t.Errorf("%s: %v", c.what, r)
		}
	}
}

func TestTruncatedAndDoubled(t *testing.T) {
	p := newPattern(7, answerBytes)
	whole, err := io.ReadAll(io.LimitReader(&p, 1001))
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		if err := checkStream(strings.NewReader(string(whole[:at])), 7, answerBytes, 1001); !isFault(err) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	if err := checkStream(strings.NewReader(string(whole)), 7, answerBytes, 1001); err != nil {
		t.Error(err)
	}
	if err := checkStream(strings.NewReader(string(whole)), 8, answerBytes, 1001); !isFault(err) {
		t.Errorf("of another: %v", err)
	}
	app := &App{posts: map[Token]bool{}}
	if app.twice(1) || !app.twice(1) {
		t.Error("twice")
	}
	if app.forget(1); app.twice(1) {
		t.Error("it was forgotten")
	}
}

func TestResidents(t *testing.T) {
	const smaps = `00400000-00c00000 r-xp 00000000 fe:00 1   /usr/bin/edge
Size:               8192 kB
Rss:                4000 kB
c000000000-c008000000 rw-p 00000000 00:00 0   [anon: Go: heap]
Size:             131072 kB
Rss:                2000 kB
7f00000000-7f10000000 rw-p 00000000 00:00 0
Size:             262144 kB
Rss:                1000 kB
VmFlags: rd wr
`
	if all, large := residents([]byte(smaps)); all != 7000<<10 || large != 1000<<10 {
		t.Errorf("%d KB, %d KB of them large", all>>10, large>>10)
	}
	if u, err := Process(os.Getpid()).Usage(); err != nil || u.Files < 3 || u.Resident < 1<<20 {
		t.Errorf("of this process: %v, %v", u, err)
	}
}
