package proxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"edge/proxy/http1"
	"edge/proxy/httpmsg"
)

// parse makes a request of a head; lines are its fields.
func parse(t testing.TB, start string, lines ...string) *httpmsg.Request {
	t.Helper()
	text := start + " HTTP/1.1\r\nHost: a.example\r\n" + strings.Join(append(lines, "\r\n"), "\r\n")
	if len(lines) == 0 {
		text = start + " HTTP/1.1\r\nHost: a.example\r\n\r\n"
	}
	text = strings.TrimSuffix(text, "\r\n\r\n\r\n") // Join leaves one CRLF too many
	if !strings.HasSuffix(text, "\r\n\r\n") {
		text += "\r\n\r\n"
	}
	var p http1.Parser
	req := new(httpmsg.Request)
	if n, err := p.ParseRequest([]byte(text), req); n != len(text) || err != nil {
		t.Fatalf("%q: %d, %v", text, n, err)
	}
	return req
}

var (
	foreigner = &Front{Peer: netip.MustParseAddr("192.0.2.7"), Client: netip.MustParseAddr("192.0.2.7"), TLS: true}
	neighbour = &Front{Peer: netip.MustParseAddr("10.0.0.1"), Client: netip.MustParseAddr("192.0.2.7"), Trusted: true}
)

// lines gives the fields of h as "Name: value", but for those that the test is not
// about.
func lines(h *httpmsg.Header, without ...string) (all []string) {
	for _, f := range h.Fields {
		name := strings.ToLower(string(f.Name))
		if name != "host" && !slices.Contains(without, name) {
			all = append(all, fmt.Sprintf("%s: %s", f.Name, f.Value))
		}
	}
	return all
}

