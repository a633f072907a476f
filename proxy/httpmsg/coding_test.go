package httpmsg

import "testing"

func TestAcceptEncoding(t *testing.T) {
	for _, c := range []struct {
		fields                   []string
		br, zstd, gzip, identity int
	}{
		{nil, 0, 0, 0, -1},
		{[]string{""}, 0, 0, 0, -1},
		{[]string{"gzip, deflate, br, zstd"}, 1000, 1000, 1000, -1},
		{[]string{"gzip", "br;q=0.5"}, 500, 0, 1000, -1},
		{[]string{"*"}, 1000, 1000, 1000, -1},
		{[]string{"*;q=0.2, br;q=0, identity;q=0"}, 0, 200, 200, 0},
		{[]string{"X-GZIP ; Q=0.25\t, Zstd"}, 0, 1000, 250, -1},
		{[]string{"br;q=2, gzip;q=1.001, zstd;level=3"}, 0, 0, 0, -1}, // malformed
	} {
		var h Header
		for _, value := range c.fields {
			h.Add("Accept-Encoding", value)
		}
		a := ParseAcceptEncoding(&h)
		if a.Weight(Brotli) != c.br || a.Weight(Zstd) != c.zstd || a.Weight(Gzip) != c.gzip || a.Identity != c.identity {
			t.Errorf("%q: br %d, zstd %d, gzip %d, identity %d", c.fields, a.Weight(Brotli), a.Weight(Zstd), a.Weight(Gzip), a.Identity)
		}
	}
}

func FuzzAcceptEncoding(f *testing.F) {
	f.Add([]byte("gzip, deflate;q=0.5, br;q=1.000, *;q=0"))
	f.Add([]byte("identity;q=0,,;q=1"))
	f.Fuzz(func(t *testing.T, value []byte) {
		var h Header
		h.Append([]byte("Accept-Encoding"), value)
		w := ParseAcceptEncoding(&h)
		for c := range Codings {
			if q := w.Weight(Coding(c)); q < 0 || q > 1000 {
				t.Fatalf("%q: weight %d", value, q)
			}
		}
	})
}
