package record

import (
	"bytes"
	"testing"
)

// FuzzOpen opens arbitrary records after a good one: never a panic, and nothing
// that was not sealed with the key comes out. The seeds are sealed with another.
func FuzzOpen(f *testing.F) {
	seal := suites["1301"].direction(f, bytes.Repeat([]byte{8}, 32))
	f.Add(seal.SealAppend(nil, ApplicationData, []byte("content")))
	f.Add(seal.SealAppend(nil, Handshake, nil))
	f.Add([]byte{23, 3, 3, 0, 0})
	f.Add(bytes.Repeat([]byte{23, 3}, 40))
	f.Fuzz(func(t *testing.T, stream []byte) {
		seal, open := pair(t)
		if _, _, err := open.Open(seal.SealAppend(nil, ApplicationData, []byte("content"))); err != nil {
			t.Fatal(err)
		}
		for len(stream) >= HeaderLen {
			h, err := ParseHeader(stream, true)
			if err != nil || len(stream) < HeaderLen+h.Len {
				return
			}
			rec := stream[:HeaderLen+h.Len]
			stream = stream[len(rec):]
			if _, _, err := open.Open(bytes.Clone(rec)); err != BadMAC {
				t.Fatalf("%x: %v", rec, err)
			}
		}
	})
}

// FuzzReassemble cuts arbitrary bytes into fragments: what comes out is what went
// in, and no message is longer than the limit.
func FuzzReassemble(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x02ab\x02\x00\x00\x00"), uint8(3))
	f.Add([]byte("\x01\xff\xff\xff"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		const limit = 64
		var r Reassembler
		var out []byte
		in := stream
		for len(in) > 0 {
			n := min(int(size)+1, len(in))
			r.Add(in[:n])
			in = in[n:]
			for {
				m, err := r.Next(limit)
				if err != nil {
					return
				}
				if m == nil {
					break
				}
				if len(m) > limit {
					t.Fatalf("message of %d bytes", len(m))
				}
				out = append(out, m...)
			}
		}
		if len(out)+r.Pending() != len(stream) || !bytes.HasPrefix(stream, out) {
			t.Fatal("bytes were lost or changed")
		}
	})
}
