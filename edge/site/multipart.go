// Several ranges in one answer: multipart/byteranges (RFC 9110, 14.6).

package site

import "edge/proxy/httpmsg"

// multipart makes the spans of entry chosen the body, each behind a head of its
// own. The boundary is made of the entity tag, which is made of the content or
// its place: content that holds it was not written before it was known.
func (s *Site) multipart(resp *httpmsg.Response, i, chosen, coding int, spans []span) {
	var whole httpmsg.Response
	whole.Reset(206)
	if !s.body(&whole, chosen) {
		text(resp, 503, textStale)
		return
	}
	etag := s.index.etag(chosen)
	boundary := etag[1 : len(etag)-1]
	size := s.index.entries[chosen].size
	media := mediaTypes[s.index.entries[i].media]

	resp.Header.AddBytes("Content-Type", append([]byte("multipart/byteranges; boundary="), boundary...))
	s.varies(resp, i, coding)
	s.validators(resp, chosen)
	resp.File = whole.File
	for _, r := range spans {
		head := partHead(boundary, media, r, size)
		part := httpmsg.Part{Off: whole.Off + r.from, Length: r.length()}
		if whole.Bytes != nil {
			part = httpmsg.Part{Bytes: whole.Bytes[r.from:r.to], Length: r.length()}
		}
		resp.Parts = append(resp.Parts, httpmsg.Part{Bytes: head, Length: int64(len(head))}, part)
	}
	tail := append(append([]byte("\r\n--"), boundary...), "--\r\n"...)
	resp.Parts = append(resp.Parts, httpmsg.Part{Bytes: tail, Length: int64(len(tail))})
	for i := range resp.Parts {
		resp.ContentLength += resp.Parts[i].Length
	}
}

// partHead is what stands before the bytes of one range.
func partHead(boundary, media []byte, r span, size int64) []byte {
	b := make([]byte, 0, 160+len(media))
	b = append(append(b, "\r\n--"...), boundary...)
	b = append(append(b, "\r\nContent-Type: "...), media...)
	b = append(b, "\r\nContent-Range: "...)
	b = appendContentRange(b, r, size)
	return append(b, "\r\n\r\n"...)
}
