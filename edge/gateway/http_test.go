package gateway

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"edge/edge/config"
	"edge/edge/reactor/sim"
	"edge/edge/site"
)

// What HTTP clients send, right and wrong, over the whole gateway. Each input is
// tried as it is, on a kernel that delivers it in pieces, and cut in two at every
// byte.

// httpCase is an input and the answers to it.
type httpCase struct {
	name  string
	input string
	want  string // statuses, blank between them; behind them "close" if the connection ends
}

// httpSite is a small site that all of these tests share.
var httpSite = sync.OnceValue(func() *site.Site {
	dir, err := os.MkdirTemp("", "edge-http-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) // the site holds an archive of its own
	thousand := make([]byte, 1000)
	for i := range thousand {
		thousand[i] = byte(i)
	}
	for name, data := range map[string]string{
		"index.html": "<h1>index</h1>\n", "thousand.bin": string(thousand), "empty.txt": "", "404.html": "nothing here\n",
		"a/index.html": "<h1>a</h1>\n", "a/b": "b\n", "a%2fb": "not a directory\n", ".git/config": "secret\n", "page.html": "page\n",
	} {
		path := dir + "/" + name
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			os.MkdirAll(path[:i], 0o755)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			panic(err)
		}
	}
	s, err := site.OpenDir(dir, site.Options{})
	if err != nil {
		panic(err)
	}
	return s
})

// newHTTPBench is newBench with the small site.
func newHTTPBench(t *testing.T, o benchOptions) *bench {
	t.Helper()
	o.noSite = true
	b := newBench(t, o)
	b.s.current().site = httpSite()
	return b
}

// answersOf reads the answers in got to the requests in input, as "200 404 close".
func answersOf(input string, got []byte, ended bool) (string, []*http.Response, error) {
	r := bufio.NewReader(bytes.NewReader(got))
	var words []string
	var all []*http.Response
	for _, method := range methodsOf(input) {
		if _, err := r.Peek(1); err != nil {
			break
		}
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return "", nil, err
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return "", nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		all = append(all, resp)
		words = append(words, fmt.Sprint(resp.StatusCode))
		if resp.Close != (ended && r.Buffered() == 0) {
			return "", nil, fmt.Errorf("answer %d: Connection: close %v, connection ended %v", len(all), resp.Close, ended)
		}
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		return "", nil, fmt.Errorf("%d bytes behind the last answer: %.80q", len(rest), rest)
	}
	if ended {
		words = append(words, "close")
	}
	return strings.Join(words, " "), all, nil
}

// methodsOf guesses the methods of the requests in input, to read answers by;
// there are as many as answers can come.
func methodsOf(input string) []string {
	var methods []string
	for line := range strings.SplitSeq(input, "\n") {
		if method, rest, ok := strings.Cut(line, " "); ok && strings.Contains(rest, "HTTP/") {
			methods = append(methods, method)
		}
	}
	return append(methods, "GET")
}

// exchangeAll sends the parts one after the other and reads the answers.
func (b *bench) exchangeAll(parts ...string) (string, []*http.Response, error) {
	p := b.plain.Dial()
	for _, part := range parts {
		p.Write(part)
		b.sim.Idle()
	}
	input := strings.Join(parts, "")
	got := p.Read()
	reset := p.WasReset()
	ended := p.EOF()
	p.Close()
	b.sim.Idle()
	if reset {
		return "", nil, fmt.Errorf("reset after %.60q", got)
	}
	return answersOf(input, got, ended)
}

// testHTTP runs cases whole and in two parts.
func testHTTP(t *testing.T, o benchOptions, cases []httpCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newHTTPBench(t, o)
			if got, _, err := b.exchangeAll(c.input); err != nil || got != c.want {
				t.Errorf("%q:\n got %q, %v\nwant %q", c.input, got, err, c.want)
			}
			b.done()
			calm := o
			calm.sim.Calm = true
			b = newHTTPBench(t, calm)
			for _, cut := range cutsOf(c.input) {
				if got, _, err := b.exchangeAll(c.input[:cut], c.input[cut:]); err != nil || got != c.want {
					t.Fatalf("cut after %q:\n got %q, %v\nwant %q", c.input[:cut], got, err, c.want)
				}
			}
			b.done()
		})
	}
}

