package gateway

import (
	"strings"
	"testing"
	"time"

	"edge/edge/reactor/sim"
)

// expecting is a request whose client waits to be told to send five bytes.
const expecting = "POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"

const toldToGoOn = "HTTP/1.1 100 Continue\r\n\r\n"

// expectBench has a client that waits for 100, and the application's end of its
// request.
func expectBench(t *testing.T, raw string) (b *bench, p, conn *sim.Peer) {
	b = newProxyBench(t, benchOptions{}, false)
	app := b.sim.Serve(appOne)
	p = b.plain.Dial()
	p.Write(raw)
	conn = app.Accept("the request")
	if head := request(t, b, conn); !strings.Contains(head, "\r\nExpect: 100-continue\r\n") {
		t.Errorf("the application is not told that the client waits:\n%s", head)
	}
	return b, p, conn
}

// bodyArrives has the client send what it was told to, and be answered.
func bodyArrives(t *testing.T, b *bench, p, conn *sim.Peer) {
	t.Helper()
	p.Write("abcde")
	conn.Want("the body", "abcde")
	conn.Write(okAnswer)
	b.sim.Idle()
	if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 200 || resp.Close {
		t.Errorf("answer %v", resp)
	}
	p.Close()
	conn.Close()
	b.done()
}

// Field case H07: the client is told to go on in time, once, or is answered.
func TestProxyExpectContinue(t *testing.T) {
	t.Run("the application tells", func(t *testing.T) {
		b, p, conn := expectBench(t, expecting)
		p.WantIdle("nobody has said 100")
		conn.Write(toldToGoOn)
		p.Want("told by the application", toldToGoOn)
		bodyArrives(t, b, p, conn)
	})
	t.Run("nobody tells", func(t *testing.T) {
		b, p, conn := expectBench(t, expecting)
		b.sim.Advance(continueTime + 100*time.Millisecond)
		p.Want("told by us", toldToGoOn)
		conn.Write(toldToGoOn) // late: not told twice
		bodyArrives(t, b, p, conn)
	})
	t.Run("refused at once", func(t *testing.T) {
		b, p, conn := expectBench(t, expecting)
		conn.Write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 401 || !resp.Close {
			t.Errorf("answer %v, want 401 and close: the body may come or not", resp)
		}
		conn.WantEOF("it waits for a body that nobody will send")
		p.Close()
		conn.Close()
		b.done()
	})
	t.Run("HTTP/1.0 application", func(t *testing.T) {
		b, p, conn := expectBench(t, expecting)
		b.sim.Advance(continueTime + 100*time.Millisecond)
		p.Want("told by us", toldToGoOn)
		p.Write("abcde")
		conn.Want("the body", "abcde")
		conn.Write("HTTP/1.0 200 OK\r\n\r\nhello")
		conn.Close()
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "POST")[0]; string(bodyOf(t, resp)) != "hello" {
			t.Errorf("answer %v", resp)
		}
		p.Close()
		b.done()
	})
	t.Run("the body comes at once", func(t *testing.T) {
		b, p, conn := expectBench(t, expecting)
		p.Write("abcde")
		conn.Want("the body", "abcde")
		b.sim.Advance(2 * continueTime)
		p.WantIdle("it did not wait")
		conn.Write(okAnswer)
		b.sim.Idle()
		exchanged(t, p.Read(), "POST")
		p.Close()
		conn.Close()
		b.done()
	})
	t.Run("the body never comes", func(t *testing.T) {
		b, p, conn := expectBench(t, expecting)
		conn.Write(toldToGoOn)
		p.Want("told", toldToGoOn)
		b.sim.Advance(b.s.cfg.Timeouts.Body + time.Second)
		p.WantReset("it was told to send and did not")
		conn.WantEOF("its request will not be whole")
		conn.Close()
		b.done()
	})
}

// Field case H07: what is refused before an application is asked.
func TestProxyExpectRefused(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		status int
	}{
		"something else": {"POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: foo\r\n\r\n", 417},
		"too long":       {"POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999\r\nExpect: 100-continue\r\n\r\n", 413},
	} {
		b := newProxyBench(t, benchOptions{}, false)
		p := b.plain.Dial()
		p.Write(c.raw)
		b.sim.Idle()
		if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != c.status || !resp.Close {
			t.Errorf("%s: status %d, close %v", name, resp.StatusCode, resp.Close)
		}
		p.Close()
		b.done()
	}
}
