package gateway

import (
	"edge/bpfvm"
	"edge/edge/site"
	"edge/proxy/httpmsg"
)

// requestOf returns the request that the program runs for, nil in edge/hello.
func requestOf(t *bpfvm.Task) *httpmsg.Request {
	if x := runOf(t).x; x != nil {
		return &x.req
	}
	return nil
}

// helpMethod: edge_request_method(buffer, size).
func helpMethod(t *bpfvm.Task) (uint64, bool) {
	req := requestOf(t)
	if req == nil {
		return fails(errPermission)
	}
	return give(t, req.Method, 1)
}

// helpTarget: edge_request_target(buffer, size).
func helpTarget(t *bpfvm.Task) (uint64, bool) {
	req := requestOf(t)
	if req == nil {
		return fails(errPermission)
	}
	return give(t, req.Target, 1)
}

// helpPath: edge_request_path(buffer, size).
func helpPath(t *bpfvm.Task) (uint64, bool) {
	r := runOf(t)
	if r.x == nil {
		return fails(errPermission)
	}
	w := r.c.w
	t.Charge(len(r.x.req.Path))
	path, err := site.CleanPath(w.scratch[:0], r.x.req.Path)
	w.scratch = path[:0]
	if err != nil {
		return fails(errInvalid)
	}
	return give(t, path, 1)
}

// helpQuery: edge_request_query(buffer, size).
func helpQuery(t *bpfvm.Task) (uint64, bool) {
	req := requestOf(t)
	switch {
	case req == nil:
		return fails(errPermission)
	case req.Query == nil:
		return fails(errNoEntry)
	}
	return give(t, req.Query, 1)
}

// helpHost: edge_request_host(buffer, size).
func helpHost(t *bpfvm.Task) (uint64, bool) {
	req := requestOf(t)
	if req == nil {
		return fails(errPermission)
	}
	return give(t, req.Authority, 1)
}

// helpRequestHeader: edge_request_header(name, name_length, buffer, size).
func helpRequestHeader(t *bpfvm.Task) (uint64, bool) {
	name, ok := argument(t, 1)
	if !ok {
		return 0, true
	}
	req := requestOf(t)
	if req == nil {
		return fails(errPermission)
	}
	value, found := findField(t, &req.Header, name)
	if !found {
		return fails(errNoEntry)
	}
	return give(t, value, 3)
}

// findField looks for the first field of a name and has the program pay for the
// way there.
func findField(t *bpfvm.Task, h *httpmsg.Header, name []byte) (value []byte, found bool) {
	t.Charge(len(h.Fields))
	for i := range h.Fields {
		if equalFold(h.Fields[i].Name, name) {
			return h.Fields[i].Value, true
		}
	}
	return nil, false
}

// equalFold compares field names without regard to ASCII case.
func equalFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if d := b[i]; c != d && (c|0x20 != d|0x20 || c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}
