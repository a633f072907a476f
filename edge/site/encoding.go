// Content codings: which compressed sibling a client takes (RFC 9110, 12.5.3).

package site

import (
	"math"

	"edge/proxy/httpmsg"
)

var (
	codingEndings = [httpmsg.Codings][]byte{httpmsg.Brotli: []byte(".br"), httpmsg.Zstd: []byte(".zst"), httpmsg.Gzip: []byte(".gz")}
	codingNames   = [httpmsg.Codings][]byte{[]byte(httpmsg.Brotli.String()), []byte(httpmsg.Zstd.String()), []byte(httpmsg.Gzip.String())}
)

// choose picks the entry to send for entry i: the sibling with the highest
// weight, of equals the smallest; the file itself where the client wants it
// more, or nothing else.
func (x *index) choose(i int, h *httpmsg.Header) (chosen, coding int) {
	e := &x.entries[i]
	w := httpmsg.ParseAcceptEncoding(h)
	chosen, coding = i, -1
	best, size := max(1, w.Identity), int64(math.MaxInt64)
	for c := range httpmsg.Codings {
		sibling := e.coded[c]
		if sibling == 0 {
			continue
		}
		q, n := w.Weight(httpmsg.Coding(c)), x.entries[sibling-1].size
		if q > best || q == best && n < size {
			chosen, coding, best, size = int(sibling-1), c, q, n
		}
	}
	return chosen, coding
}
