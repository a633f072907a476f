// Conditional requests (RFC 9110, 13).

package site

import (
	"bytes"
	"time"

	"edge/proxy/httpmsg"
)

// field is a header field: the first value, and how many there are.
type field struct {
	value []byte
	count int
}

// asked is what a request says that bears on a found file.
type asked struct {
	ifMatch, ifNoneMatch, ifModifiedSince, ifUnmodifiedSince, ifRange, ranges field
}

// readAsked looks at every field once; most are dismissed by their length.
func readAsked(h *httpmsg.Header) (a asked) {
	for i := range h.Fields {
		f := &h.Fields[i]
		switch len(f.Name) {
		case len("Range"):
			a.ranges.note(f, "Range")
		case len("If-Match"): // and If-Range
			a.ifMatch.note(f, "If-Match")
			a.ifRange.note(f, "If-Range")
		case len("If-None-Match"):
			a.ifNoneMatch.note(f, "If-None-Match")
		case len("If-Modified-Since"):
			a.ifModifiedSince.note(f, "If-Modified-Since")
		case len("If-Unmodified-Since"):
			a.ifUnmodifiedSince.note(f, "If-Unmodified-Since")
		}
	}
	return a
}

func (to *field) note(f *httpmsg.Field, name string) {
	if !httpmsg.EqualFold(f.Name, name) {
		return
	}
	if to.count == 0 {
		to.value = f.Value
	}
	to.count++
}

// date is the field as a date; ok is false when it is none, or several.
func (to *field) date() (t int64, ok bool) {
	if to.count != 1 {
		return 0, false
	}
	return parseDate(to.value)
}

// evaluate gives 412 or 304 when a precondition says so, else 200 (RFC 9110,
// 13.2.2: in this order). The validators are those of entry i.
func (x *index) evaluate(i int, a *asked, h *httpmsg.Header) int {
	e := &x.entries[i]
	dated := e.flags&flagNoDate == 0
	if a.ifMatch.count > 0 {
		if !matchesAny(h, "If-Match", x.etag(i), false) {
			return 412
		}
	} else if a.ifUnmodifiedSince.count > 0 && dated {
		if t, ok := a.ifUnmodifiedSince.date(); ok && e.mod > t {
			return 412
		}
	}
	if a.ifNoneMatch.count > 0 {
		if matchesAny(h, "If-None-Match", x.etag(i), true) {
			return 304
		}
	} else if a.ifModifiedSince.count > 0 && dated {
		if t, ok := a.ifModifiedSince.date(); ok && e.mod <= t {
			return 304
		}
	}
	return 200
}

// rangeHolds evaluates If-Range: do the ranges count? (RFC 9110, 13.1.5). A date
// is a strong validator only if the content cannot have changed twice within
// that second (8.8.2.2): when the archive is younger than it.
func (x *index) rangeHolds(i int, a *asked, modMax int64) bool {
	switch {
	case a.ifRange.count == 0:
		return true
	case a.ifRange.count > 1:
		return false
	case bytes.Equal(a.ifRange.value, x.etag(i)):
		return true
	}
	e := &x.entries[i]
	return e.flags&flagNoDate == 0 && e.mod < modMax && bytes.Equal(a.ifRange.value, x.lastModified(i))
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
	if string(httpmsg.TrimBlanks(list)) == "*" {
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
// seconds since 1970.
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
