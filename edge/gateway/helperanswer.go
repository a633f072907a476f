package gateway

import (
	"edge/bpfvm"
	"edge/proxy/httpmsg"
)

// headerChanges are what programs changed of an answer that is not there yet, in
// order. The bytes lie in arena and stay there until the answer is written, since
// the answer's fields borrow them.
type headerChanges struct {
	list  []headerChange
	arena []byte
	count int // of changes, those that were applied at once too
}

// headerChange is one of them. A nil value deletes.
type headerChange struct {
	name, value []byte
	keepOthers  bool // add, not set
}

// The limits that edge.h names.
const (
	changesMax      = 64
	changesBytesMax = 16384
	respondBytesMax = 256 << 10
)

func (c *headerChanges) reset() {
	clear(c.list)
	c.list, c.arena, c.count = c.list[:0], c.arena[:0], 0
}

// keep copies b into the arena.
func (c *headerChanges) keep(b []byte) []byte {
	at := len(c.arena)
	c.arena = append(c.arena, b...)
	return c.arena[at:len(c.arena):len(c.arena)]
}

// own copies what the fields of h borrow, for an answer that has to wait longer
// than they last.
func (c *headerChanges) own(h *httpmsg.Header) {
	for i := range h.Fields {
		f := &h.Fields[i]
		f.Name, f.Value = c.keep(f.Name), c.keep(f.Value)
	}
}

// apply makes the changes noted so far in h, once.
func (c *headerChanges) apply(h *httpmsg.Header) {
	for i := range c.list {
		c.list[i].apply(h)
	}
	clear(c.list)
	c.list = c.list[:0]
}

func (c *headerChange) apply(h *httpmsg.Header) {
	if !c.keepOthers {
		name := c.name
		h.DelFunc(func(f *httpmsg.Field) bool { return equalFold(f.Name, name) })
	}
	if c.value != nil {
		h.Append(c.name, c.value)
	}
}

// serversOwn are the fields that say where a message ends and what becomes of the
// connection.
var serversOwn = []string{
	"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "TE", "Trailer",
}

func isServersOwn(name []byte) bool {
	for _, own := range serversOwn {
		if httpmsg.EqualFold(name, own) {
			return true
		}
	}
	return false
}

// changeHeader is the helpers that set, add and delete. Their arguments 1 and 2
// are the name, 3 and 4 the value.
func changeHeader(t *bpfvm.Task, valued, keepOthers bool) (uint64, bool) {
	name, ok := argument(t, 1)
	if !ok {
		return 0, true
	}
	value := []byte{}
	if valued {
		if value, ok = argument(t, 3); !ok {
			return 0, true
		}
	}
	r := runOf(t)
	c := &r.changes
	switch {
	case r.x == nil || isServersOwn(name):
		return fails(errPermission)
	case c.count == changesMax || len(c.arena)+len(name)+len(value) > changesBytesMax:
		return fails(errNoSpace)
	case !httpmsg.IsToken(name) || !isFieldValue(value):
		return fails(errInvalid)
	}
	c.count++
	change := headerChange{name: c.keep(name), keepOthers: keepOthers}
	if valued {
		change.value = c.keep(value)
	}
	if r.hook == hookResponse {
		change.apply(&r.x.resp.Header)
	} else {
		c.list = append(c.list, change)
	}
	return 0, true
}

// isFieldValue says whether b may stand as a field's value. Blanks at its ends are
// no part of a value (RFC 9110, 5.5).
func isFieldValue(b []byte) bool {
	return httpmsg.IsValue(b) && (len(b) == 0 || !httpmsg.IsBlank(b[0]) && !httpmsg.IsBlank(b[len(b)-1]))
}

// helpHeaderSet: edge_header_set(name, name_length, value, length).
func helpHeaderSet(t *bpfvm.Task) (uint64, bool) { return changeHeader(t, true, false) }

// helpHeaderAdd: edge_header_add(name, name_length, value, length).
func helpHeaderAdd(t *bpfvm.Task) (uint64, bool) { return changeHeader(t, true, true) }

// helpHeaderDelete: edge_header_delete(name, name_length).
func helpHeaderDelete(t *bpfvm.Task) (uint64, bool) { return changeHeader(t, false, false) }

// helpHeaderGet: edge_header_get(name, name_length, buffer, size).
func helpHeaderGet(t *bpfvm.Task) (uint64, bool) {
	name, ok := argument(t, 1)
	if !ok {
		return 0, true
	}
	r := runOf(t)
	if r.hook != hookResponse {
		return fails(errPermission)
	}
	value, found := findField(t, &r.x.resp.Header, name)
	if !found {
		return fails(errNoEntry)
	}
	return give(t, value, 3)
}

// helpStatusSet: edge_status_set(status).
func helpStatusSet(t *bpfvm.Task) (uint64, bool) {
	r := runOf(t)
	if r.hook != hookResponse {
		return fails(errPermission)
	}
	status := uint32(t.Arg(1))
	if !isPlainStatus(status) || !isPlainStatus(uint32(r.x.resp.Status)) {
		return fails(errInvalid)
	}
	r.x.resp.Status = int(status)
	return 0, true
}

// isPlainStatus says whether an answer with the status has a body like any other.
func isPlainStatus(status uint32) bool {
	switch status {
	case 204, 205, 206, 304, 416:
		return false
	}
	return isFinalStatus(status)
}

func isFinalStatus(status uint32) bool { return status >= 200 && status <= 599 }

// helpRespond: edge_respond(status, type, type_length, body, length).
func helpRespond(t *bpfvm.Task) (uint64, bool) {
	r := runOf(t)
	status, length := uint32(t.Arg(1)), t.Arg(5)
	if r.hook != hookRequest {
		return fails(errPermission)
	}
	if length > respondBytesMax {
		return fails(errTooBig)
	}
	mediaType, ok := argument(t, 2)
	if !ok {
		return 0, true
	}
	body, ok := argument(t, 4)
	if !ok {
		return 0, true
	}
	if len(r.changes.arena)+len(mediaType) > changesBytesMax {
		return fails(errNoSpace)
	}
	if !isFinalStatus(status) || !isFieldValue(mediaType) {
		return fails(errInvalid)
	}
	r.body = append(r.body[:0], body...)
	r.fillAnswer(&r.x.resp, int(status), mediaType)
	return r.decide(t, verdict{kind: verdictRespond})
}

// fillAnswer makes resp what a program answers; the body is in r.body.
func (r *programRun) fillAnswer(resp *httpmsg.Response, status int, mediaType []byte) {
	resp.Reset(status)
	if len(mediaType) > 0 {
		resp.Header.Append(contentType, r.changes.keep(mediaType))
	}
	if status == 204 || status == 205 || status == 304 {
		resp.NoBody = status != 205
		resp.ContentLength = 0
		return
	}
	resp.ContentLength = int64(len(r.body))
	if len(r.body) > 0 {
		resp.Bytes = r.body
	}
}
