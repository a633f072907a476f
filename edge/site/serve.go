// One request in, the description of one response out.

package site

import (
	"strconv"

	"edge/proxy/httpmsg"
)

// Field names and values that are always the same. Nothing writes to them.
var (
	nameAcceptRanges    = []byte("Accept-Ranges")
	nameAllow           = []byte("Allow")
	nameContentEncoding = []byte("Content-Encoding")
	nameContentType     = []byte("Content-Type")
	nameETag            = []byte("ETag")
	nameLastModified    = []byte("Last-Modified")
	nameVary            = []byte("Vary")

	valueAcceptEncoding = []byte("Accept-Encoding")
	valueAllow          = []byte("GET, HEAD, OPTIONS")
	valueBytes          = []byte("bytes")
	valueText           = []byte("text/plain; charset=utf-8")

	emptyBody = []byte{}
)

// What is said where the site has no page of its own.
var (
	textBadPath  = []byte("400: the path is malformed.\n")
	textNotFound = []byte("404: there is nothing here.\n")
	textMethod   = []byte("405: the methods here are GET, HEAD and OPTIONS.\n")
	textStale    = []byte("503: the site is being replaced. Try again soon.\n")
)

// Serve makes resp the answer to req. The slices in resp are the site's and
// live as long as it does; those that were made for this answer live in resp
// itself. On the way to a plain 200 nothing is allocated.
//
// The body is Bytes, or a range of File, or Parts of either. When Entry is not
// -1, whoever has read all of that range may hand it to Keep.
func (s *Site) Serve(req *httpmsg.Request, resp *httpmsg.Response) {
	switch string(req.Method) {
	case "GET":
		s.get(req, resp)
	case "HEAD":
		s.get(req, resp)
		resp.NoBody = true
	case "OPTIONS":
		resp.Reset(204)
		resp.NoBody = true
		resp.Header.Append(nameAllow, valueAllow)
	default:
		text(resp, 405, textMethod)
		resp.Header.Append(nameAllow, valueAllow)
	}
}

func (s *Site) get(req *httpmsg.Request, resp *httpmsg.Response) {
	if isClean(req.Path) {
		s.servePath(req.Path, req, resp)
	} else {
		s.serveUnclean(req, resp)
	}
}

// serveUnclean has the memory for a path that must be rewritten.
func (s *Site) serveUnclean(req *httpmsg.Request, resp *httpmsg.Response) {
	var buf [pathBytesMax]byte
	path, err := CleanPath(buf[:0], req.Path)
	if err != nil {
		text(resp, 400, textBadPath)
		return
	}
	s.servePath(path, req, resp)
}

func (s *Site) servePath(path []byte, req *httpmsg.Request, resp *httpmsg.Response) {
	i, match, ok := s.index.find(path)
	switch {
	case !ok || !s.index.served(i):
		s.serveNotFound(req, resp)
	case match == matchRedirect:
		redirect(path, req.Query, resp)
	default:
		s.serveEntry(i, req, resp)
	}
}

// redirect sends the client to the directory's own path, path + "/", so that
// relative links work. Clean paths have no empty segments, so the location never
// begins with "//", and "\" is escaped: it cannot name another host.
func redirect(path, query []byte, resp *httpmsg.Response) {
	resp.Reset(301)
	location := appendEscaped(make([]byte, 0, len(path)+len(query)+2), path)
	location = append(location, '/')
	if len(query) > 0 {
		location = appendQuery(append(location, '?'), query)
	}
	resp.Header.AddBytes("Location", location)
}

// appendQuery appends a query that is encoded already; bytes that may not stand
// in a URI are encoded now.
func appendQuery(dst, query []byte) []byte {
	for i, c := range query {
		if pathByte(c) || c == '?' || c == '%' {
			dst = append(dst, c)
		} else {
			dst = appendEscaped(dst, query[i:i+1])
		}
	}
	return dst
}

// text makes resp a short text.
func text(resp *httpmsg.Response, status int, body []byte) {
	resp.Reset(status)
	resp.Header.Append(nameContentType, valueText)
	resp.Bytes = body
	resp.ContentLength = int64(len(body))
}

func (s *Site) serveNotFound(req *httpmsg.Request, resp *httpmsg.Response) {
	if s.notFound < 0 {
		text(resp, 404, textNotFound)
		return
	}
	chosen, coding := s.represent(s.notFound, req)
	resp.Reset(404)
	s.describe(resp, s.notFound, coding)
	s.body(resp, chosen)
}

