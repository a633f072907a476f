package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

// The targets hold this package against itself (cut anywhere, the same comes out)
// and against net/http: what is accepted here must mean the same there. The other
// way round need not hold: this package refuses more.

// threeEnds cuts n bytes in three at places taken from a and b.
func threeEnds(n int, a, b uint16) []int {
	x, y := int(a)%(n+1), int(b)%(n+1)
	return []int{min(x, y), max(x, y), n}
}

func FuzzRequest(f *testing.F) {
	for _, v := range readVectors(f, "requests.txt") {
		f.Add(v.in+v.rest, uint16(5), uint16(20))
	}
	f.Add(browserRequest, uint16(7), uint16(300))
	f.Fuzz(func(t *testing.T, in string, a, b uint16) {
		whole := parseRequestCuts(nil, in, len(in))
		cut := parseRequestCuts(nil, in, threeEnds(len(in), a, b)...)
		if late := cut.n == 0 && cut.err == nil && whole.err != nil; !late && !reflect.DeepEqual(whole, cut) {
			t.Fatalf("whole %+v, cut %+v", whole, cut)
		}
		if whole.n > 0 {
			compareRequest(t, in[:whole.n], whole.facts)
		}
	})
}

// compareRequest parses a head that this package took with net/http.
func compareRequest(t *testing.T, head string, facts map[string]string) {
	theirs, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.TrimPrefix(head, "\r\n"))))
	if err != nil {
		// It also parses the path, which is not for this package to do.
		if strings.Contains(err.Error(), "invalid URL escape") {
			return
		}
		t.Fatalf("net/http refuses %q: %v", head, err)
	}
	kind, length := "none", theirs.ContentLength
	switch {
	case len(theirs.TransferEncoding) > 0:
		kind, length = "chunked", 0
	case theirs.Header.Get("Content-Length") != "":
		kind = "length"
	}
	ours := map[string]string{"method": theirs.Method, "target": theirs.RequestURI, "authority": theirs.Host, "body": kind}
	for name, want := range ours {
		if facts[name] != want {
			t.Fatalf("%q: %s is %q, net/http says %q", head, name, facts[name], want)
		}
	}
	if kind == "length" && facts["length"] != strconv.FormatInt(length, 10) || theirs.Close != (facts["keepalive"] == "false") {
		t.Fatalf("%q: %v, net/http says length %d, close %v", head, facts, length, theirs.Close)
	}
}

func FuzzResponse(f *testing.F) {
	for _, v := range readVectors(f, "responses.txt") {
		f.Add(v.in+v.rest, v.method == "HEAD", uint16(5), uint16(20))
	}
	f.Fuzz(func(t *testing.T, in string, head bool, a, b uint16) {
		method := "GET"
		if head {
			method = "HEAD"
		}
		whole := parseResponseCuts(nil, in, method, len(in))
		cut := parseResponseCuts(nil, in, method, threeEnds(len(in), a, b)...)
		if late := cut.n == 0 && cut.err == nil && whole.err != nil; !late && !reflect.DeepEqual(whole, cut) {
			t.Fatalf("whole %+v, cut %+v", whole, cut)
		}
		if whole.n > 0 {
			compareResponse(t, in[:whole.n], method, whole.facts)
		}
	})
}

// compareResponse parses a head that this package took with net/http.
func compareResponse(t *testing.T, head, method string, facts map[string]string) {
	theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head)), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", head, err)
	}
	theirs.Body.Close()
	if facts["status"] != strconv.Itoa(theirs.StatusCode) {
		t.Fatalf("%q: status %s, net/http says %d", head, facts["status"], theirs.StatusCode)
	}
	kind := "close"
	switch {
	case theirs.StatusCode < 200 || theirs.StatusCode == 204 || theirs.StatusCode == 304 || method == "HEAD":
		kind = "none"
	case len(theirs.TransferEncoding) > 0:
		kind = "chunked"
	case theirs.ContentLength >= 0:
		kind = "length"
	}
	if facts["body"] != kind || kind == "length" && facts["length"] != strconv.FormatInt(theirs.ContentLength, 10) {
		t.Fatalf("%q: body %s of %s, net/http says %s of %d", head, facts["body"], facts["length"], kind, theirs.ContentLength)
	}
}

func FuzzChunked(f *testing.F) {
	for _, v := range readVectors(f, "chunked.txt") {
		f.Add(v.in+v.rest, uint16(3), uint16(9))
	}
	f.Fuzz(func(t *testing.T, in string, a, b uint16) {
		whole := chunkedOutcome(nil, in, len(in))
		cut := chunkedOutcome(nil, in, threeEnds(len(in), a, b)...)
		if late := cut.n == 0 && cut.err == nil && whole.err != nil; !late && !reflect.DeepEqual(whole, cut) {
			t.Fatalf("whole %+v, cut %+v", whole, cut)
		}
		if whole.n > 0 {
			compareChunked(t, in[:whole.n], whole.facts["data"])
		}
	})
}

// compareChunked reads a body that this package took to its end with net/http.
func compareChunked(t *testing.T, body, data string) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	in := bufio.NewReaderSize(strings.NewReader(head+body), len(head)+len(body))
	req, err := http.ReadRequest(in)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := io.ReadAll(req.Body)
	if err != nil {
		if strings.Contains(err.Error(), "too much non-data") {
			return // their limit on extensions is on the sum, ours on each line
		}
		t.Fatalf("net/http refuses %q: %v", body, err)
	}
	if string(theirs) != data || in.Buffered() != 0 {
		t.Fatalf("%q: data %q, net/http says %q and leaves %d bytes", body, data, theirs, in.Buffered())
	}
}

// FuzzWrittenHead: a head that is written from any fields parses as one head with
// no more fields than it was given.
func FuzzWrittenHead(f *testing.F) {
	f.Add("Location", "/a\r\nX: y", "Set-Cookie", "a=b")
	f.Add("X\r\n\r\n", "", "", "v")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		var r httpmsg.Response
		r.Reset(200)
		r.Header.Add(name1, value1)
		r.Header.Add(name2, value2)
		head, framing := AppendResponseHead(nil, &r, []byte(testDate), 1, true)
		var p Parser
		var parsed ResponseHead
		n, err := p.ParseResponse(append(bytes.Clone(head), "junk"...), &parsed, []byte("GET"))
		if n != len(head) || err != nil {
			t.Fatalf("%q: n = %d of %d, error %v", head, n, len(head), err)
		}
		if most := 4 - framing.Dropped; len(parsed.Header.Fields) > most {
			t.Fatalf("%q: %d fields, at most %d were given", head, len(parsed.Header.Fields), most)
		}
	})
}
