package coding

import (
	"bytes"

	"edge/proxy/httpmsg"
)

// Names and values that are put in. Nothing writes to them.
var (
	nameContentEncoding = []byte("Content-Encoding")
	nameVary            = []byte("Vary")
	acceptEncoding      = []byte("Accept-Encoding")

	codingNames = [httpmsg.Codings][]byte{[]byte(httpmsg.Brotli.String()), []byte(httpmsg.Zstd.String()), []byte(httpmsg.Gzip.String())}
)

// AddVary says that the answer depends on Accept-Encoding (RFC 9110, 12.5.5). What
// Vary says already stays, in one field.
func AddVary(h *httpmsg.Header) {
	var buf [256]byte
	all := buf[:0]
	for i := range h.Fields {
		f := &h.Fields[i]
		if len(f.Name) != len(nameVary) || !httpmsg.EqualFold(f.Name, "vary") {
			continue
		}
		if listHas(f.Value, "*") || listHas(f.Value, "accept-encoding") {
			return
		}
		if len(f.Value) > 0 {
			all = append(append(all, f.Value...), ", "...)
		}
	}
	if len(all) == 0 {
		h.Del("vary")
		h.Append(nameVary, acceptEncoding)
		return
	}
	h.Del("vary")
	h.AddBytes("Vary", append(all, acceptEncoding...))
}

// Announce makes h that of an answer coded with c: ranges are not to be had of it,
// and its entity tag is a weak one, for the same content comes out in other bytes
// another time (RFC 9110, 8.8.1).
func Announce(h *httpmsg.Header, c httpmsg.Coding) {
	h.DelFunc(func(f *httpmsg.Field) bool {
		return httpmsg.EqualFold(f.Name, "accept-ranges") || httpmsg.EqualFold(f.Name, "content-encoding")
	})
	weaken(h)
	h.Append(nameContentEncoding, codingNames[c])
}

// weaken makes a strong entity tag a weak one. One that is malformed goes: caches
// would take it for a strong one.
func weaken(h *httpmsg.Header) {
	value := h.Get("etag")
	if value == nil || bytes.HasPrefix(value, weakPrefix) {
		return
	}
	h.Del("etag")
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return
	}
	var buf [128]byte
	h.AddBytes("ETag", append(append(buf[:0], weakPrefix...), value...))
}

var weakPrefix = []byte("W/")

// Revalidate makes the entity tag of a 304 the one that the client has the content
// under: a cache looks for what it holds by it (RFC 9111, 4.3.4).
func Revalidate(req *httpmsg.Request, resp *httpmsg.Response) {
	tag := resp.Header.Get("etag")
	if resp.Status != 304 || len(tag) == 0 || tag[0] != '"' {
		return
	}
	for i := range req.Header.Fields {
		f := &req.Header.Fields[i]
		if len(f.Name) == len("if-none-match") && httpmsg.EqualFold(f.Name, "if-none-match") && hasWeak(f.Value, tag) {
			weaken(&resp.Header)
			AddVary(&resp.Header)
			return
		}
	}
}

// RestoreIfMatch adds to If-Match, for each weak entity tag, the strong one that it
// may have been before Announce: If-Match compares strongly (RFC 9110, 13.1.1), and
// the application knows no other. Its own weak tags match as little as before.
func RestoreIfMatch(h *httpmsg.Header) {
	for i := range h.Fields {
		f := &h.Fields[i]
		if len(f.Name) != len("if-match") || !httpmsg.EqualFold(f.Name, "if-match") {
			continue
		}
		var buf [256]byte
		all := append(buf[:0], f.Value...)
		for list := f.Value; ; {
			tag, weak, rest, ok := nextTag(list)
			if !ok {
				break
			}
			if weak {
				all = append(append(all, ", "...), tag...)
			}
			list = rest
		}
		if len(all) > len(f.Value) {
			h.SetValue(i, all)
		}
	}
}

// nextTag takes the first entity tag off a list, its W/ apart (RFC 9110, 8.8.3).
// Not ok: the list is at its end, or what follows is malformed.
func nextTag(list []byte) (tag []byte, weak bool, rest []byte, ok bool) {
	list = bytes.TrimLeft(list, " \t,")
	list, weak = bytes.CutPrefix(list, weakPrefix)
	if len(list) == 0 || list[0] != '"' {
		return nil, false, nil, false
	}
	end := bytes.IndexByte(list[1:], '"')
	if end < 0 {
		return nil, false, nil, false
	}
	return list[:end+2], weak, list[end+2:], true
}

// hasWeak says that a list has W/ and tag.
func hasWeak(list, tag []byte) bool {
	for {
		t, weak, rest, ok := nextTag(list)
		if !ok {
			return false
		}
		if weak && bytes.Equal(t, tag) {
			return true
		}
		list = rest
	}
}

// DropDigests takes out of a trailer section what is about the bytes as they were
// before they were coded.
func DropDigests(trailer *httpmsg.Header) {
	trailer.DelFunc(func(f *httpmsg.Field) bool { return isDigest(f.Name) })
}

// listHas says that a comma-separated list has word, in any case.
func listHas(list []byte, word string) bool {
	for more := true; more; {
		var item []byte
		item, list, more = bytes.Cut(list, []byte{','})
		if httpmsg.EqualFold(httpmsg.TrimBlanks(item), word) {
			return true
		}
	}
	return false
}
