package coding

import (
	"bytes"
	"testing"

	"edge/proxy/httpmsg"
)

func TestPoolIsBounded(t *testing.T) {
	p := NewPool(3)
	var out []*Encoder
	for range 3 {
		out = append(out, p.Get(httpmsg.Gzip))
	}
	if p.Get(httpmsg.Gzip) != nil || p.Get(httpmsg.Zstd) != nil || p.InUse() != 3 {
		t.Fatal("more encoders than the pool may have")
	}
	for _, e := range out {
		p.Put(e)
	}
	for range 2 { // the idle ones make way
		if p.Get(httpmsg.Zstd) == nil {
			t.Fatal("idle encoders of another coding are in the way")
		}
	}
	if p.InUse()+p.Idle() != 3 {
		t.Errorf("%d in use and %d idle", p.InUse(), p.Idle())
	}
	if e := p.Get(httpmsg.Gzip); e != out[0] {
		t.Error("an idle encoder was not used again")
	}
}

func TestPoolTrims(t *testing.T) {
	p := NewPool(8)
	var out []*Encoder
	for range 8 {
		out = append(out, p.Get(httpmsg.Gzip))
	}
	for _, e := range out {
		p.Put(e)
	}
	p.Trim() // they were in use since
	if p.Idle() != 8 {
		t.Errorf("%d are left of those just used", p.Idle())
	}
	for _, want := range []int{4, 2, 1, 0} {
		if more := p.Trim(); p.Idle() != want || more != (want > 0) {
			t.Errorf("%d are left, not %d", p.Idle(), want)
		}
	}
	if p.Get(httpmsg.Gzip) == nil {
		t.Error("there is none after that")
	}
}

// An encoder that was given back in the middle of a body starts a clean one.
func TestPoolForgetsWhatWasCut(t *testing.T) {
	p := NewPool(1)
	for _, c := range codings {
		e := p.Get(c)
		e.Write(text(PieceBytesMax))
		p.Put(e)
		e = p.Get(c)
		if e.Pending() > 0 || e.Holds() {
			t.Errorf("%v: bytes of the body before", c)
		}
		if got := decode(t, c, closed(t, e, put(t, e, []byte("new"), 3))); !bytes.Equal(got, []byte("new")) {
			t.Errorf("%v: %q", c, got)
		}
		p.Put(e)
	}
}
