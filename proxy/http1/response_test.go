package http1

import (
	"fmt"
	"strings"
	"testing"
)

func responseFacts(resp *ResponseHead) map[string]string {
	return map[string]string{
		"status": fmt.Sprint(resp.Status), "reason": string(resp.Reason), "minor": fmt.Sprint(resp.Minor),
		"body": bodyKinds[resp.Body], "length": fmt.Sprint(resp.ContentLength),
		"keepalive": fmt.Sprint(resp.KeepAlive), "upgrade": fmt.Sprint(resp.Upgrade),
		"fields": fmt.Sprintf("%q", resp.Header.Fields),
	}
}

func parseResponseCuts(l *Limits, in, method string, ends ...int) (o outcome) {
	p := Parser{Limits: l}
	var resp ResponseHead
	for _, end := range ends {
		o.n, o.err = p.ParseResponse([]byte(in[:end]), &resp, []byte(method))
		if o.n != 0 || o.err != nil {
			break
		}
	}
	if o.n > 0 {
		o.facts = responseFacts(&resp)
	}
	return o
}

// Field case P03, heads: responses.txt has the forms.
func TestResponseVectors(t *testing.T) {
	for _, v := range readVectors(t, "responses.txt") {
		t.Run(v.name, func(t *testing.T) {
			in := v.in + v.rest
			o := testCuts(t, in, func(ends ...int) outcome { return parseResponseCuts(nil, in, v.method, ends...) })
			v.check(t, o.n, o.facts, o.err)
		})
	}
}

func TestResponseLimits(t *testing.T) {
	l := &Limits{HeadBytes: 64, Fields: 2}
	const start = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		in     string
		reason string // empty: no error
	}{
		{start + "A: b\r\nC: d\r\n\r\n", ""},
		{start + "A: b\r\nC: d\r\nE: f\r\n\r\n", "fields"},
		{start + "A: " + strings.Repeat("b", 64-len(start)-7) + "\r\n\r\n", ""},
		{start + "A: " + strings.Repeat("b", 64-len(start)-6) + "\r\n\r\n", "head-bytes"},
		{"HTTP/1.1 200 " + strings.Repeat("b", 100), "head-bytes"},
	} {
		o := testCuts(t, c.in, func(ends ...int) outcome { return parseResponseCuts(l, c.in, "GET", ends...) })
		if c.reason == "" {
			if o.n != len(c.in) || o.err != nil {
				t.Errorf("%q: n = %d, error %v", c.in, o.n, o.err)
			}
			continue
		}
		if status(o.err) != 502 || !strings.Contains(o.err.Error(), c.reason) {
			t.Errorf("%q: %v (%d), want 502 %s", c.in, o.err, status(o.err), c.reason)
		}
	}
}

// TestHugeResponseHead: a megabyte of fields, and a head without end.
func TestHugeResponseHead(t *testing.T) {
	for _, in := range []string{
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Field: value\r\n", 1<<16) + "\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1<<20),
	} {
		if o := parseResponseCuts(nil, in, "GET", 1000, 2000, len(in)); status(o.err) != 502 {
			t.Errorf("%.40q...: n = %d, error %v", in, o.n, o.err)
		}
	}
}
