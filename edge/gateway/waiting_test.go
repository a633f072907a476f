package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// newLimitedBench proxies /api to appOne, and with two to appTwo as well, each of
// which takes two connections.
func newLimitedBench(t *testing.T, two bool, more func(*config.Config)) *bench {
	return newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) {
		c.Limits.ProxyConnections = 2
		if more != nil {
			more(c)
		}
	}}, two)
}

// asking has n clients ask, one after the other; each asks for its own number.
func asking(b *bench, n int) (clients []*sim.Peer) {
	for i := range n {
		p := b.plain.Dial()
		p.Write(get(fmt.Sprintf("/api/%d", i)))
		b.sim.Idle()
		clients = append(clients, p)
	}
	return clients
}

// answers has an application's connection, which got the request for a number,
// answer it to its client.
func answers(t *testing.T, b *bench, conn, client *sim.Peer, number int) {
	t.Helper()
	if got := request(t, b, conn); !strings.HasPrefix(got, fmt.Sprintf("GET /api/%d ", number)) {
		t.Fatalf("request %.30q, want number %d", got, number)
	}
	conn.Write(okAnswer)
	b.sim.Idle()
	exchanged(t, client.Read(), "GET")
}

// closeAll ends what a test opened.
func closePeers(b *bench, peers ...*sim.Peer) {
	for _, p := range peers {
		p.Close()
	}
	b.sim.Idle()
}

// TestWaitingInTurn: no more connections than the limit are made, and the requests
// beyond get theirs in the order they came.
func TestWaitingInTurn(t *testing.T) {
	b := newLimitedBench(t, false, nil)
	app := b.sim.Serve(appOne)
	clients := asking(b, 6)
	conns := []*sim.Peer{app.Accept("the first"), app.Accept("the second")}
	if app.Waiting() != 0 || len(b.w.routes[0].waiting) != 4 {
		t.Fatalf("%d connections too many, %d wait", app.Waiting(), len(b.w.routes[0].waiting))
	}
	for i := range 6 {
		answers(t, b, conns[i%2], clients[i], i)
	}
	if app.Waiting() != 0 {
		t.Errorf("%d connections more than two", app.Waiting())
	}
	closePeers(b, append(clients, conns...)...)
	b.done()
}

// TestWaitingGetsANewConnection: a connection that ends makes room for a new one.
func TestWaitingGetsANewConnection(t *testing.T) {
	b := newLimitedBench(t, false, nil)
	app := b.sim.Serve(appOne)
	clients := asking(b, 3)
	conns := []*sim.Peer{app.Accept("the first"), app.Accept("the second")}
	request(t, b, conns[0])
	conns[0].Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	b.sim.Idle()
	third := app.Accept("in place of the first")
	answers(t, b, third, clients[2], 2)
	answers(t, b, conns[1], clients[1], 1)
	closePeers(b, append(clients, conns[0], conns[1], third)...)
	b.done()
}

func TestWaitingHasAnEnd(t *testing.T) {
	b := newLimitedBench(t, false, nil)
	app := b.sim.Serve(appOne)
	early := asking(b, 3)
	conns := []*sim.Peer{app.Accept("the first"), app.Accept("the second")}
	b.sim.Advance(b.s.cfg.Timeouts.ProxyWait / 2)
	late := asking(b, 1)
	b.sim.Advance(b.s.cfg.Timeouts.ProxyWait/2 + 100*time.Millisecond)
	if resp := exchanged(t, early[2].Read(), "GET")[0]; resp.StatusCode != 503 {
		t.Errorf("status %d after the time to wait", resp.StatusCode)
	}
	late[0].WantIdle("it came later")
	b.sim.Advance(b.s.cfg.Timeouts.ProxyWait / 2)
	if resp := exchanged(t, late[0].Read(), "GET")[0]; resp.StatusCode != 503 {
		t.Errorf("status %d after the time to wait", resp.StatusCode)
	}
	for i, conn := range conns { // those before are not touched by it
		answers(t, b, conn, early[i], i)
	}
	early[2].Write(get("/api/9")) // and those after find a connection
	b.sim.Idle()
	answers(t, b, conns[1], early[2], 9)
	closePeers(b, append(early, late[0], conns[0], conns[1])...)
	b.done()
}

func TestWaitingIsBounded(t *testing.T) {
	b := newLimitedBench(t, false, func(c *config.Config) { c.Limits.ProxyWaiting = 1 })
	app := b.sim.Serve(appOne)
	clients := asking(b, 4)
	conns := []*sim.Peer{app.Accept("the first"), app.Accept("the second")}
	if resp := exchanged(t, clients[3].Read(), "GET")[0]; resp.StatusCode != 503 {
		t.Errorf("status %d with a full queue", resp.StatusCode)
	}
	clients[2].Reset() // its place is free again
	b.sim.Idle()
	more := asking(b, 1)
	more[0].WantIdle("it waits")
	answers(t, b, conns[0], clients[0], 0)
	answers(t, b, conns[0], more[0], 0)
	clients[1].Reset() // its connection is free again
	conns[1].Read()
	conns[1].WantEOF("its client is gone")
	if n := len(b.w.routes[0].waiting); n != 0 {
		t.Errorf("%d wait", n)
	}
	if !strings.Contains(b.log.String(), "--proxy-max-waiting 1") {
		t.Errorf("log:\n%s", b.log)
	}
	closePeers(b, append(clients, more[0], conns[0], conns[1])...)
	b.done()
}

