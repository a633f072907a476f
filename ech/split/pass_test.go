package split

import (
	"bytes"
	"testing"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// What does not concern a Front passes as it is, however it is cut.

// retryRequest is the start of a HelloRetryRequest, in a record.
func retryRequest() []byte {
	message := append([]byte{byte(wire.TypeServerHello), 0, 0, 40, 3, 3}, wire.HelloRetryRequestRandom[:]...)
	message = append(message, 0, 0x13, 1, 0, 0, 0)
	return record.AppendPlaintext(nil, record.Handshake, message, record.PlaintextMax)
}

// clientStreams are what a client may send behind its first hello.
func clientStreams() map[string][]byte {
	early := record.AppendHeader(nil, record.ApplicationData, 30)
	early = append(early, bytes.Repeat([]byte{22}, 30)...)
	ccs := []byte{20, 3, 3, 0, 1, 1}
	alert := []byte{21, 3, 3, 0, 2, 2, 40}
	empty := []byte{23, 3, 3, 0, 0}
	return map[string][]byte{
		"nothing":       nil,
		"early data":    bytes.Join([][]byte{early, empty, early}, nil),
		"an alert":      alert,
		"a finished":    bytes.Join([][]byte{ccs, early}, nil),
		"half a header": bytes.Join([][]byte{ccs, early[:3]}, nil),
		"half a record": bytes.Join([][]byte{early, early[:20]}, nil),
		"no TLS":        []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
		"no TLS, late":  append(bytes.Clone(early), "GET / HTTP/1.1\r\n\r\n"...),
	}
}

func TestClientBytesPass(t *testing.T) {
	for name, stream := range clientStreams() {
		for retry := range 2 {
			for cut := range len(stream) + 1 {
				f := New(nil)
				if retry == 1 {
					f.FromBackend(retryRequest())
				}
				var out []byte
				for _, b := range [][]byte{stream[:cut], stream[cut:]} {
					var err error
					if out, err = f.FromClient(out, b); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				if out = f.End(out); !bytes.Equal(out, stream) {
					t.Fatalf("%s, retry %d, cut after %d: passed on %x, want %x", name, retry, cut, out, stream)
				}
			}
		}
	}
}

// What was held back when the end of looking came goes out with what follows.
func TestHeldHeaderPassesWhenDone(t *testing.T) {
	f := New(nil)
	out, _ := f.FromClient(nil, []byte{23, 3, 3})
	f.FromBackend([]byte{21, 3, 3, 0, 2, 2, 40})
	if f.Done() || len(out) > 0 {
		t.Fatalf("done %v, passed on %x", f.Done(), out)
	}
	out, err := f.FromClient(nil, []byte{0, 1, 9})
	if err != nil || !bytes.Equal(out, []byte{23, 3, 3, 0, 1, 9}) || !f.Done() {
		t.Fatalf("%x, %v, done %v", out, err, f.Done())
	}
}

func TestBackend(t *testing.T) {
	hello := retryRequest()
	hello[len(hello)-10] ^= 1 // in the random
	small := record.AppendPlaintext(nil, record.Handshake, retryRequest()[record.HeaderLen:], 3)
	for name, c := range map[string]struct {
		stream []byte
		want   state
	}{
		"ServerHello":               {hello, done},
		"HelloRetryRequest":         {retryRequest(), secondHello},
		"in records of three bytes": {small, secondHello},
		"behind an empty record":    {append([]byte{22, 3, 3, 0, 0}, retryRequest()...), secondHello},
		"an alert":                  {[]byte{21, 3, 3, 0, 2, 2, 40}, done},
		"another handshake message": {record.AppendPlaintext(nil, record.Handshake, make([]byte, 40), 100), done},
		"no TLS":                    {[]byte("HTTP/1.1 400 Bad Request"), done},
		"half a HelloRetryRequest":  {retryRequest()[:30], serverHello},
		"a change_cipher_spec":      {[]byte{20, 3, 3, 0, 1, 1}, done},
	} {
		for cut := range len(c.stream) + 1 {
			f := New(nil)
			f.FromBackend(c.stream[:cut])
			f.FromBackend(c.stream[cut:])
			if f.state != c.want {
				t.Fatalf("%s, cut after %d: state %d, want %d", name, cut, f.state, c.want)
			}
		}
	}
}

func FuzzFront(f *testing.F) {
	f.Add(retryRequest(), clientStreams()["early data"], uint16(7))
	f.Add(retryRequest(), record.AppendPlaintext(nil, record.Handshake, []byte{1, 0, 0, 2, 3, 3}, 4), uint16(3))
	f.Add([]byte{22, 3, 3}, clientStreams()["no TLS, late"], uint16(1))
	f.Fuzz(func(t *testing.T, backend, client []byte, cut uint16) {
		front := New(nil)
		at := min(int(cut), len(client))
		out, err := front.FromClient(nil, client[:at])
		front.FromBackend(backend)
		// Without keys no second hello can be opened: stop where one would be.
		if err != nil || front.state == secondHello && bytes.IndexByte(client, byte(record.Handshake)) >= 0 {
			return
		}
		if out, err = front.FromClient(out, client[at:]); err != nil {
			return
		}
		if out = front.End(out); !bytes.Equal(out, client) {
			t.Fatalf("passed on %x, want %x", out, client)
		}
	})
}
