package http1

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"edge/proxy/httpmsg"
)

// status is the status of an *Error, 0 for any other error.
func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

var bodyKinds = map[httpmsg.BodyKind]string{
	httpmsg.BodyNone: "none", httpmsg.BodyLength: "length", httpmsg.BodyChunked: "chunked", httpmsg.BodyClose: "close",
}

// requestFacts copies out all that a request says, under the names that the
// vectors use.
func requestFacts(req *httpmsg.Request) map[string]string {
	m := map[string]string{
		"method": string(req.Method), "target": string(req.Target), "scheme": string(req.Scheme),
		"authority": string(req.Authority), "path": string(req.Path), "host": string(req.Header.Get("host")),
		"minor": fmt.Sprint(req.Minor), "major": fmt.Sprint(req.Major),
		"body": bodyKinds[req.Body], "length": fmt.Sprint(req.ContentLength),
		"keepalive": fmt.Sprint(req.KeepAlive), "continue": fmt.Sprint(req.ExpectContinue), "upgrade": fmt.Sprint(req.Upgrade),
		"fields": fmt.Sprintf("%q", req.Header.Fields),
	}
	if req.Query != nil {
		m["query"] = string(req.Query)
	}
	return m
}

// outcome is the end of a parse, with nothing borrowed.
type outcome struct {
	n     int
	facts map[string]string
	err   error
}

// parseRequestCuts parses in as it grows to each of the lengths in ends, in new
// memory every time, until something comes of it.
func parseRequestCuts(l *Limits, in string, ends ...int) (o outcome) {
	p := Parser{Limits: l}
	var req httpmsg.Request
	for _, end := range ends {
		o.n, o.err = p.ParseRequest([]byte(in[:end]), &req)
		if o.n != 0 || o.err != nil {
			break
		}
	}
	if o.n > 0 {
		o.facts = requestFacts(&req)
	}
	return o
}

// everyLength is 0, 1, 2 … n.
func everyLength(n int) []int {
	ends := make([]int, n+1)
	for i := range ends {
		ends[i] = i
	}
	return ends
}

// testCuts demands of parse that it gives the same for in at once, in two parts
// cut anywhere, and byte by byte.
func testCuts(t *testing.T, in string, parse func(ends ...int) outcome) outcome {
	t.Helper()
	whole := parse(len(in))
	for cut := range len(in) {
		if o := parse(cut, len(in)); !reflect.DeepEqual(o, whole) {
			t.Fatalf("cut at %d: %+v, whole: %+v", cut, o, whole)
		}
	}
	if o := parse(everyLength(len(in))...); !reflect.DeepEqual(o, whole) {
		t.Fatalf("byte by byte: %+v, whole: %+v", o, whole)
	}
	return whole
}

// Field cases H05 and H06, with more: requests.txt has the forms.
func TestRequestVectors(t *testing.T) {
	for _, v := range readVectors(t, "requests.txt") {
		t.Run(v.name, func(t *testing.T) {
			in := v.in + v.rest
			o := testCuts(t, in, func(ends ...int) outcome { return parseRequestCuts(nil, in, ends...) })
			v.check(t, o.n, o.facts, o.err)
		})
	}
}

