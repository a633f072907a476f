package http1

import (
	"errors"
	"testing"

	"edge/proxy/httpmsg"
)

// parseCut feeds in to a fresh parser, its first part up to cut and then whole,
// the second time from other memory.
func parseCut(in string, cut int, req *httpmsg.Request) (int, error) {
	var p Parser
	if n, err := p.ParseRequest([]byte(in[:cut]), req); n != 0 || err != nil {
		return n, err
	}
	return p.ParseRequest([]byte(in), req)
}

func status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func TestParseRequestFields(t *testing.T) {
	var p Parser
	var req httpmsg.Request
	in := "POST /a/b?c=d HTTP/1.1\r\nHost: h.example:8443\r\nContent-Length: 12\r\nX-A:\t b c\t \r\nExpect: 100-Continue\r\n\r\nbody"
	n, err := p.ParseRequest([]byte(in), &req)
	if err != nil || n != len(in)-4 {
		t.Fatal(n, err)
	}
	for _, c := range []struct{ what, got, want string }{
		{"method", string(req.Method), "POST"},
		{"target", string(req.Target), "/a/b?c=d"},
		{"path", string(req.Path), "/a/b"},
		{"query", string(req.Query), "c=d"},
		{"authority", string(req.Authority), "h.example:8443"},
		{"X-A", string(req.Header.Get("x-a")), "b c"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.what, c.got, c.want)
		}
	}
	if req.Body != httpmsg.BodyLength || req.ContentLength != 12 || !req.KeepAlive || !req.ExpectContinue || req.Major != 1 || req.Minor != 1 {
		t.Errorf("%+v", req)
	}
}
