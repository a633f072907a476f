package gateway

import (
	"syscall"
	"testing"
	"time"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/proxy"
)

// TestProxyRecoveryIsNoStampede: an application that is back after it failed gets
// one request to show it, not all that wait for that; when its client goes away, the
// next one; and its share once it has answered.
func TestProxyRecoveryIsNoStampede(t *testing.T) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, true)
	ill, well := b.sim.Backend(appOne), b.sim.Serve(appTwo)
	ill.Err = syscall.ECONNREFUSED
	var peers []*sim.Peer
	ask := func() *sim.Peer {
		p := b.plain.Dial()
		p.Write("GET /api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		b.sim.Idle()
		peers = append(peers, p)
		return p
	}
	answer := func(app *sim.Backend) {
		conn := app.Accept("a request")
		request(t, b, conn)
		conn.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		b.sim.Idle()
		peers = append(peers, conn)
	}
	for range 2 * proxy.DefaultHealth.Failures { // half of them meet the one that refuses
		ask()
		answer(well)
	}
	if n := b.w.routes[0].group.Healthy(); n != 1 {
		t.Fatalf("%d of two are healthy", n)
	}
	ill.Err = nil
	b.sim.Advance(proxy.DefaultHealth.Pause + time.Second)
	var asked [10]*sim.Peer
	trial := -1
	for i := range asked {
		before := ill.Waiting()
		asked[i] = ask()
		if ill.Waiting() > before {
			trial = i
		}
	}
	if ill.Waiting() != 1 || well.Waiting() != 9 {
		t.Fatalf("%d requests for the one that failed, %d for the other", ill.Waiting(), well.Waiting())
	}
	asked[trial].Reset()
	given := ill.Accept("the first trial")
	given.Read()
	given.WantEOF("its client is gone")
	peers = append(peers, given)
	for range 2 {
		ask()
	}
	if ill.Waiting() != 1 {
		t.Fatalf("%d requests after the first trial was given up", ill.Waiting())
	}
	answer(ill)
	for range 10 {
		ask()
	}
	if ill.Waiting() != 5 {
		t.Errorf("%d of ten requests after it answered", ill.Waiting())
	}
	for ill.Waiting() > 0 {
		answer(ill)
	}
	for well.Waiting() > 0 {
		answer(well)
	}
	closePeers(b, peers...)
	b.done()
}

// TestFailFlags: --proxy-max-fails requests that fail in a row take an application
// out, and a trial that fails again, each for --proxy-fail-timeout; none do if that
// number is 0.
func TestFailFlags(t *testing.T) {
	const pause = 45 * time.Second // longer than a pause gets by itself
	for _, fails := range []int{0, 1, 2} {
		b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}, config: func(c *config.Config) {
			c.ProxyMaxFails, c.ProxyFailTimeout = fails, pause
		}}, true)
		b.sim.Backend(appOne).Err = syscall.ECONNREFUSED
		well := b.sim.Serve(appTwo)
		ask := func(times int, why string, healthy int) {
			t.Helper()
			for range times {
				p := b.plain.Dial()
				p.Write("GET /api HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
				conn := well.Accept("a request")
				request(t, b, conn)
				conn.Write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				b.sim.Idle()
				closePeers(b, p, conn)
			}
			if n := b.w.routes[0].group.Healthy(); n != healthy {
				t.Errorf("--proxy-max-fails %d: %s: %d of two are healthy, want %d", fails, why, n, healthy)
			}
		}
		if fails == 0 {
			ask(20, "never", 2)
			b.done()
			continue
		}
		ask(2*(fails-1), "before the last", 2) // every other one meets the one that refuses
		ask(2, "after the last", 1)
		b.sim.Serve(appOne)
		b.sim.Advance(pause - time.Second)
		ask(4, "within the pause", 1)
		b.sim.Backend(appOne).Err = syscall.ECONNREFUSED
		b.sim.Advance(2 * time.Second)
		ask(2, "after the trial", 1)
		b.sim.Serve(appOne)
		b.sim.Advance(pause - time.Second)
		ask(4, "within the second pause", 1)
		b.done()
	}
}

// TestFailFlagsByDefault: they are what package proxy does by itself.
func TestFailFlagsByDefault(t *testing.T) {
	b := newProxyBench(t, benchOptions{}, true)
	if p := *b.s.healthPolicy(); p != proxy.DefaultHealth {
		t.Errorf("%+v, want %+v", p, proxy.DefaultHealth)
	}
	b.done()
}