// TestTransferCodingSpellings has each value alone, beside Content-Length and in
// HTTP/1.0: only chunked, alone and in HTTP/1.1, is a framing (H01).
func TestTransferCodingSpellings(t *testing.T) {
	for _, c := range []struct {
		value string
		want  int // status; 0: taken as chunked
	}{
		{"chunked", 0}, {"chunked\t", 0}, {" \tchunked ", 0}, {"Chunked", 0}, {"CHUNKED", 0},
		{"\x0bchunked", 400}, {"chunked\x0b", 400}, {"chunked\x00", 400},
		{"chunked, identity", 400}, {"chunked, chunked", 400}, {"chunked,", 400}, {",chunked", 400},
		{"", 400}, {",", 400}, {"chunked;q=1", 400}, {"\"chunked\"", 400}, {"chun ked", 400},
		{"identity", 501}, {"gzip", 501}, {"xchunked", 501}, {"chunkedx", 501}, {"gzip, chunked", 501},
		{"chunked\r\nTransfer-Encoding: chunked", 400}, {"chunked\r\nTransfer-Encoding: identity", 400},
		{"gzip\r\ntransfer-encoding: chunked", 400},
	} {
		coding := "Transfer-Encoding: " + c.value + "\r\n"
		const length = "Content-Length: 5\r\n"
		for _, v := range []struct {
			version, fields string
			want            int
		}{
			{"1.1", coding, c.want},
			{"1.1", coding + length, 400},
			{"1.1", length + coding, 400},
			{"1.0", coding, 400},
			{"1.0", coding + length, 400},
		} {
			in := "POST / HTTP/" + v.version + "\r\nHost: a\r\n" + v.fields + "\r\n"
			o := testCuts(t, in, func(ends ...int) outcome { return parseRequestCuts(nil, in, ends...) })
			if status(o.err) != v.want {
				t.Errorf("HTTP/%s %q: %v, want status %d", v.version, v.fields, o.err, v.want)
			}
			if v.want == 0 && (o.err != nil || o.facts["body"] != "chunked") {
				t.Errorf("HTTP/%s %q: %v, body %s, want chunked", v.version, v.fields, o.err, o.facts["body"])
			}
		}
	}
}

