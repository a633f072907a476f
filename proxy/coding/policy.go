package coding

import (
	"errors"
	"fmt"
	"slices"

	"edge/proxy/httpmsg"
)

// Policy says which answers are compressed, and how. Workers share it.
type Policy struct {
	codings []httpmsg.Coding // the best first
	types   mediaTypes
	least   int64 // body bytes
}

// NewPolicy reads the names of codings, the best first, and media types as
// parseTypes has them. What is known to be shorter than least bytes stays as it is.
func NewPolicy(codings, types []string, least int64) (*Policy, error) {
	p := &Policy{least: least}
	for _, name := range codings {
		c, ok := codingOf(name)
		if !ok || slices.Contains(p.codings, c) {
			return nil, fmt.Errorf("%q: give zstd, br or gzip, each once, the best first", name)
		}
		p.codings = append(p.codings, c)
	}
	if len(p.codings) == 0 {
		return nil, errors.New("give zstd, br or gzip")
	}
	var err error
	p.types, err = parseTypes(types)
	return p, err
}

func codingOf(name string) (httpmsg.Coding, bool) {
	for c := range httpmsg.Codings {
		if httpmsg.Coding(c).String() == name {
			return httpmsg.Coding(c), true
		}
	}
	return 0, false
}

// Verdict is what becomes of an answer.
type Verdict uint8

const (
	Leave Verdict = iota // no client gets it compressed
	Vary                 // others may
	Code                 // this one does
)

// Judge decides about an answer whose fields are final. For HEAD it is what GET
// would be answered with (RFC 9110, 9.3.2).
//
// Left alone is what is coded already; what the application says must not be
// changed (RFC 9111, 5.2.2.6) or gives a digest of, which would no longer be right
// (RFC 9530); what has no body; and what is short or of a type that is not text. A
// part of a body (206) is never coded, but the whole of it might be.
func (p *Policy) Judge(req *httpmsg.Request, resp *httpmsg.Response) (Verdict, httpmsg.Coding) {
	switch resp.Status {
	case 204, 205, 304, 416:
		return Leave, 0
	}
	if resp.Status < 200 || resp.ContentLength == 0 || !p.permits(&resp.Header) {
		return Leave, 0
	}
	if resp.Status == 206 || resp.Header.Has("content-range") {
		return Vary, 0
	}
	if resp.ContentLength > 0 && resp.ContentLength < p.least {
		return Leave, 0
	}
	if c, ok := p.choose(req); ok {
		return Code, c
	}
	return Vary, 0
}

// Accepts says that answers to req may be coded.
func (p *Policy) Accepts(req *httpmsg.Request) bool {
	_, ok := p.choose(req)
	return ok
}

// choose finds the coding that the client likes best; of equals ours. Where it
// likes the bytes as they are better, there is none, nor for HTTP/1.0, whose
// connection would have to end with each coded body.
func (p *Policy) choose(req *httpmsg.Request) (best httpmsg.Coding, ok bool) {
	if req.Major == 1 && req.Minor == 0 || !mayTransform(&req.Header) {
		return 0, false
	}
	a := httpmsg.ParseAcceptEncoding(&req.Header)
	weight := max(1, a.Identity)
	for _, c := range p.codings {
		if q := a.Weight(c); q > weight || q == weight && !ok {
			best, weight, ok = c, q, true
		}
	}
	return best, ok
}

// permits says that an answer's fields let it be coded: a type that is worth it, no
// coding, no digest, no word against it.
func (p *Policy) permits(h *httpmsg.Header) bool {
	typed := false
	for i := range h.Fields {
		f := &h.Fields[i]
		switch len(f.Name) {
		case len("content-type"):
			if httpmsg.EqualFold(f.Name, "content-type") {
				if typed || !p.types.has(f.Value) {
					return false
				}
				typed = true
			}
		case len("content-encoding"):
			if httpmsg.EqualFold(f.Name, "content-encoding") && !isIdentity(f.Value) {
				return false
			}
		}
		if isDigest(f.Name) {
			return false
		}
	}
	return typed && mayTransform(h)
}

// isIdentity: no coding, though RFC 9110, 8.4 wants that said by no field.
func isIdentity(value []byte) bool {
	return len(value) == 0 || httpmsg.EqualFold(value, "identity")
}

// isDigest says that the field called name is about the bytes as they were.
func isDigest(name []byte) bool {
	switch len(name) {
	case len("digest"):
		return httpmsg.EqualFold(name, "digest")
	case len("content-md5"): // and repr-digest
		return httpmsg.EqualFold(name, "content-md5") || httpmsg.EqualFold(name, "repr-digest")
	case len("content-digest"):
		return httpmsg.EqualFold(name, "content-digest")
	}
	return false
}

// mayTransform says that there is no Cache-Control: no-transform, which stands for
// requests as it does for answers (RFC 9111, 5.2.1.6 and 5.2.2.6).
func mayTransform(h *httpmsg.Header) bool {
	for i := range h.Fields {
		f := &h.Fields[i]
		if len(f.Name) == len("cache-control") && httpmsg.EqualFold(f.Name, "cache-control") &&
			listHas(f.Value, "no-transform") {
			return false
		}
	}
	return true
}
