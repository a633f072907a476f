package gateway

import (
	"bytes"
	"fmt"
	"testing"

	"edge/edge/reactor/sim"
)

// Answers that are held for want of room never take the memory that they would go
// on with: however little there is, all of them arrive.
func TestHeldAnswersLeaveMemoryToGoOn(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 32<<10) // 512 KB
	for _, budget := range []int{512 << 10, 1 << 20} {
		for _, readers := range []int{1, 4, 30} {
			t.Run(fmt.Sprintf("%d readers, %d bytes", readers, budget), func(t *testing.T) {
				b := newProxyBench(t, benchOptions{sim: sim.Options{BufferBytes: budget, RecvBytes: recvBytes, SocketsMax: 256, PipeBytes: 1 << 20}}, false)
				app := b.sim.Serve(appOne)
				var clients, apps []*sim.Peer
				for range readers {
					p := b.plain.Dial()
					p.Write(get("/api"))
					a := app.Accept("the request")
					request(t, b, a)
					clients, apps = append(clients, p), append(apps, a)
				}
				for _, a := range apps {
					a.Write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(body)))
					a.Write(body)
				}
				b.sim.Idle()
				for i, p := range clients {
					resp := exchanged(t, p.Read(), "GET")[0] // fails unless it is whole
					if resp.StatusCode < 500 && !bytes.Equal(bodyOf(t, resp), body) {
						t.Errorf("client %d: status %d, or another body", i, resp.StatusCode)
					}
				}
				for i := range clients {
					clients[i].Close()
					apps[i].Close()
				}
				b.done()
			})
		}
	}
}
