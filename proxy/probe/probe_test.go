package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var policy = Policy{Interval: 10 * time.Second, Timeout: 2 * time.Second, Fall: 3, Rise: 2, StatusLeast: 200, StatusMost: 399}

// application answers probes.
type application struct {
	answer  string // "": it refuses connections; "-": it never answers
	script  string // in place of answer, for each probe: w is well, anything else refuses
	at      []time.Time
	changes []string // each with the number of the probe that made it

	mu    sync.Mutex
	asked string // by the last probe
}

func (a *application) dial(ctx context.Context) (net.Conn, error) {
	a.at = append(a.at, time.Now())
	if n := len(a.at); n <= len(a.script) {
		a.answer = map[byte]string{'w': well}[a.script[n-1]]
	}
	if a.answer == "" {
		return nil, errors.New("refused")
	}
	near, far := net.Pipe()
	answer := a.answer
	go func() {
		defer far.Close()
		buf := make([]byte, 1000)
		n, _ := far.Read(buf)
		a.mu.Lock()
		a.asked = string(buf[:n])
		a.mu.Unlock()
		if answer == "-" {
			io.Copy(io.Discard, far)
			return
		}
		for i := range len(answer) { // byte by byte
			if _, err := io.WriteString(far, answer[i:i+1]); err != nil {
				return
			}
		}
	}()
	return near, nil
}

// probed runs a prober against a for the time of a test.
func probed(t *testing.T, a *application, test func()) {
	synctest.Test(t, func(t *testing.T) {
		p := &Prober{
			Policy:  policy,
			Request: AppendRequest(nil, "/healthz", "a.example"),
			Dial:    a.dial,
			Changed: func(up bool, why error) {
				what := "up"
				if !up {
					what = why.Error()
				}
				a.changes = append(a.changes, fmt.Sprint(len(a.at), " ", what))
			},
		}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		test()
		end()
		<-done
	})
}

// rounds lets n probes begin and end.
func rounds(n int) {
	time.Sleep(time.Duration(n) * policy.Interval)
	synctest.Wait()
}

const well = "HTTP/1.1 204 No Content\r\n\r\n"

func (a *application) want(t *testing.T, why string, changes ...string) {
	t.Helper()
	if got := strings.Join(a.changes, ", "); got != strings.Join(changes, ", ") {
		t.Fatalf("%s: changes %q, want %q", why, got, changes)
	}
	a.changes = nil
}

func TestFirstProbeDecides(t *testing.T) {
	for answer, want := range map[string]string{
		"":  "refused",
		"-": "no answer within 2s",
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n": "status 503",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n":   "status 404",
		"HTTP/1.1 200 O": "closed without a whole answer (EOF)",
		well:             "",
		"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.0 302 Found\r\nLocation: /x\r\n\r\n<h1>": "",
	} {
		a := &application{answer: answer}
		probed(t, a, func() {
			time.Sleep(firstWithin + policy.Timeout)
			synctest.Wait()
			if want == "" {
				a.want(t, answer)
			} else {
				a.want(t, answer, "1 "+want)
			}
		})
	}
	a := &application{answer: "SSH-2.0-x\r\n"}
	probed(t, a, func() {
		rounds(1)
		if len(a.changes) != 1 {
			t.Errorf("another protocol: %q", a.changes)
		}
	})
}

func TestThresholds(t *testing.T) {
	for script, want := range map[string]string{
		"wwwww":              "",
		"wffwffwff":          "",
		"wfffffffff":         "4 refused",
		"wfffwfwfwf":         "4 refused",
		"wfffwfwwwwfffww":    "4 refused, 8 up, 13 refused, 15 up",
		"fwwfffww":           "1 refused, 3 up, 6 refused, 8 up",
		"fwfwfwfwwffwffwwff": "1 refused, 9 up",
	} {
		a := &application{script: script}
		probed(t, a, func() { time.Sleep(time.Duration(len(script)+1) * policy.Interval * 11 / 10) })
		got := ""
		for _, c := range a.changes { // those behind the script are of what stands at its end
			if n, _, _ := strings.Cut(c, " "); atoi(t, n) <= len(script) {
				got += ", " + c
			}
		}
		if got = strings.TrimPrefix(got, ", "); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRequest(t *testing.T) {
	a := &application{answer: well}
	probed(t, a, func() { rounds(1) })
	if want := "GET /healthz HTTP/1.1\r\nHost: a.example\r\nUser-Agent: edge-health\r\nAccept: */*\r\nConnection: close\r\n\r\n"; a.asked != want {
		t.Errorf("asked %q", a.asked)
	}
}

// TestPace: probes are Interval apart, give or take a tenth, and not in step; one
// that takes longer delays the next.
func TestPace(t *testing.T) {
	a := &application{answer: "-"}
	probed(t, a, func() { rounds(50) })
	steps := map[time.Duration]bool{}
	for i := 1; i < len(a.at); i++ {
		d := a.at[i].Sub(a.at[i-1])
		steps[d] = true
		if d < policy.Interval*9/10 || d > policy.Interval*11/10 {
			t.Errorf("%v between two probes", d)
		}
	}
	if len(a.at) < 44 || len(steps) < 10 {
		t.Errorf("%d probes, %d different steps", len(a.at), len(steps))
	}
}

// TestHeadIsBounded: an answer without an end is none.
func TestHeadIsBounded(t *testing.T) {
	a := &application{answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 1<<20)}
	probed(t, a, func() {
		rounds(1)
		if len(a.changes) != 1 || strings.Contains(a.changes[0], "no answer within") {
			t.Errorf("changes %q", a.changes)
		}
	})
}
