package gateway

import (
	"bytes"
	"fmt"
	"testing"

	"edge/edge/reactor/sim"
)

// Readers that do not read hold one buffer each once memory runs low, and not two:
// what is left is for those who read.
func TestStalledReadersLeaveMemory(t *testing.T) {
	const readers, budget = 20, 4 << 20
	for _, proxied := range []bool{false, true} {
		t.Run(fmt.Sprintf("proxied %v", proxied), func(t *testing.T) {
			b := newProxyBench(t, benchOptions{sim: sim.Options{BufferBytes: budget, SocketsMax: 256}}, false)
			app := b.sim.Serve(appOne)
			body := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MB
			path := "/f1048583.bin"
			if proxied {
				path = "/api"
			} else {
				body = b.files["f1048583.bin"]
			}
			var stalled, apps []*sim.Peer
			download := func(stall bool) *sim.Peer {
				p := b.plain.Dial()
				p.Stalled = stall
				p.Write(get(path))
				if proxied {
					a := app.Accept("the request")
					request(t, b, a)
					a.Write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body)))
					a.Write(body)
					apps = append(apps, a)
				}
				b.sim.Idle()
				return p
			}
			for range readers {
				stalled = append(stalled, download(true))
			}
			waited := b.s.stats[0].starved.Load()
			p := download(false)
			resp := exchanged(t, p.Read(), "GET")
			if len(resp) != 1 || !bytes.Equal(bodyOf(t, resp[0]), body) {
				t.Errorf("one who reads got %d whole answers", len(resp))
			}
			if n := b.s.stats[0].starved.Load(); n > waited {
				t.Errorf("it waited for memory %d times", n-waited)
			}
			p.Close()
			for i, p := range stalled {
				p.Stalled = false
				b.sim.Idle()
				if resp := exchanged(t, p.Read(), "GET"); len(resp) != 1 || !bytes.Equal(bodyOf(t, resp[0]), body) {
					t.Errorf("reader %d: its answer differs", i)
				}
				p.Close()
			}
			for _, a := range apps {
				a.Close()
			}
			b.done()
		})
	}
}