// cutsOf is every place within a short input, and some of a long one.
func cutsOf(input string) []int {
	const most = 400
	var cuts []int
	for i := 1; i < len(input); i += 1 + len(input)/most {
		cuts = append(cuts, i)
	}
	return cuts
}

// smuggled is a second request: it is answered only where the first one's end is
// beyond doubt.
const smuggled = "GET /page.html HTTP/1.1\r\nHost: a\r\n\r\n"

// Field case H01: spellings of Transfer-Encoding, each with and without a length.
func TestTransferCodings(t *testing.T) {
	const chunks = "5\r\nhello\r\n0\r\n\r\n"
	post := func(fields, minor string) string {
		return "POST / HTTP/1." + minor + "\r\nHost: a\r\n" + fields + "\r\n" + chunks + smuggled
	}
	var cases []httpCase
	for _, c := range []struct{ value, want string }{
		{"chunked", "405 close"}, {"Chunked", "405 close"}, {"chunked\t", "405 close"}, {"\t CHUNKED ", "405 close"},
		{"\x0bchunked", "400 close"}, {"chunked, identity", "400 close"}, {"chunked, chunked", "400 close"},
		{"identity", "501 close"}, {"gzip", "501 close"}, {"gzip, chunked", "501 close"}, {"xchunked", "501 close"},
		{"", "400 close"}, {"chunked;q=1", "400 close"}, {"\"chunked\"", "400 close"},
		{"chunked\r\nTransfer-Encoding: chunked", "400 close"}, {"chunked\r\nTransfer-Encoding: identity", "400 close"},
	} {
		field := "Transfer-Encoding: " + c.value + "\r\n"
		cases = append(cases,
			httpCase{fmt.Sprintf("%q", c.value), post(field, "1"), c.want},
			httpCase{fmt.Sprintf("%q in HTTP/1.0", c.value), post(field, "0"), "400 close"},
			httpCase{fmt.Sprintf("%q before a length", c.value), post(field+"Content-Length: 5\r\n", "1"), "400 close"},
			httpCase{fmt.Sprintf("%q behind a length", c.value), post("Content-Length: 5\r\n"+field, "1"), "400 close"},
		)
	}
	testHTTP(t, benchOptions{}, cases)
}

// A body in chunks is wanted by nobody here, so that its framing is not even
// looked at: the connection ends with the answer, and what follows is no request (H03).
func TestChunksAreNeverRequests(t *testing.T) {
	var cases []httpCase
	for _, line := range []string{
		"0x5\r\n", "+5\r\n", " 5\r\n", "5 \r\n", "5\n", "5\r\r\n", "0_0\r\n", "-0\r\n", "\r\n", "5;\r\n", "5;a=\"\r\n\"",
		"00000000000000005\r\n", "fffffffffffffffff\r\n", "5these\r\n", "5\r\nhelloX\r\n", "0\r\n\r\n",
	} {
		cases = append(cases, httpCase{fmt.Sprintf("%q", line),
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + line + "hello\r\n0\r\n\r\n" + smuggled, "405 close"})
	}
	testHTTP(t, benchOptions{}, cases)
}

