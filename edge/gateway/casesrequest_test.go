package gateway

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
)

// What HTTP clients send, right and wrong, to an application behind: what is refused
// is refused before the application sees a byte of it.

// refusedHeads are requests that no application may see (H01, H05, H06).
func refusedHeads() (all []string) {
	const chunks = "5\r\nhello\r\n0\r\n\r\n"
	for _, value := range []string{
		"\x0bchunked", "chunked, identity", "identity", "gzip", "chunked, chunked", "xchunked", "", "chunked;q=1",
		"chunked\r\nTransfer-Encoding: chunked", "chunked\r\nTransfer-Encoding: identity",
	} {
		all = append(all, "POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "+value+"\r\n\r\n"+chunks)
	}
	for _, value := range []string{"chunked", "Chunked", "chunked\t", "identity"} {
		all = append(all,
			"POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "+value+"\r\nContent-Length: 5\r\n\r\n"+chunks,
			"POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "+value+"\r\n\r\n"+chunks,
			"POST /api HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: "+value+"\r\n\r\n"+chunks)
	}
	for _, field := range []string{
		"Host : a", "X: a\r\n b", "X: a\x00b", "X: a\rb", ": v", "X\x80: v", "X Y: v", "no colon", "X: v\n", "Content-Length: 5\r\nContent-Length: 5",
		"Content-Length: 5, 5", "Content-Length: +5", "Content-Length : 5", "Transfer-Encoding : chunked",
	} {
		all = append(all, "POST /api HTTP/1.1\r\nHost: a\r\n"+field+"\r\n\r\nhello")
	}
	for _, head := range []string{
		"GET /api HTTP/1.1\r\n", "GET /api HTTP/1.1\r\nHost: a\r\nHost: a\r\n", "GET /api HTTP/1.1\r\nHost: a.example, b\r\n",
		"GET /api HTTP/1.1\r\nHost: a.example:99999\r\n", "GET /api HTTP/1.1\r\nHost: user@a\r\n", "GET /api HTTP/1.1\r\nHost: a/..\r\n",
		"GET /api HTTP/1.1\r\n Host: a\r\n", "GET  /api HTTP/1.1\r\nHost: a\r\n", "GET /api\tHTTP/1.1\r\nHost: a\r\n", "GET \\api HTTP/1.1\r\nHost: a\r\n",
		"GET * HTTP/1.1\r\nHost: a\r\n", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n", "GET http://u:p@a/api HTTP/1.1\r\nHost: a\r\n",
		"GET http://a/api HTTP/1.1\r\n", "GET /api HTTP/2.0\r\nHost: a\r\n",
	} {
		all = append(all, head+"\r\n")
	}
	return append(all, "GET /api HTTP/1.1\nHost: a\n\n", strings.Repeat("\r\n", 1000)+get("/api"))
}

// TestRefusedBeforeTheApplication: H01, H05 and H06, with a second request behind,
// whole and cut at every byte.
func TestRefusedBeforeTheApplication(t *testing.T) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
	app := b.sim.Serve(appOne)
	for _, head := range refusedHeads() {
		input := head + get("/api/smuggled")
		for _, cut := range append([]int{0}, cutsOf(head)...) {
			got, _, err := b.exchangeAll(input[:cut], input[cut:])
			if err != nil || len(got) != len("400 close") || got[0] < '4' || !strings.HasSuffix(got, " close") {
				t.Fatalf("%q, cut at %d: %q, %v", head, cut, got, err)
			}
		}
		if app.Waiting() > 0 {
			t.Fatalf("%q: the application was asked", head)
		}
	}
	b.done()
}

