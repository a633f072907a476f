// Conditional requests (RFC 9110, 13).

package site

import (
	"bytes"
	"time"

	"edge/proxy/httpmsg"
)

// asked is what a request says that bears on a found file. The values are those
// of the first field of each name; nil: no such field.
type asked struct {
	ifMatch, ifNoneMatch               []byte
	ifModifiedSince, ifUnmodifiedSince []byte
	ranges, ifRange                    []byte
	rangesTwice, ifRangeTwice          bool
}

// readAsked looks at every field once; most are dismissed by their length.
func readAsked(h *httpmsg.Header) (a asked) {
	for i := range h.Fields {
		f := &h.Fields[i]
		switch len(f.Name) {
		case len("Range"):
			if httpmsg.EqualFold(f.Name, "Range") {
				a.rangesTwice = a.ranges != nil
				keepFirst(&a.ranges, f.Value)
			}
		case len("If-Match"): // and If-Range
			if httpmsg.EqualFold(f.Name, "If-Match") {
				keepFirst(&a.ifMatch, f.Value)
			} else if httpmsg.EqualFold(f.Name, "If-Range") {
				a.ifRangeTwice = a.ifRange != nil
				keepFirst(&a.ifRange, f.Value)
			}
		case len("If-None-Match"):
			if httpmsg.EqualFold(f.Name, "If-None-Match") {
				keepFirst(&a.ifNoneMatch, f.Value)
			}
		case len("If-Modified-Since"):
			if httpmsg.EqualFold(f.Name, "If-Modified-Since") {
				keepFirst(&a.ifModifiedSince, f.Value)
			}
		case len("If-Unmodified-Since"):
			if httpmsg.EqualFold(f.Name, "If-Unmodified-Since") {
				keepFirst(&a.ifUnmodifiedSince, f.Value)
			}
		}
	}
	return a
}

func keepFirst(to *[]byte, value []byte) {
	if *to != nil {
		return
	}
	if value == nil {
		value = []byte{}
	}
	*to = value
}

// evaluate gives 412 or 304 when a precondition says so, else 200 (RFC 9110,
// 13.2.2: in this order). The validators are those of entry i.
func (x *index) evaluate(i int, a *asked, h *httpmsg.Header) int {
	e := &x.entries[i]
	dated := e.flags&flagNoDate == 0
	switch {
	case a.ifMatch != nil:
		if !matchesAny(h, "If-Match", x.etag(i), false) {
			return 412
		}
	case a.ifUnmodifiedSince != nil && dated:
		if t, ok := parseDate(a.ifUnmodifiedSince); ok && e.mod > t {
			return 412
		}
	}
	switch {
	case a.ifNoneMatch != nil:
		if matchesAny(h, "If-None-Match", x.etag(i), true) {
			return 304
		}
	case a.ifModifiedSince != nil && dated:
		if string(a.ifModifiedSince) == string(x.lastModified(i)) {
			return 304
		}
		if t, ok := parseDate(a.ifModifiedSince); ok && e.mod <= t {
			return 304
		}
	}
	return 200
}

// rangeHolds evaluates If-Range: do the ranges count? (RFC 9110, 13.1.5). The
// date is a strong validator only when the file was old enough as the archive
// was opened that it cannot have changed twice within that second (8.8.2.2).
func (x *index) rangeHolds(i int, a *asked, modMax int64) bool {
	if a.ifRange == nil {
		return true
	}
	e := &x.entries[i]
	switch {
	case a.ifRangeTwice:
		return false
	case bytes.Equal(a.ifRange, x.etag(i)):
		return true
	}
	return e.flags&flagNoDate == 0 && e.mod < modMax && bytes.Equal(a.ifRange, x.lastModified(i))
}

// matchesAny compares etag, a strong one, with the list in all fields called
// name; weak says whether W/"x" matches "x" (RFC 9110, 8.8.3.2).
func matchesAny(h *httpmsg.Header, name string, etag []byte, weak bool) bool {
	for i := range h.Fields {
		if f := &h.Fields[i]; httpmsg.EqualFold(f.Name, name) && matchesList(f.Value, etag, weak) {
			return true
		}
	}
	return false
}

// matchesList reads `*` or a list of entity tags; what follows something
// malformed does not count.
func matchesList(list, etag []byte, weak bool) bool {
	if string(trimOWS(list)) == "*" {
		return true
	}
	for {
		list = bytes.TrimLeft(list, " \t,")
		rest, isWeak := bytes.CutPrefix(list, []byte("W/"))
		if len(rest) == 0 || rest[0] != '"' {
			return false
		}
		end := bytes.IndexByte(rest[1:], '"')
		if end < 0 {
			return false
		}
		if tag := rest[:end+2]; (weak || !isWeak) && bytes.Equal(tag, etag) {
			return true
		}
		list = bytes.TrimLeft(rest[end+2:], " \t")
		if len(list) > 0 && list[0] != ',' {
			return false
		}
	}
}

// parseDate reads an HTTP date in any of its three forms (RFC 9110, 5.6.7), in
// seconds since 1970. It is for dates that are not byte for byte the one we
// sent, which are few.
func parseDate(value []byte) (int64, bool) {
	const longest = len("Wednesday, 09-Nov-94 08:49:37 GMT")
	if len(value) > longest {
		return 0, false
	}
	s := string(value)
	for _, layout := range [...]string{timeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
}