// Field case H05: what is no field line, and what surrounds them.
func TestFieldSyntax(t *testing.T) {
	get := func(fields string) string { return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n" + smuggled }
	cases := []httpCase{
		{"plain", get("X: v\r\n"), "200 200"},
		{"empty value", get("X:\r\n"), "200 200"},
		{"bytes above ASCII in a value", get("X: \x80\xff\r\n"), "200 200"},
		{"blank before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n" + smuggled, "400 close"},
		{"tab before the colon", get("X\t: v\r\n"), "400 close"},
		{"folded", get("X: a\r\n b\r\n"), "400 close"},
		{"folded with a tab", get("X: a\r\n\tb\r\n"), "400 close"},
		{"NUL in a value", get("X: a\x00b\r\n"), "400 close"},
		{"CR in a value", get("X: a\rb\r\n"), "400 close"},
		{"other control in a value", get("X: a\x01b\r\n"), "400 close"},
		{"DEL in a value", get("X: a\x7fb\r\n"), "400 close"},
		{"no name", get(": v\r\n"), "400 close"},
		{"byte above ASCII in a name", get("X\x80: v\r\n"), "400 close"},
		{"blank in a name", get("X Y: v\r\n"), "400 close"},
		{"no colon", get("XY\r\n"), "400 close"},
		{"first field starts with a blank", "GET / HTTP/1.1\r\n Host: a\r\n\r\n" + smuggled, "400 close"},
		{"LF alone everywhere", "GET / HTTP/1.1\nHost: a\n\n", "400 close"},
		{"LF alone at the end of a field", get("X: v\n"), "400 close"},
		{"two blanks in the request line", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 close"},
		{"two blanks before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", "400 close"},
		{"tab in the request line", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", "400 close"},
		{"blank behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400 close"},
		{"one empty line first", "\r\n" + smuggled, "200"},
		{"a thousand empty lines first", strings.Repeat("\r\n", 1000) + smuggled, "400 close"},
		{"HTTP/0.9", "GET /\r\n\r\n", "400 close"},
		{"HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", "505 close"},
		{"HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505 close"},
		{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 close"},
		{"two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + smuggled, "400 close"},
		{"list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello" + smuggled, "400 close"},
		{"signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello" + smuggled, "400 close"},
		{"length beyond all", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nhello" + smuggled, "400 close"},
	}
	testHTTP(t, benchOptions{}, cases)
}

// Field case H06: Host, and the forms of a target.
func TestHosts(t *testing.T) {
	with := func(line, host string) string { return line + "\r\n" + host + "\r\n" }
	cases := []httpCase{
		{"no Host", "GET / HTTP/1.1\r\n\r\n", "400 close"},
		{"no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "200 close"},
		{"two Hosts", with("GET / HTTP/1.1", "Host: a\r\nHost: a\r\n"), "400 close"},
		{"two Hosts in HTTP/1.0", with("GET / HTTP/1.0", "Host: a\r\nHost: a\r\n"), "400 close"},
		{"list", with("GET / HTTP/1.1", "Host: a.example, b\r\n"), "400 close"},
		{"port beyond all", with("GET / HTTP/1.1", "Host: a.example:99999\r\n"), "400 close"},
		{"user", with("GET / HTTP/1.1", "Host: user@a\r\n"), "400 close"},
		{"path", with("GET / HTTP/1.1", "Host: a.example/..\r\n"), "400 close"},
		{"with a port", with("GET / HTTP/1.1", "Host: a.example:8443\r\n"), "200"},
		{"IPv6", with("GET / HTTP/1.1", "Host: [::1]:8443\r\n"), "200"},
		{"absolute-form", with("GET http://b.example/ HTTP/1.1", "Host: a\r\n"), "200"},
		{"absolute-form without a path", with("GET https://a.example HTTP/1.1", "Host: a\r\n"), "200"},
		{"absolute-form of another scheme", with("GET ftp://a.example/ HTTP/1.1", "Host: a\r\n"), "400 close"},
		{"asterisk-form", with("OPTIONS * HTTP/1.1", "Host: a\r\n") + smuggled, "204 200"},
		{"asterisk-form of GET", with("GET * HTTP/1.1", "Host: a\r\n"), "400 close"},
		{"authority-form", with("CONNECT a:443 HTTP/1.1", "Host: a:443\r\n") + smuggled, "501 close"},
		{"authority-form of GET", with("GET a:443 HTTP/1.1", "Host: a\r\n"), "400 close"},
		{"two slashes", with("GET //x/y HTTP/1.1", "Host: a\r\n"), "404"},
		{"backslash", with("GET \\x HTTP/1.1", "Host: a\r\n"), "400 close"},
		{"OPTIONS", with("OPTIONS / HTTP/1.1", "Host: a\r\n"), "204"},
		{"DELETE", with("DELETE / HTTP/1.1", "Host: a\r\n"), "405"},
		{"method nobody knows", with("BREW / HTTP/1.1", "Host: a\r\n"), "405"},
		{"method in lower case", with("get / HTTP/1.1", "Host: a\r\n"), "405"},
		{"method that has no end", strings.Repeat("A", 200) + " / HTTP/1.1\r\nHost: a\r\n\r\n", "501 close"},
	}
	testHTTP(t, benchOptions{}, cases)
}

// Paths have one meaning: decoded once, then freed of empty and dot segments. So
// %2f is a slash like any other, and no spelling leads out of the site or to what
// is hidden in it (H11).
func TestPaths(t *testing.T) {
	var cases []httpCase
	for _, c := range []struct{ path, want string }{
		{"/", "200"}, {"/a/b", "200"}, {"/a/", "200"}, {"/a", "301"}, {"/nowhere", "404"},
		{"/../x", "404"}, {"/%2e%2e/x", "404"}, {"/.%2e/", "200"}, {"/a/%2e%2e%2fb", "404"}, {"/..%5cx", "404"}, {"/%5c..%5c", "404"},
		{"/%252e%252e/", "404"}, {"/a%00.html", "400"}, {"/%c0%ae/", "404"}, {"/%", "400"}, {"/%zz", "400"},
		{"/a//b", "200"}, {"/a/./b", "200"}, {"/a%2fb", "200"}, {"/.git/config", "404"}, {"/%2egit/config", "404"}, {"/a/../.git/config", "404"},
	} {
		cases = append(cases, httpCase{c.path, "GET " + c.path + " HTTP/1.1\r\nHost: a\r\n\r\n", c.want})
	}
	testHTTP(t, benchOptions{}, cases)
}

// Field case H09: forms of Range, on a file of a thousand bytes and on an empty one.
func TestRanges(t *testing.T) {
	for _, c := range []struct {
		method, path, ranges string
		status               int
		what                 string // Content-Range, or "parts"
	}{
		{"GET", "/thousand.bin", "bytes=0-", 206, "bytes 0-999/1000"},
		{"GET", "/thousand.bin", "bytes=0-999", 206, "bytes 0-999/1000"},
		{"GET", "/thousand.bin", "bytes=-1", 206, "bytes 999-999/1000"},
		{"GET", "/thousand.bin", "bytes=-0", 416, "bytes */1000"},
		{"GET", "/thousand.bin", "bytes=-2000", 206, "bytes 0-999/1000"},
		{"GET", "/thousand.bin", "bytes=999-", 206, "bytes 999-999/1000"},
		{"GET", "/thousand.bin", "bytes=1000-", 416, "bytes */1000"},
		{"GET", "/thousand.bin", "bytes=500-100", 200, ""},
		{"GET", "/thousand.bin", "bytes=abc-def", 200, ""},
		{"GET", "/thousand.bin", "bytes=0-0,-1", 206, "parts"},
		{"GET", "/thousand.bin", "bytes=,0-1,", 206, "bytes 0-1/1000"},
		{"GET", "/thousand.bin", "bytes= 0-1", 200, ""},
		{"GET", "/thousand.bin", "bytes = 0-1", 200, ""},
		{"GET", "/thousand.bin", "lines=0-1", 200, ""},
		{"GET", "/thousand.bin", "bytes=18446744073709551616-", 416, "bytes */1000"},
		{"GET", "/empty.txt", "bytes=-5", 416, "bytes */0"},
		{"GET", "/empty.txt", "bytes=0-", 416, "bytes */0"},
		{"HEAD", "/thousand.bin", "bytes=0-1", 200, ""},
		{"POST", "/thousand.bin", "bytes=0-1", 405, ""},
	} {
		b := newHTTPBench(t, benchOptions{})
		input := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nRange: %s\r\n\r\n", c.method, c.path, c.ranges)
		_, all, err := b.exchangeAll(input)
		if err != nil || len(all) != 1 {
			t.Fatalf("%q: %d answers, %v", input, len(all), err)
		}
		got := all[0].Header.Get("Content-Range")
		if strings.HasPrefix(all[0].Header.Get("Content-Type"), "multipart/byteranges") {
			got = "parts"
		}
		if all[0].StatusCode != c.status || got != c.what {
			t.Errorf("%q: %d %q, want %d %q", input, all[0].StatusCode, got, c.status, c.what)
		}
		if c.status == 206 && got != "parts" && len(bodyOf(t, all[0])) > 1000 {
			t.Errorf("%q: body longer than the file", input)
		}
		b.done()
	}
}

// The head of an answer says whether its body is there: to HEAD it never is, also
// when something else than the site answers.
func TestHeadNeverHasABody(t *testing.T) {
	testHTTP(t, benchOptions{}, []httpCase{
		{"file", "HEAD /thousand.bin HTTP/1.1\r\nHost: a\r\n\r\n" + smuggled, "200 200"},
		{"nothing", "HEAD /nowhere HTTP/1.1\r\nHost: a\r\n\r\n" + smuggled, "404 200"},
		{"too many fields", "HEAD / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: b\r\n", 100) + "\r\n", "431 close"},
	})
	b := newHTTPBench(t, benchOptions{})
	b.plain.Dial()
	b.sim.Idle()
	b.w.listeners[0].redirect = true
	if got, _, err := b.exchangeAll("HEAD / HTTP/1.1\r\nHost: nowhere\r\n\r\n" + smuggled); err != nil || got != "421 421" {
		t.Errorf("redirecting: %q, %v", got, err)
	}
}

// Field case H14: what passes a limit gets an answer that names it, then the end.
func TestLimitsAreNamed(t *testing.T) {
	long := strings.Repeat("a", 64<<10)
	for _, c := range []struct{ name, input, want, reason string }{
		{"request line", "GET /" + long[:20<<10] + " HTTP/1.1\r\nHost: a\r\n\r\n", "414 close", "max-request-line-bytes"},
		{"cookie", "GET / HTTP/1.1\r\nHost: a\r\nCookie: " + long + "\r\n\r\n", "431 close", "max-head-bytes"},
		{"fields", "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: b\r\n", 101) + "\r\n", "431 close", "max-fields"},
		{"body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n", "413 close", "max-body-bytes"},
	} {
		b := newHTTPBench(t, benchOptions{})
		got, all, err := b.exchangeAll(c.input)
		if err != nil || got != c.want {
			t.Fatalf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		if body := bodyOf(t, all[0]); !bytes.Contains(body, []byte(c.reason)) {
			t.Errorf("%s: the answer does not name %s: %s", c.name, c.reason, body)
		}
		if !strings.Contains(b.log.String(), c.reason) {
			t.Errorf("%s: the log does not name %s: %s", c.name, c.reason, b.log)
		}
		b.done()
	}
}

// Nothing is answered that was not asked: garbage is refused once.
func TestGarbage(t *testing.T) {
	testHTTP(t, benchOptions{}, []httpCase{
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "400 close"},
		{"SSH", "SSH-2.0-OpenSSH_9.6\r\n", "400 close"},
		{"NULs", strings.Repeat("\x00", 100), "400 close"},
	})
}

// Ten thousand requests on one connection, in writes of any size (H14).
func TestManyRequestsOnOneConnection(t *testing.T) {
	const n = 10000
	b := newHTTPBench(t, benchOptions{sim: sim.Options{Seed: 1}, config: func(c *config.Config) { c.Limits.Pipelined = 7 }})
	p := b.plain.Dial()
	raw := strings.Repeat("GET /a/b HTTP/1.1\r\nHost: a\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", n/2)
	p.Write(raw)
	b.sim.Idle()
	got, all, err := answersOf(raw, p.Read(), p.EOF())
	if err != nil || len(all) != n {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	if want := strings.TrimSpace(strings.Repeat("200 404 ", n/2)); got != want {
		i := slices.IndexFunc(all, func(r *http.Response) bool { return r.StatusCode != 200 && r.StatusCode != 404 })
		t.Errorf("answers are not in order; %d is neither", i)
	}
	p.Close()
	b.done()
}