// serveEntry answers with entry i, or with what the request's conditions and
// ranges make of it.
func (s *Site) serveEntry(i int, req *httpmsg.Request, resp *httpmsg.Response) {
	chosen, coding := s.represent(i, req)
	a := readAsked(&req.Header)
	status := s.index.evaluate(chosen, &a, &req.Header)
	if status == 200 && a.ranges.count > 0 && string(req.Method) == "GET" && s.serveRanges(i, chosen, coding, &a, resp) {
		return
	}
	resp.Reset(status)
	if status == 412 {
		return
	}
	if status == 304 {
		// RFC 9110, 15.4.5: what a cache needs, and no more.
		resp.NoBody = true
		s.varies(resp, i, -1)
		resp.Header.Append(nameETag, s.index.etag(chosen))
		return
	}
	s.describe(resp, i, coding)
	s.validators(resp, chosen)
	resp.Header.Append(nameAcceptRanges, valueBytes)
	s.body(resp, chosen)
}

// represent chooses between entry i and its compressed siblings.
func (s *Site) represent(i int, req *httpmsg.Request) (chosen, coding int) {
	if s.index.entries[i].flags&flagVaries == 0 {
		return i, -1
	}
	return s.index.choose(i, &req.Header)
}

// describe adds the fields about the representation of entry i in coding.
func (s *Site) describe(resp *httpmsg.Response, i, coding int) {
	resp.Header.Append(nameContentType, mediaTypes[s.index.entries[i].media])
	s.varies(resp, i, coding)
}

func (s *Site) varies(resp *httpmsg.Response, i, coding int) {
	if s.index.entries[i].flags&flagVaries != 0 {
		resp.Header.Append(nameVary, valueAcceptEncoding)
	}
	if coding >= 0 {
		resp.Header.Append(nameContentEncoding, codingNames[coding])
	}
}

func (s *Site) validators(resp *httpmsg.Response, i int) {
	resp.Header.Append(nameETag, s.index.etag(i))
	if s.index.entries[i].flags&flagNoDate == 0 {
		resp.Header.Append(nameLastModified, s.index.lastModified(i))
	}
}

// body makes the whole content of entry i the body. When that can no longer be
// had, resp becomes a 503 and ok is false.
func (s *Site) body(resp *httpmsg.Response, i int) (ok bool) {
	e := &s.index.entries[i]
	resp.ContentLength = e.size
	switch kept := s.cache.get(i); {
	case kept != nil:
		resp.Bytes = kept.bytes
	case e.size == 0:
		resp.Bytes = emptyBody
	case s.stale.Load() != nil:
		text(resp, 503, textStale)
		return false
	default:
		resp.File, resp.Off = s.fd, e.off
		if s.cache.wants(i, e.size) {
			resp.Entry = i
		}
	}
	return true
}

// serveRanges answers with ranges of entry chosen, if there are any to answer
// with.
func (s *Site) serveRanges(i, chosen, coding int, a *asked, resp *httpmsg.Response) bool {
	if a.ranges.count > 1 || !s.index.rangeHolds(chosen, a, s.modMax) {
		return false
	}
	size := s.index.entries[chosen].size
	var spans [rangesMax]span
	n, result := parseRanges(a.ranges.value, size, &spans, s.rangesMax)
	switch {
	case result == rangesIgnored:
		return false
	case result == rangesUnsatisfiable:
		resp.Reset(416)
		addContentRange(resp, span{}, size)
	case n == 1:
		resp.Reset(206)
		s.describe(resp, i, coding)
		s.validators(resp, chosen)
		addContentRange(resp, spans[0], size)
		s.single(resp, chosen, spans[0])
	default:
		resp.Reset(206)
		s.multipart(resp, i, chosen, coding, spans[:n])
	}
	return true
}

// addContentRange adds the field (RFC 9110, 14.4); an empty span is that of 416.
func addContentRange(resp *httpmsg.Response, r span, size int64) {
	var buf [72]byte
	resp.Header.AddBytes("Content-Range", appendContentRange(buf[:0], r, size))
}

func appendContentRange(dst []byte, r span, size int64) []byte {
	dst = append(dst, "bytes "...)
	if r.length() == 0 {
		dst = append(dst, '*')
	} else {
		dst = strconv.AppendInt(dst, r.from, 10)
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, r.to-1, 10)
	}
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// single makes one span the body.
func (s *Site) single(resp *httpmsg.Response, i int, r span) {
	if !s.body(resp, i) {
		return
	}
	resp.Entry = -1
	resp.ContentLength = r.length()
	if resp.Bytes != nil {
		resp.Bytes = resp.Bytes[r.from:r.to]
		return
	}
	resp.Off += r.from
}