// Field case P05: what the application is told of the client, and by whom.
func TestForwardedFields(t *testing.T) {
	for _, c := range []struct {
		name  string
		front *Front
		sent  []string
		want  []string
	}{
		{"nothing sent", foreigner, nil, []string{
			"X-Forwarded-For: 192.0.2.7", `Forwarded: for=192.0.2.7;host="a.example";proto=https`,
			"X-Forwarded-Proto: https", "X-Forwarded-Host: a.example", "X-Real-IP: 192.0.2.7"}},
		{"all sent by a stranger", foreigner, []string{
			"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: ::1", "X-Forwarded-Proto: http", "X-Forwarded-Host: evil",
			"X-Forwarded-Port: 1", "X-Forwarded-Server: evil", "X-Real-IP: 1.2.3.4", `Forwarded: for="_x"`, "Via: 1.0 x"}, []string{
			"Via: 1.0 x",
			"X-Forwarded-For: 192.0.2.7", `Forwarded: for=192.0.2.7;host="a.example";proto=https`,
			"X-Forwarded-Proto: https", "X-Forwarded-Host: a.example", "X-Real-IP: 192.0.2.7"}},
		{"all sent by a trusted peer", neighbour, []string{
			"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 192.0.2.7", "X-Forwarded-Proto: https", "X-Forwarded-Host: b.example",
			"X-Forwarded-Port: 8443", "X-Real-IP: 1.2.3.4", "Forwarded: for=192.0.2.7", "Forwarded: for=_x"}, []string{
			"X-Forwarded-Proto: https", "X-Forwarded-Host: b.example", "X-Forwarded-Port: 8443",
			"X-Forwarded-For: 1.2.3.4, 192.0.2.7, 10.0.0.1",
			`Forwarded: for=192.0.2.7, for=_x, for=10.0.0.1;host="a.example";proto=http`, "X-Real-IP: 192.0.2.7"}},
		{"sent twice by a trusted peer", neighbour, []string{
			"X-Forwarded-Proto: ", "X-Forwarded-Proto: https", "X-Forwarded-Proto: http"}, []string{
			"X-Forwarded-Proto: https", "X-Forwarded-For: 10.0.0.1",
			`Forwarded: for=10.0.0.1;host="a.example";proto=http`, "X-Forwarded-Host: a.example", "X-Real-IP: 192.0.2.7"}},
		{"quotes that do not end, from a trusted peer", neighbour, []string{
			`Forwarded: for="`, `Forwarded: for="a\"`, `Forwarded: for="_b\\";by="c,\""`, "Forwarded: "}, []string{
			"X-Forwarded-For: 10.0.0.1", `Forwarded: for="_b\\";by="c,\"", for=10.0.0.1;host="a.example";proto=http`,
			"X-Forwarded-Proto: http", "X-Forwarded-Host: a.example", "X-Real-IP: 192.0.2.7"}},
		{"IPv6", &Front{Peer: netip.MustParseAddr("2001:db8::1"), Client: netip.MustParseAddr("2001:db8::1")}, nil, []string{
			"X-Forwarded-For: 2001:db8::1", `Forwarded: for="[2001:db8::1]";host="a.example";proto=http`,
			"X-Forwarded-Proto: http", "X-Forwarded-Host: a.example", "X-Real-IP: 2001:db8::1"}},
		{"unix socket", &Front{}, nil, []string{
			"X-Forwarded-For: unknown", `Forwarded: for=unknown;host="a.example";proto=http`,
			"X-Forwarded-Proto: http", "X-Forwarded-Host: a.example"}},
	} {
		req := parse(t, "GET /", c.sent...)
		var f Forwarder
		if err := f.Request(req, c.front); err != nil {
			t.Fatal(err)
		}
		if got := lines(&req.Header); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// ourFields are those that Request sets when nothing is known but addresses.
var ourFields = []string{"x-forwarded-for", "forwarded", "x-forwarded-proto", "x-forwarded-host", "x-real-ip"}

// Field case P05: spellings that an application may take for ours end here, too.
func TestFieldsThatEndHere(t *testing.T) {
	for _, c := range []struct {
		name string
		sent []string
		want []string
	}{
		{"hop by hop", []string{"A: 1", "Keep-Alive: 5", "Proxy-Connection: x", "TE: gzip", "Trailer: X", "Upgrade: websocket",
			"HTTP2-Settings: x", "Proxy-Authorization: x", "Proxy-Authenticate: x", "Proxy: http://evil", "Connection: close", "B: 2"},
			[]string{"A: 1", "B: 2"}},
		{"listed", []string{"A: 1", "X-A: 2", "Connection: keep-alive, x-a,\tX-B , close", "x-b: 3", "Connection: C", "C: 4", "D: 5"},
			[]string{"A: 1", "D: 5"}},
		{"forwarding fields listed", []string{"Connection: X-Forwarded-For, X-Real-IP, Forwarded"}, nil},
		{"trailers wanted", []string{"TE: gzip, Trailers;q=0.5", "Connection: TE"}, []string{"TE: trailers"}},
		{"expectation twice", []string{"Expect: 100-continue", "Content-Length: 1", "Expect: 100-Continue"}, []string{"Expect: 100-continue", "Content-Length: 1"}},
		{"expectation of none", []string{"Expect: 100-continue"}, nil},
		{"look-alikes", []string{"X_Forwarded_For: 1", "X-Forwarded_For: 1", "X.Forwarded.For: 1", "x_real_ip: 1", "X_JA4: 1", "X_Ech: 1",
			"X-JA4_Outer: 1", "Client_Cert: 1", "X_Request_Id: 1", "Content_Length: 1", "Content_Type: 1", "Transfer_Encoding: x",
			"Proxy_Connection: 1", "X_Forwarded_Anything: 1", "A_B: kept"}, []string{"A_B: kept"}},
		{"ours", []string{"X-JA4: 1", "X-JA4-Inner: 1", "X-JA4H: 1", "X-ECH: 1", "X-ECH-Anything: 1", "Client-Cert: 1", "Client-Cert-Chain: 1",
			"X-Client-Cert-Subject: 1", "X-Request-ID: 1"}, nil},
		{"neighbours of ours", []string{"X-Forwarde: 1", "Forwardeds: 1", "X-JA: 1", "X-Real-IPs: 1", "Content-Type: a/b", "Client: 1", "Via: 1.1 x"},
			[]string{"X-Forwarde: 1", "Forwardeds: 1", "X-JA: 1", "X-Real-IPs: 1", "Content-Type: a/b", "Client: 1", "Via: 1.1 x"}},
	} {
		for _, front := range []*Front{foreigner, neighbour} {
			if front.Trusted && c.name == "ours" {
				c.want = []string{"X-Request-ID: 1"}
			}
			req := parse(t, "GET /", c.sent...)
			var f Forwarder
			if err := f.Request(req, front); err != nil {
				t.Fatal(err)
			}
			if got := lines(&req.Header, ourFields...); !slices.Equal(got, c.want) {
				t.Errorf("%s, trusted %v:\n got %q\nwant %q", c.name, front.Trusted, got, c.want)
			}
			for _, name := range ourFields {
				if !req.Header.Has(name) {
					t.Errorf("%s: no %s", c.name, name)
				}
			}
			if !req.KeepAlive {
				t.Errorf("%s: the upstream connection is not kept", c.name)
			}
		}
	}
}

func TestTooManyOptions(t *testing.T) {
	few := "Connection: close" + strings.Repeat(", x, , close", optionsMax)
	if err := new(Forwarder).Request(parse(t, "GET /", few), foreigner); err != nil {
		t.Error(err)
	}
	if err := new(Forwarder).Request(parse(t, "GET /", few, "Connection: y"), foreigner); err != ErrOptions {
		t.Errorf("%v, want ErrOptions", err)
	}
}

func TestFacts(t *testing.T) {
	front := *foreigner
	front.JA4, front.JA4Inner, front.ECH = []byte("t13d"), []byte("t13i"), []byte("accepted")
	front.ClientCert, front.ClientSubject, front.ClientDigest = []byte(":AAAA:"), []byte("CN=a"), []byte("00ff")
	front.RequestID = []byte("fresh")
	want := []string{"X-JA4: t13d", "X-JA4-Inner: t13i", "X-ECH: accepted", "Client-Cert: :AAAA:",
		"X-Client-Cert-Subject: CN=a", "X-Client-Cert-SHA256: 00ff", "X-Request-ID: fresh"}
	req := parse(t, "GET /", "X-Request-ID: theirs", "X-JA4: theirs")
	if err := new(Forwarder).Request(req, &front); err != nil {
		t.Fatal(err)
	}
	if got := lines(&req.Header, ourFields...); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequestID(t *testing.T) {
	for _, c := range []struct {
		sent    string
		trusted bool
		want    string
	}{
		{"X-Request-ID: theirs", true, "theirs"}, {"X-Request-ID: theirs", false, "fresh"}, {"A: b", true, "fresh"},
		{"X-Request-ID: ", true, "fresh"}, {"X-Request-ID: a b", true, "fresh"}, {`X-Request-ID: a"b`, true, "fresh"},
		{"X-Request-ID: " + strings.Repeat("x", 128), true, strings.Repeat("x", 128)},
		{"X-Request-ID: " + strings.Repeat("x", 129), true, "fresh"},
	} {
		h := fields(c.sent)
		if got := RequestID(&h, c.trusted, []byte("fresh")); string(got) != c.want {
			t.Errorf("%q: %q, want %q", c.sent, got, c.want)
		}
		front := *foreigner
		front.Trusted, front.RequestID = c.trusted, []byte("fresh")
		req := parse(t, "GET /", c.sent)
		if err := new(Forwarder).Request(req, &front); err != nil || string(req.Header.Get("x-request-id")) != c.want {
			t.Errorf("%q: %v, upstream sees %q, want %q", c.sent, err, req.Header.Get("x-request-id"), c.want)
		}
	}
}

func TestVia(t *testing.T) {
	f := Forwarder{Via: "edge"}
	req := parse(t, "GET /", "Via: 1.0 a", "via: 1.1 b")
	if err := f.Request(req, foreigner); err != nil || string(req.Header.Get("via")) != "1.0 a, 1.1 b, 1.1 edge" {
		t.Errorf("%q, %v", req.Header.Get("via"), err)
	}
	req = parse(t, "GET /")
	req.Major, req.Minor = 2, 0
	if err := f.Request(req, foreigner); err != nil || string(req.Header.Get("via")) != "2.0 edge" {
		t.Errorf("%q, %v", req.Header.Get("via"), err)
	}
}

// Field case P09: which protocols are asked for.
func TestUpgradeGoesOn(t *testing.T) {
	for _, c := range []struct {
		start, protocol string
		more            []string
		want            bool
	}{
		{"GET /", "websocket", nil, true},
		{"GET /", "WebSocket", nil, true},
		{"GET /", "custom/2", nil, true},
		{"GET /", "h2c", nil, false},
		{"GET /", "H2C", nil, false},
		{"GET /", "HTTP/2.0", nil, false},
		{"GET /", "TLS/1.3", nil, false},
		{"GET /", "websocket, h2c", nil, false},
		{"GET /", "h2c,websocket", nil, false},
		{"GET /", "", nil, false},
		{"GET /", "websocket", []string{"Upgrade: h2c"}, false},
		{"POST /", "websocket", []string{"Content-Length: 1"}, false},
		{"POST /", "websocket", []string{"Transfer-Encoding: chunked"}, false},
		{"POST /", "websocket", []string{"Content-Length: 0"}, true},
	} {
		sent := append([]string{"Connection: keep-alive, Upgrade", "Upgrade: " + c.protocol}, c.more...)
		req := parse(t, c.start, sent...)
		if err := new(Forwarder).Request(req, foreigner); err != nil {
			t.Fatal(err)
		}
		if req.Upgrade != c.want || req.Header.Has("upgrade") != c.want {
			t.Errorf("%s %q: upgrade %v, field %q, want %v", c.start, c.protocol, req.Upgrade, req.Header.Get("upgrade"), c.want)
		}
	}
}

func TestForwarderAllocatesNothing(t *testing.T) {
	front := *neighbour
	front.JA4, front.RequestID = []byte("t13d1516h2_8daaf6152771_02713d6af862"), []byte("0123456789abcdef")
	in := []byte("GET /a?b HTTP/1.1\r\nHost: a.example\r\nUser-Agent: x\r\nX-Forwarded-For: 192.0.2.7\r\nConnection: keep-alive, x\r\nAccept: */*\r\n\r\n")
	trust := prefixes("10.0.0.0/8")
	var p http1.Parser
	var f Forwarder
	var req httpmsg.Request
	out := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := p.ParseRequest(in, &req); err != nil {
			t.Fatal(err)
		}
		front.Client = trust.Client(front.Peer, &req.Header)
		if err := f.Request(&req, &front); err != nil {
			t.Fatal(err)
		}
		out, _, _ = http1.AppendRequestHead(out[:0], &req, "/base", "")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkForwardRequest(b *testing.B) {
	in := []byte("GET /a?b HTTP/1.1\r\nHost: a.example\r\nUser-Agent: wrk\r\nAccept: */*\r\n\r\n")
	front := *foreigner
	front.JA4, front.RequestID = []byte("t13d1516h2_8daaf6152771_02713d6af862"), []byte("0123456789abcdef")
	var p http1.Parser
	var f Forwarder
	var req httpmsg.Request
	out := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		p.ParseRequest(in, &req)
		f.Request(&req, &front)
		out, _, _ = http1.AppendRequestHead(out[:0], &req, "", "")
	}
}
