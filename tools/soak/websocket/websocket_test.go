package websocket

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// The key of RFC 6455, 1.3.
func TestAcceptKey(t *testing.T) {
	if got := AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Error(got)
	}
}

// The frames of RFC 6455, 5.7.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		op   byte
		mask uint32
		p    string
		want string
	}{
		{Text, 0, "Hello", "\x81\x05Hello"},
		{Text, 0x37fa213d, "Hello", "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"},
		{Ping, 0, "Hello", "\x89\x05Hello"},
		{Binary, 0, string(make([]byte, 256)), "\x82\x7e\x01\x00" + string(make([]byte, 256))},
		{Binary, 0, string(make([]byte, 1<<16)), "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00" + string(make([]byte, 1<<16))},
	} {
		got := AppendFrame(nil, c.op, c.mask, []byte(c.p))
		if string(got) != c.want {
			t.Errorf("%.20q: %.40q, want %.40q", c.p, got, c.want)
		}
		op, p, err := ReadFrame(bufio.NewReader(bytes.NewReader(got)))
		if err != nil || op != c.op || string(p) != c.p {
			t.Errorf("%.20q: read back as %d %.20q, %v", c.p, op, p, err)
		}
		for n := range min(len(got), 20) {
			if _, _, err := ReadFrame(bufio.NewReader(bytes.NewReader(got[:n]))); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%.20q cut at %d: %v", c.p, n, err)
			}
		}
	}
	for _, bad := range []string{"\x01\x05Hello", "\xc1\x05Hello", "\x82\x7f\x7f\x00\x00\x00\x00\x00\x00\x00"} {
		if _, _, err := ReadFrame(bufio.NewReader(bytes.NewReader([]byte(bad)))); err != ErrFrame {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEcho(t *testing.T) {
	in := AppendFrame(AppendFrame(AppendFrame(nil, Text, 7, []byte("a")), Ping, 8, []byte("b")), Close, 9, []byte("\x03\xe8"))
	var out bytes.Buffer
	if err := Echo(bufio.NewReader(bytes.NewReader(in)), &out); err != nil || out.String() != "\x81\x01a\x8a\x01b\x88\x02\x03\xe8" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