func TestRequestLimits(t *testing.T) {
	l := &Limits{MethodBytes: 4, RequestLineBytes: 20, HeadBytes: 60, Fields: 3, BodyBytes: 9}
	const start = "GET / HTTP/1.1\r\n" // 16 bytes
	for _, c := range []struct {
		in     string
		want   int
		reason string
	}{
		{"GET /aaaa HTTP/1.1\r\nHost: a\r\n\r\n", 0, ""},
		{"\r\nGET /aaaa HTTP/1.1\r\nHost: a\r\n\r\n", 0, ""},
		{"GET /aaaaa HTTP/1.1\r\nHost: a\r\n\r\n", 414, "request-line-bytes"},
		{"\r\nGET /aaaaa HTTP/1.1\r\nHost: a\r\n\r\n", 414, "request-line-bytes"},
		{"GET /" + strings.Repeat("a", 100), 414, "request-line-bytes"},
		{"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 0, ""},
		{"POSTS / HTTP/1.1\r\nHost: a\r\n\r\n", 501, "method-bytes"},
		{start + "Host: a\r\nA:\r\nB:\r\n\r\n", 0, ""},
		{start + "Host: a\r\nA:\r\nB:\r\nC:\r\n\r\n", 431, "fields"},
		{start + "Host: a\r\nA: " + strings.Repeat("b", 60-16-9-5-2) + "\r\n\r\n", 0, ""},
		{start + "Host: a\r\nA: " + strings.Repeat("b", 60-16-9-5-1) + "\r\n\r\n", 431, "head-bytes"},
		{start + "Host: a\r\nA: " + strings.Repeat("b", 200), 431, "head-bytes"},
		{start + strings.Repeat("a", 100), 431, "head-bytes"},
		{"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 0, ""},
		{"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", 413, "body-bytes"},
	} {
		o := testCuts(t, c.in, func(ends ...int) outcome { return parseRequestCuts(l, c.in, ends...) })
		if status(o.err) != c.want || c.want != 0 && !strings.Contains(o.err.Error(), c.reason) {
			t.Errorf("%q: %v, want %d %s", c.in, o.err, c.want, c.reason)
		}
		if c.want == 0 && o.n != len(c.in) {
			t.Errorf("%q: n = %d, error %v", c.in, o.n, o.err)
		}
	}
}

// TestDefaultLimits has what browsers and tools really send, and what they do not.
func TestDefaultLimits(t *testing.T) {
	const start, host = "GET / HTTP/1.1\r\n", "Host: a\r\n"
	for _, c := range []struct {
		name, in string
		want     int
	}{
		{"100 fields", start + host + strings.Repeat("X: y\r\n", 99) + "\r\n", 0},
		{"101 fields", start + host + strings.Repeat("X: y\r\n", 100) + "\r\n", 431},
		{"cookie of 16 KiB", start + host + "Cookie: " + strings.Repeat("c", 16<<10) + "\r\n\r\n", 0},
		{"cookie of 64 KiB", start + host + "Cookie: " + strings.Repeat("c", 64<<10) + "\r\n\r\n", 431},
		{"path of 7 KiB", "GET /" + strings.Repeat("p", 7<<10) + " HTTP/1.1\r\n" + host + "\r\n", 0},
		{"path of 20 KiB", "GET /" + strings.Repeat("p", 20<<10) + " HTTP/1.1\r\n" + host + "\r\n", 414},
		{"1000 empty lines", strings.Repeat("\r\n", 1000) + start + host + "\r\n", 400},
	} {
		ends := []int{}
		for end := 0; end < len(c.in); end += 97 {
			ends = append(ends, end)
		}
		if o := parseRequestCuts(nil, c.in, append(ends, len(c.in))...); status(o.err) != c.want {
			t.Errorf("%s, in small parts: %v, want %d", c.name, o.err, c.want)
		}
		if o := parseRequestCuts(nil, c.in, len(c.in)); status(o.err) != c.want || c.want == 0 && o.n != len(c.in) {
			t.Errorf("%s: n = %d, error %v, want %d", c.name, o.n, o.err, c.want)
		}
	}
}

// TestSlowHeadIsNotQuadratic counts how often a head that comes byte by byte is
// parsed from its start.
func TestSlowHeadIsNotQuadratic(t *testing.T) {
	in := []byte("GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 90) + "\r\n")
	var s scanner
	parses := 0
	for end := range len(in) + 1 {
		if s.ready(in[:end], len(in)+1) {
			parses++
		}
	}
	if parses > startBytes+5 {
		t.Errorf("%d parses of a head of %d bytes", parses, len(in))
	}
}

// TestPipelined reads fifty requests out of one stream that is cut at every byte.
func TestPipelined(t *testing.T) {
	var in strings.Builder
	for i := range 50 {
		fmt.Fprintf(&in, "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i)
	}
	stream := []byte(in.String())
	for cut := range stream {
		var p Parser
		var req httpmsg.Request
		count := 0
		for at, end := 0, cut; at < len(stream); {
			n, err := p.ParseRequest(stream[at:end], &req)
			if err != nil {
				t.Fatalf("cut at %d, request %d: %v", cut, count, err)
			}
			if n == 0 {
				if end == len(stream) {
					t.Fatalf("cut at %d: nothing after request %d", cut, count)
				}
				end = len(stream)
				continue
			}
			if want := fmt.Sprintf("/%d", count); string(req.Path) != want {
				t.Fatalf("cut at %d: path %s, want %s", cut, req.Path, want)
			}
			count++
			at += n
		}
		if count != 50 {
			t.Fatalf("cut at %d: %d requests", cut, count)
		}
	}
}

func TestParserIsReadyAfterAnError(t *testing.T) {
	var p Parser
	var req httpmsg.Request
	if _, err := p.ParseRequest([]byte("GET / HTTP/1.1\r\nHo"), &req); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ParseRequest([]byte("GET / HTTP/1.1\r\nHo st: a\r\n\r\n"), &req); err == nil {
		t.Fatal("no error")
	}
	in := []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if n, err := p.ParseRequest(in, &req); n != len(in) || err != nil {
		t.Fatal(n, err)
	}
}

func TestHeadsAllocateNothing(t *testing.T) {
	in := []byte(browserRequest)
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\n\r\n")
	method := []byte("GET")
	var p Parser
	var req httpmsg.Request
	var resp ResponseHead
	allocations := testing.AllocsPerRun(100, func() {
		if n, err := p.ParseRequest(in, &req); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
		if n, err := p.ParseResponse(answer, &resp, method); n != len(answer) || err != nil {
			t.Fatal(n, err)
		}
		if _, err := p.ParseRequest(in[3:], &req); err == nil {
			t.Fatal("no error")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
