package record

import (
	"bytes"
	"errors"
	"testing"
)

// pair is a sealing and an opening direction with the same keys.
func pair(t testing.TB) (seal, open *Direction) {
	secret := bytes.Repeat([]byte{7}, 32)
	return suites["1301"].direction(t, secret), suites["1301"].direction(t, secret)
}

func TestParseHeader(t *testing.T) {
	cases := []struct {
		name      string
		header    []byte
		protected bool
		want      error
	}{
		{"handshake", []byte{22, 3, 1, 0, 5}, false, nil},
		{"odd minor version", []byte{22, 3, 0xff, 0, 5}, false, nil},
		{"largest plaintext", []byte{22, 3, 3, 0x40, 0}, false, nil},
		{"one more", []byte{22, 3, 3, 0x40, 1}, false, Overflow},
		{"largest ciphertext", []byte{23, 3, 3, 0x41, 0}, true, nil},
		{"one more, protected", []byte{23, 3, 3, 0x41, 1}, true, Overflow},
		{"early data before keys", []byte{23, 3, 3, 0x41, 0}, false, nil},
		{"empty", []byte{21, 3, 3, 0, 0}, false, nil},
		{"heartbeat", []byte{24, 3, 3, 0, 0}, false, UnknownType},
		{"SSLv2", []byte{0x80, 0x2e, 1, 3, 1}, false, UnknownType},
		{"HTTP", []byte("GET /"), false, UnknownType},
		{"wrong major version", []byte{22, 2, 0, 0, 5}, false, NotTLS},
	}
	for _, c := range cases {
		h, err := ParseHeader(c.header, c.protected)
		if err != c.want && !(err == nil && c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil && (h.Type != ContentType(c.header[0]) || h.Len != int(c.header[3])<<8|int(c.header[4])) {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
}

// TestInnerPlaintext builds protected records by hand: padding, none, too much.
func TestInnerPlaintext(t *testing.T) {
	inner := func(content int, typ byte, zeros int) []byte {
		return append(append(bytes.Repeat([]byte{1}, content), typ), make([]byte, zeros)...)
	}
	cases := []struct {
		name  string
		inner []byte
		want  error
		typ   ContentType
		n     int
	}{
		{"plain", inner(10, 23, 0), nil, ApplicationData, 10},
		{"padded", inner(10, 22, 100), nil, Handshake, 10},
		{"empty", inner(0, 23, 0), nil, ApplicationData, 0},
		{"largest", inner(PlaintextMax, 23, 0), nil, ApplicationData, PlaintextMax},
		{"largest, all padding but one", inner(0, 23, PlaintextMax), nil, ApplicationData, 0},
		{"one byte more", inner(PlaintextMax+1, 23, 0), Overflow, 0, 0},
		{"one zero more", inner(PlaintextMax, 23, 1), Overflow, 0, 0},
		{"padding alone", make([]byte, 20), NoContentType, 0, 0},
		{"nothing", nil, NoContentType, 0, 0},
	}
	for _, c := range cases {
		seal, open := pair(t)
		rec := AppendHeader(nil, ApplicationData, len(c.inner)+TagLen)
		rec = seal.aead.Seal(rec, seal.next(), c.inner, rec[:HeaderLen])
		typ, content, err := open.Open(rec)
		if !errors.Is(err, c.want) || typ != c.typ || len(content) != c.n {
			t.Errorf("%s: type %d, %d bytes, %v", c.name, typ, len(content), err)
		}
	}
}

// TestOpenRefuses flips every bit of a record, and cuts it.
func TestOpenRefuses(t *testing.T) {
	seal, open := pair(t)
	good := seal.SealAppend(nil, ApplicationData, []byte("content"))
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, _, err := open.Open(bad); err != BadMAC {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
	}
	for n := HeaderLen; n < len(good); n++ {
		if _, _, err := open.Open(bytes.Clone(good[:n])); err != BadMAC {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	if open.Sequence() != 0 {
		t.Error("a record that does not open moved the sequence")
	}
	if _, content, err := open.Open(bytes.Clone(good)); err != nil || string(content) != "content" {
		t.Errorf("the good record: %q, %v", content, err)
	}
	if _, _, err := open.Open(good); err != BadMAC {
		t.Errorf("the same record again: %v", err)
	}
}

// TestSequenceSpent: a key opens no more than its limit.
func TestSequenceSpent(t *testing.T) {
	seal, open := pair(t)
	open.seq, seal.seq = openedMax-1, openedMax-1
	if _, _, err := open.Open(seal.SealAppend(nil, ApplicationData, nil)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open.Open(seal.SealAppend(nil, ApplicationData, nil)); err != SequenceSpent {
		t.Errorf("%v, want SequenceSpent", err)
	}
}

// TestSealInPlaceIsSealAppend: two ways to the same bytes.
func TestSealInPlaceIsSealAppend(t *testing.T) {
	for _, n := range []int{0, 1, 100, PlaintextMax} {
		content := bytes.Repeat([]byte{5}, n)
		a, b := pair(t)
		rec := make([]byte, n+Overhead)
		copy(rec[HeaderLen:], content)
		if got, want := a.SealInPlace(rec, ApplicationData, n), b.SealAppend([]byte("front"), ApplicationData, content); !bytes.Equal(got, want[5:]) {
			t.Errorf("%d bytes: the records differ", n)
		}
	}
}

func TestSealTooLongPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a record over the limit was sealed")
		}
	}()
	seal, _ := pair(t)
	seal.SealInPlace(make([]byte, PlaintextMax+1+Overhead), ApplicationData, PlaintextMax+1)
}

func TestAppendPlaintext(t *testing.T) {
	got := AppendPlaintext(nil, Handshake, []byte("abcde"), 2)
	want := []byte("\x16\x03\x03\x00\x02ab\x16\x03\x03\x00\x02cd\x16\x03\x03\x00\x01e")
	if !bytes.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestZeroAllocations: no record costs memory.
func TestZeroAllocations(t *testing.T) {
	for id, s := range suites {
		secret := bytes.Repeat([]byte{7}, 48)
		seal, open := s.direction(t, secret), s.direction(t, secret)
		rec := make([]byte, 0, 1000+Overhead)
		content := make([]byte, 1000)
		if n := testing.AllocsPerRun(100, func() {
			rec = seal.SealAppend(rec[:0], ApplicationData, content)
			if _, _, err := open.Open(rec); err != nil {
				t.Fatal(err)
			}
			rec = seal.SealInPlace(rec[:cap(rec)], ApplicationData, 1000)
			if _, _, err := open.Open(rec); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("suite %s: %v allocations per record", id, n)
		}
	}
}

func TestFailureText(t *testing.T) {
	for f := UnknownType; f <= MessageTooBig; f++ {
		if f.Error() == "" || f.Error() == Failure(0).Error() {
			t.Errorf("failure %d has no text", f)
		}
	}
}
