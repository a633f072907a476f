package httpmsg

import "bytes"

// Coding is a content coding that we know how to send (RFC 9110, 8.4.1).
type Coding uint8

// The codings; Codings is how many.
const (
	Brotli Coding = iota
	Zstd
	Gzip
	Codings = iota
)

var codingNames = [Codings]string{"br", "zstd", "gzip"}

// String is the coding's name in Content-Encoding.
func (c Coding) String() string { return codingNames[c] }

// AcceptEncoding is what a request says about codings: weights in thousandths, -1
// for what it does not name (RFC 9110, 12.5.3).
type AcceptEncoding struct {
	coding   [Codings]int
	Identity int
	any      int
}

// ParseAcceptEncoding reads every Accept-Encoding field of h. Elements that are
// malformed count as not there.
func ParseAcceptEncoding(h *Header) AcceptEncoding {
	a := AcceptEncoding{Identity: -1, any: -1}
	for c := range a.coding {
		a.coding[c] = -1
	}
	for i := range h.Fields {
		if f := &h.Fields[i]; len(f.Name) == len("accept-encoding") && EqualFold(f.Name, "accept-encoding") {
			a.add(f.Value)
		}
	}
	return a
}

func (a *AcceptEncoding) add(value []byte) {
	for len(value) > 0 {
		var element []byte
		element, value, _ = bytes.Cut(value, []byte(","))
		name, parameter, weighted := bytes.Cut(element, []byte(";"))
		q := 1000
		if weighted {
			var ok bool
			if q, ok = qvalue(parameter); !ok {
				continue
			}
		}
		a.set(TrimBlanks(name), q)
	}
}

func (a *AcceptEncoding) set(name []byte, q int) {
	switch {
	case string(name) == "*":
		a.any = q
	case EqualFold(name, "identity"):
		a.Identity = q
	case EqualFold(name, "br"):
		a.coding[Brotli] = q
	case EqualFold(name, "zstd"):
		a.coding[Zstd] = q
	case EqualFold(name, "gzip"), EqualFold(name, "x-gzip"): // 8.4.1.3
		a.coding[Gzip] = q
	}
}

// Weight is that of c, 0 when the client does not want it.
func (a *AcceptEncoding) Weight(c Coding) int {
	if a.coding[c] >= 0 {
		return a.coding[c]
	}
	return max(0, a.any)
}

// qvalue reads ` q=0.5` (RFC 9110, 12.4.2) in thousandths.
func qvalue(parameter []byte) (int, bool) {
	p := TrimBlanks(parameter)
	if len(p) < 3 || p[0] != 'q' && p[0] != 'Q' || p[1] != '=' || len(p) > len("q=0.000") {
		return 0, false
	}
	if p[2] != '0' && p[2] != '1' || len(p) > 3 && p[3] != '.' {
		return 0, false
	}
	q, unit := int(p[2]-'0')*1000, 100
	for i := 4; i < len(p); i++ {
		if p[i] < '0' || p[i] > '9' {
			return 0, false
		}
		q += int(p[i]-'0') * unit
		unit /= 10
	}
	return q, q <= 1000
}