// TestCodingsThatArePassedOn: H01, the spellings that mean chunked. The application
// sees one of them, and one request.
func TestCodingsThatArePassedOn(t *testing.T) {
	for _, value := range []string{"chunked", "Chunked", "chunked\t", "\t CHUNKED "} {
		b := newProxyBench(t, benchOptions{}, false)
		app := b.sim.Serve(appOne)
		p := b.plain.Dial()
		p.Write("POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + value + "\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		conn := app.Accept(value)
		head, body, _ := bytes.Cut([]byte(request(t, b, conn)), []byte("\r\n\r\n"))
		if string(dechunk(t, body)) != "hello" || strings.Count(strings.ToLower(string(head)), "\r\ntransfer-encoding: chunked") != 1 {
			t.Errorf("%q: the application got %q and %q", value, head, body)
		}
		conn.Write(okAnswer)
		b.sim.Idle()
		exchanged(t, p.Read(), "POST")
		p.Close()
		conn.Close()
		b.done()
	}
}

// TestChunkLinesAtTheApplication: H03. What is no chunk ends the request at both
// ends; what follows it is never a request.
func TestChunkLinesAtTheApplication(t *testing.T) {
	for _, body := range []string{
		"0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n",
		"5\r\r\nhello\r\n0\r\n\r\n", "0_0\r\n\r\n", "-0\r\n\r\n", "\r\n", "5;\r\nhello\r\n0\r\n\r\n", "5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n",
		"00000000000000005\r\nhello\r\n0\r\n\r\n", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n", "5these\r\nhello\r\n0\r\n\r\n",
		"5\r\nhelloX\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\n\r\n", "5\r\nhello\r\n0\r\nno colon\r\n\r\n",
	} {
		b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
		app := b.sim.Serve(appOne)
		input := body + get("/api/smuggled")
		for cut := range body {
			p := b.plain.Dial()
			p.Write("POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + input[:cut])
			b.sim.Idle()
			p.Write(input[cut:])
			b.sim.Idle()
			for app.Waiting() > 0 {
				conn := app.Accept("the request")
				if got := string(conn.Read()); strings.Contains(got, "smuggled") || strings.HasSuffix(got, "0\r\n\r\n") {
					t.Fatalf("%q, cut at %d: the application saw %q", body, cut, got)
				}
				conn.Close()
			}
			if resp := exchanged(t, p.Read(), "POST")[0]; resp.StatusCode != 400 || !resp.Close {
				t.Fatalf("%q, cut at %d: %d", body, cut, resp.StatusCode)
			}
			p.Close()
			b.sim.Idle()
		}
		b.done()
	}
}

// TestTargetsAtTheApplication: H06 and H11. The authority of an absolute target wins
// over Host; a path in any spelling belongs to the application that its meaning
// does, which gets it as the client wrote it.
func TestTargetsAtTheApplication(t *testing.T) {
	b := newProxyBench(t, benchOptions{sim: sim.Options{Calm: true}}, false)
	app := b.sim.Serve(appOne)
	for _, c := range []struct{ target, want, host string }{
		{"/api", "/api", "a.example"},
		{"http://b.example:81/api?q", "/api?q", "b.example:81"},
		{"HTTPS://b.example/api/", "/api/", "b.example"},
		{"/%61pi/x", "/%61pi/x", "a.example"},
		{"//api/x", "//api/x", "a.example"},
		{"/./api/x", "/./api/x", "a.example"},
		{"/y/../api/x", "/y/../api/x", "a.example"},
		{"/y%2f..%2fapi", "/y%2f..%2fapi", "a.example"},
		{"/api/%2e%2e/api/%00", "", ""}, // 400
		{"/api/%zz", "", ""},
		{"/api/../f174.bin", "", ""}, // the site's
		{"/api/%2e%2e/f174.bin", "", ""},
		{"/api%2f..%2ff174.bin", "", ""},
		{"/apix", "", ""},
		{"/%2561pi", "", ""},
	} {
		p := b.plain.Dial()
		p.Write("GET " + c.target + " HTTP/1.1\r\nHost: a.example\r\n\r\n")
		b.sim.Idle()
		if asked := app.Waiting() > 0; asked != (c.want != "") {
			t.Errorf("%s: the application was asked: %v", c.target, asked)
		}
		if app.Waiting() > 0 {
			conn := app.Accept(c.target)
			if got := request(t, b, conn); !strings.HasPrefix(got, "GET "+c.want+" HTTP/1.1\r\n") || !strings.Contains(got, "\r\nHost: "+c.host+"\r\n") {
				t.Errorf("%s: the application got %q", c.target, got)
			}
			conn.Close()
			b.sim.Idle()
		}
		p.Close()
		b.sim.Idle()
	}
	b.done()
}

// TestPipelinedOfEveryKind: H14. Fifty requests in one write, for the site, an
// application and a program, are answered in order.
func TestPipelinedOfEveryKind(t *testing.T) {
	const n = 50
	b := newProxyBench(t, benchOptions{config: func(c *config.Config) { c.Limits.Pipelined = 5 }}, false)
	b.runScripts("json.o")
	app := b.sim.Serve(appOne)
	var raw strings.Builder
	var methods []string
	for i := range n {
		raw.WriteString(get([]string{"/f174.bin", fmt.Sprintf("/api/%d", i), fmt.Sprintf("/json?%d", i)}[i%3]))
		methods = append(methods, "GET")
	}
	p := b.plain.Dial()
	p.Write(raw.String())
	b.sim.Idle()
	conn := app.Accept("the first request for it")
	for {
		b.sim.Idle()
		head := string(conn.Read())
		if head == "" {
			break
		}
		target := strings.Fields(head)[1]
		conn.Write(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(target), target))
	}
	for i, resp := range exchanged(t, p.Read(), methods...) {
		want := []string{string(b.files["f174.bin"]), fmt.Sprintf("/api/%d", i), fmt.Sprintf(`{"service":"bench","method":"GET","uri":"/json?%d"}`, i)}[i%3]
		if got, _ := io.ReadAll(resp.Body); string(got) != want {
			t.Errorf("answer %d is %.60q, not %.60q", i, got, want)
		}
	}
	p.Close()
	conn.Close()
	b.done()
}
