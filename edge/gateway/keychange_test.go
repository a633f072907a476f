package gateway

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"edge/edge/reactor/sim"
	"edge/tlsstack"
)

// Keys that change in the middle of answers, wherever that is: what is said of it has
// its place in the buffers.
func TestKeysChangeAmidAnswers(t *testing.T) {
	for _, records := range []uint64{1, 2, 3, 7, 50} {
		for _, plain := range []int{0, 100, 5000} {
			t.Run(fmt.Sprintf("%d records a key, of %d bytes", records, plain), func(t *testing.T) {
				b := newTLSBench(t, proxyOptions(t, benchOptions{sim: sim.Options{Calm: true, PipeBytes: 1 << 20}}, false), []string{"a.example"})
				b.s.current().tls.RecordsPerKeyMax, b.s.current().tls.SendPlaintextMax = records, plain
				client := b.dial("a.example")
				for range 2 { // the second time small ones come from memory
					for _, name := range []string{"f174.bin", "f16385.bin", "f102400.bin", "f131072.bin", "f1048583.bin"} {
						if resp := b.askTLS(client, get("/"+name), "GET"); !bytes.Equal(bodyOf(t, resp), b.files[name]) {
							t.Fatalf("%s differs", name)
						}
					}
				}
				app := b.sim.Serve(appOne)
				if _, err := io.WriteString(client, get("/api")); err != nil {
					t.Fatal(err)
				}
				a := app.Accept("the request")
				request(t, b.bench, a)
				body := strings.Repeat("0123456789abcdef", 20000)
				a.Write(fmt.Sprintf("HTTP/1.1 200 OK\r\nX: %s\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("x", 30000)))
				a.Write(fmt.Sprintf("%x\r\n%s\r\n0\r\nX: y\r\n\r\n", len(body), body))
				if resp := b.askTLS(client, "", "GET"); string(bodyOf(t, resp)) != body {
					t.Error("the application's answer differs")
				}
				a.Close()
				client.Close()
				b.done()
			})
		}
	}
}

// What the TLS machine wants sent goes first, also where there is room for what
// comes after it alone.
func TestRoomIsBehindTLSOutput(t *testing.T) {
	b := newTLSBench(t, benchOptions{sim: sim.Options{Calm: true}}, []string{"a.example"})
	client := b.dial("a.example")
	b.sim.Idle()
	c := b.onlyConn()
	c.tls.UpdateKey()
	c.out = b.w.outBuffer(outBytesMax)[:outBytesMax-tlsstack.KeyUpdateBytes]
	if c.room(1) || len(c.out) != outBytesMax-tlsstack.KeyUpdateBytes {
		t.Error("a byte is said to have room, and has none behind the KeyUpdate")
	}
	if !c.room(0) || len(c.out) != outBytesMax || c.tls.HasOutput() {
		t.Errorf("%d bytes, output left: %v", len(c.out), c.tls.HasOutput())
	}
	c.release(&c.out)
	client.Close()
	b.done()
}
