package httpmsg

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func fields(h *Header) string {
	var b strings.Builder
	for _, f := range h.Fields {
		fmt.Fprintf(&b, "%s=%s ", f.Name, f.Value)
	}
	return b.String()
}

func TestHeader(t *testing.T) {
	var h Header
	h.Append([]byte("A"), []byte("1"))
	h.Add("b", "2")
	h.AddBytes("a", []byte("3"))
	h.Add("Empty", "")
	if got := fields(&h); got != "A=1 b=2 a=3 Empty= " {
		t.Error(got)
	}
	if string(h.Get("B")) != "2" || string(h.Get("a")) != "1" || h.Get("c") != nil {
		t.Error("Get:", fields(&h))
	}
	if !h.Has("EMPTY") || h.Has("empt") || h.Has("c") {
		t.Error("Has:", fields(&h))
	}
	h.Set("a", "4")
	if got := fields(&h); got != "b=2 Empty= a=4 " {
		t.Error("Set:", got)
	}
	h.Del("EMPTY")
	if got := fields(&h); got != "b=2 a=4 " {
		t.Error("Del:", got)
	}
	h.Reset()
	if len(h.Fields) != 0 || h.Has("b") {
		t.Error("Reset:", fields(&h))
	}
}

// TestAddedFieldsStay: growing the arena moves no field that was added before,
// and a field cannot be appended into its neighbour.
func TestAddedFieldsStay(t *testing.T) {
	var h Header
	for i := range 1000 {
		h.Add(fmt.Sprint("name", i), fmt.Sprint("value", i))
	}
	for i, f := range h.Fields {
		if string(f.Name) != fmt.Sprint("name", i) || string(f.Value) != fmt.Sprint("value", i) {
			t.Fatalf("field %d is %s: %s", i, f.Name, f.Value)
		}
		if cap(f.Name) != len(f.Name) || cap(f.Value) != len(f.Value) {
			t.Fatalf("field %d can grow into its neighbour", i)
		}
	}
}

func TestHeaderReuseAllocatesNothing(t *testing.T) {
	var h Header
	if n := testing.AllocsPerRun(100, func() {
		h.Reset()
		for range 10 {
			h.Add("Name", "value")
		}
		h.Set("name", "other")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEqualFold(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"Host", "hOST", true}, {"Host", "Hosts", false}, {"Hos", "Host", false},
		{"@", "`", false}, {"[", "{", false}, {"K", "\u212a", false},
	} {
		if EqualFold([]byte(c.a), c.b) != c.want {
			t.Errorf("%q %q: want %v", c.a, c.b, c.want)
		}
	}
}

func TestReset(t *testing.T) {
	req := Request{Method: []byte("GET"), Query: []byte{}, Minor: 1, ContentLength: 5, KeepAlive: true}
	req.Header.Add("a", "b")
	req.Reset()
	if req.Method != nil || req.Query != nil || req.Minor != 0 || req.ContentLength != 0 || req.KeepAlive || len(req.Header.Fields) != 0 {
		t.Errorf("%+v", req)
	}
	resp := Response{Status: 200, Bytes: []byte("x"), Close: true}
	resp.Reset(404)
	if resp.Status != 404 || resp.Bytes != nil || resp.Close || resp.File != -1 {
		t.Errorf("%+v", resp)
	}
}

// TestStatusTexts holds the table against that of net/http.
func TestStatusTexts(t *testing.T) {
	renamed := map[int]string{413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable", 422: "Unprocessable Content"}
	gone := map[int]bool{418: true, 510: true} // unused, obsoleted
	for status := -1; status <= 700; status++ {
		want := http.StatusText(status)
		if s, ok := renamed[status]; ok {
			want = s
		}
		if got := StatusText(status); got != want && !gone[status] {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}

func TestDate(t *testing.T) {
	var d Date
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(784111777, 999999999), time.Unix(784111777, 0), time.Unix(784111778, 0),
		time.Date(2024, 2, 29, 23, 59, 59, 0, time.FixedZone("x", 3600)),
	} {
		if got, want := string(d.At(at)), at.UTC().Format(http.TimeFormat); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
	now := time.Unix(784111777, 0)
	if n := testing.AllocsPerRun(100, func() {
		now = now.Add(time.Second)
		d.At(now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrorPage(t *testing.T) {
	if got := string(ErrorPage(404)); !strings.Contains(got, "<h1>404 Not Found</h1>") || strings.Contains(got, "<p>") {
		t.Errorf("%q", got)
	}
	for _, status := range []int{-1, 0, 200, 399, 418, 599, 600} {
		if ErrorPage(status) != nil {
			t.Errorf("%d has a page", status)
		}
	}
	page := AppendErrorPage(nil, 400, "<script>\"&'\x00\x7f\xff")
	if want := []byte("<p>&lt;script&gt;&#34;&amp;&#39;??\xff</p>"); !bytes.Contains(page, want) {
		t.Errorf("%q, want %q in it", page, want)
	}
}