// TestWaitingForAnyTarget: with several applications the first free connection of
// any serves; with a hash that of the request's own.
func TestWaitingForAnyTarget(t *testing.T) {
	b := newLimitedBench(t, true, nil)
	apps := []*sim.Backend{b.sim.Serve(appOne), b.sim.Serve(appTwo)}
	clients := asking(b, 5)
	conns := []*sim.Peer{apps[0].Accept("0"), apps[1].Accept("1"), apps[0].Accept("2"), apps[1].Accept("3")}
	clients[4].WantIdle("all four are busy")
	answers(t, b, conns[3], clients[3], 3)
	answers(t, b, conns[3], clients[4], 4)
	for i := range 3 {
		answers(t, b, conns[i], clients[i], i)
	}
	closePeers(b, append(clients, conns...)...)
	b.done()
}

func TestWaitingForItsOwnTarget(t *testing.T) {
	b := newLimitedBench(t, true, func(c *config.Config) { c.Balance, c.Limits.ProxyConnections = "hash:X-User", 1 })
	apps := []*sim.Backend{b.sim.Serve(appOne), b.sim.Serve(appTwo)}
	users := [2]string{}
	for n := 0; users[0] == "" || users[1] == ""; n++ { // a user of each
		user := fmt.Sprintf("u%d", n)
		p := b.plain.Dial()
		p.Write("GET /api HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-User: " + user + "\r\n\r\n")
		b.sim.Idle()
		for i, app := range apps {
			if app.Waiting() > 0 {
				users[i] = user
				conn := app.Accept("the request")
				request(t, b, conn)
				conn.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				conn.Close()
			}
		}
		b.sim.Idle()
		closePeers(b, p)
	}
	var clients []*sim.Peer
	for i, of := range []int{0, 0, 1, 1} {
		p := b.plain.Dial()
		p.Write(fmt.Sprintf("GET /api/%d HTTP/1.1\r\nHost: a\r\nX-User: %s\r\n\r\n", i, users[of]))
		b.sim.Idle()
		clients = append(clients, p)
	}
	conns := []*sim.Peer{apps[0].Accept("0"), apps[1].Accept("2")}
	answers(t, b, conns[1], clients[2], 2)
	clients[1].WantIdle("the other application is not its own")
	answers(t, b, conns[1], clients[3], 3)
	answers(t, b, conns[0], clients[0], 0)
	answers(t, b, conns[0], clients[1], 1)
	closePeers(b, append(clients, conns...)...)
	b.done()
}

// TestWaitingThroughFailures: one that is let in and fails, or whose applications
// all go down meanwhile, does not keep the others.
func TestWaitingThroughFailures(t *testing.T) {
	b := newLimitedBench(t, false, nil)
	app := b.sim.Serve(appOne)
	clients := asking(b, 5)
	conns := []*sim.Peer{app.Accept("0"), app.Accept("1")}
	b.sim.Backend(appOne).Err = fmt.Errorf("refused")
	for _, c := range conns { // no answer: what waits finds nobody there
		c.Read()
		c.Close()
	}
	b.sim.Idle()
	for i, p := range clients {
		if resp := exchanged(t, p.Read(), "GET")[0]; resp.StatusCode != 502 {
			t.Errorf("client %d: status %d", i, resp.StatusCode)
		}
	}
	closePeers(b, append(clients, conns...)...)
	b.done()
}

// TestLimitCountsIdleConnections: a new connection that is one too many costs an
// idle one, the oldest.
func TestLimitCountsIdleConnections(t *testing.T) {
	b := newLimitedBench(t, false, nil)
	app := b.sim.Serve(appOne)
	clients := asking(b, 2)
	conns := []*sim.Peer{app.Accept("0"), app.Accept("1")}
	answers(t, b, conns[0], clients[0], 0)
	answers(t, b, conns[1], clients[1], 1)
	clients[0].Write(get("/api/0"))
	b.sim.Idle()
	conns[1].Read()
	conns[1].Reset() // the newest, as it is used again: the second attempt wants a new one
	b.sim.Idle()
	again := app.Accept("the second attempt")
	answers(t, b, again, clients[0], 0)
	clients[0].Write(get("/api/5"))
	b.sim.Idle()
	clients[1].Write(get("/api/6"))
	b.sim.Idle()
	answers(t, b, again, clients[0], 5)
	answers(t, b, conns[0], clients[1], 6)
	if app.Waiting() != 0 {
		t.Errorf("%d connections too many", app.Waiting())
	}
	closePeers(b, append(clients, conns[0], again)...)
	b.done()
}

// TestLimitKeepsNoPrivateConnection: with a PROXY header and a limit, a connection
// that only one client could use is not kept.
func TestLimitKeepsNoPrivateConnection(t *testing.T) {
	b := newLimitedBench(t, false, func(c *config.Config) { c.Proxy = []string{"/api=http://" + appOne + "#proxy-protocol=v1"} })
	app := b.sim.Serve(appOne)
	clients := asking(b, 3)
	for i := range 3 {
		conn := app.Accept("a request")
		b.sim.Idle()
		if got := string(conn.Read()); !strings.HasPrefix(got, "PROXY TCP4 ") {
			t.Errorf("request %.40q", got)
		}
		conn.Write(okAnswer)
		b.sim.Idle()
		exchanged(t, clients[i].Read(), "GET")
		conn.WantEOF("not kept")
		conn.Close()
	}
	closePeers(b, clients...)
	b.done()
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ limit, workers int }{{0, 3}, {3, 3}, {10, 3}, {11, 3}, {12, 3}, {5, 1}} {
		sum, least, most := 0, c.limit, 0
		for i := range c.workers {
			n := share(c.limit, c.workers, i)
			sum, least, most = sum+n, min(least, n), max(most, n)
		}
		if sum != c.limit || most-least > 1 {
			t.Errorf("%d among %d: sum %d, from %d to %d", c.limit, c.workers, sum, least, most)
		}
	}
}
