// Content codings: which compressed sibling a client takes (RFC 9110, 12.5.3).

package site

import (
	"bytes"
	"math"

	"edge/proxy/httpmsg"
)

// Codings a file may lie beside itself in.
const (
	codingBrotli = iota
	codingZstd
	codingGzip
	codings
)

var (
	codingEndings = [codings][]byte{[]byte(".br"), []byte(".zst"), []byte(".gz")}
	codingNames   = [codings][]byte{[]byte("br"), []byte("zstd"), []byte("gzip")}
)

// weights is what Accept-Encoding says: qvalues in thousandths. -1: not named.
type weights struct {
	coding   [codings]int
	identity int
	any      int
}

// parseAcceptEncoding reads every Accept-Encoding field of h. Elements that are
// malformed count as not there.
func parseAcceptEncoding(h *httpmsg.Header) weights {
	w := weights{coding: [codings]int{-1, -1, -1}, identity: -1, any: -1}
	for i := range h.Fields {
		if f := &h.Fields[i]; httpmsg.EqualFold(f.Name, "Accept-Encoding") {
			w.add(f.Value)
		}
	}
	return w
}

func (w *weights) add(value []byte) {
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
		w.set(trimOWS(name), q)
	}
}

func (w *weights) set(name []byte, q int) {
	switch {
	case string(name) == "*":
		w.any = q
	case httpmsg.EqualFold(name, "identity"):
		w.identity = q
	case httpmsg.EqualFold(name, "br"):
		w.coding[codingBrotli] = q
	case httpmsg.EqualFold(name, "zstd"):
		w.coding[codingZstd] = q
	case httpmsg.EqualFold(name, "gzip"), httpmsg.EqualFold(name, "x-gzip"): // 8.4.1.3
		w.coding[codingGzip] = q
	}
}

// of is the weight of coding c, 0 when the client does not want it.
func (w *weights) of(c int) int {
	if w.coding[c] >= 0 {
		return w.coding[c]
	}
	return max(0, w.any)
}

// qvalue reads ` q=0.5` (RFC 9110, 12.4.2) in thousandths.
func qvalue(parameter []byte) (int, bool) {
	p := trimOWS(parameter)
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

// choose picks the entry to send for entry i: the sibling with the highest
// weight, of equals the smallest; the file itself where the client wants it
// more, or nothing else.
func (x *index) choose(i int, h *httpmsg.Header) (chosen, coding int) {
	e := &x.entries[i]
	w := parseAcceptEncoding(h)
	chosen, coding = i, -1
	best, size := max(1, w.identity), int64(math.MaxInt64)
	for c := range codings {
		sibling := e.coded[c]
		if sibling == 0 {
			continue
		}
		q, n := w.of(c), x.entries[sibling-1].size
		if q > best || q == best && n < size {
			chosen, coding, best, size = int(sibling-1), c, q, n
		}
	}
	return chosen, coding
}

// trimOWS takes spaces and tabs off both ends (RFC 9110, 5.6.3).
func trimOWS(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
