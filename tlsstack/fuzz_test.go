package tlsstack

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// FuzzFirstFlight feeds arbitrary bytes as what a client sends first, in two
// pieces: whatever they are, the end is clean and the pieces change nothing.
func FuzzFirstFlight(f *testing.F) {
	_, streams := readCaptures(f)
	for i, s := range streams {
		f.Add(s, uint16(i*50))
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: server.example\r\n\r\n"), uint16(0))
	f.Add([]byte{22, 3, 1, 0, 5, 1, 0, 0xff, 0xff, 3}, uint16(6))
	f.Add([]byte{21, 3, 1, 0, 2, 2, 40}, uint16(1))
	f.Add([]byte{20, 3, 3, 0, 1, 1}, uint16(1))
	cfg := testConfig(f, keyEd25519)
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		var whole, pieces Conn
		whole.Init(cfg, endlessRandom{})
		pieces.Init(cfg, endlessRandom{})
		first := feedCut(&whole, bytes.Clone(stream))
		second := feedCut(&pieces, bytes.Clone(stream), min(int(cut), len(stream)))
		if (first == nil) != (second == nil) || !bytes.Equal(whole.output.bytes(), pieces.output.bytes()) {
			t.Fatalf("whole: %v, in pieces: %v", first, second)
		}
		if errors.Is(first, io.EOF) {
			return
		}
		mustBeClean(t, &whole, first)
		whole.Release()
		pieces.Release()
	})
}

// bytes returns what waits in an output that may not be there.
func (o *outputBuf) bytes() []byte {
	if o == nil {
		return nil
	}
	return o.b
}

// FuzzConn plays a script against a whole connection: a client that knows its
// keys does right and wrong things in any order. Each step is one byte that says
// what, one that says how much, and that many bytes.
func FuzzConn(f *testing.F) {
	f.Add(byte(0), []byte("\x00\x00\x01\x00\x02\x05hello\x03\x00\x02\x05world\x06\x00"))
	f.Add(byte(1), []byte("\x00\x00\x04\x00\x01\x00\x02\x03abc\x06\x00"))
	f.Add(byte(2), []byte("\x07\x00\x00\x00\x00\x00\x01\x00\x02\x03abc\x03\x01\x03\x01\x06\x00"))
	f.Add(byte(3), []byte("\x00\x00\x05\x04\x18\x00\x00\x01\x01\x00\x05\x05\x18\x00\x00\x01\x00"))
	f.Add(byte(0), []byte("\x08\x02\x14\x01\x00\x00\x08\x02\x14\x01\x01\x00\x02\x01x"))
	configs := []*Config{
		testConfig(f, keyEd25519), clientAuthConfig(f, ClientAuthRequest), ticketConfig(f), clientAuthConfig(f, ClientAuthRequire),
	}
	f.Fuzz(func(t *testing.T, which byte, script []byte) {
		c := newRawClient(t, configs[int(which)%len(configs)], mode{})
		for len(script) >= 2 {
			op, n := script[0], min(int(script[1]), len(script)-2)
			arg := script[2 : 2+n]
			script = script[2+n:]
			err := c.fuzzStep(op, arg)
			if errors.Is(err, io.EOF) {
				return
			}
			mustBeClean(t, c.conn, err)
			if err != nil {
				return
			}
			c.read()
		}
		c.conn.Release()
	})
}

// fuzzStep does one thing a client could do.
func (c *rawClient) fuzzStep(op byte, arg []byte) error {
	keysMade := c.out.Protected()
	switch op % 9 {
	case 0:
		return c.fuzzHello()
	case 1:
		if keysMade && !c.conn.Established() {
			return c.sendFinished()
		}
	case 2:
		return c.send(record.ApplicationData, arg)
	case 3:
		if c.conn.Established() {
			return c.sendKeyUpdate(len(arg) > 0)
		}
	case 4:
		if keysMade && c.wantsCert {
			return c.message(certificateMessage(), true)
		}
	case 5:
		return c.send(record.Handshake, arg)
	case 6:
		return c.send(record.Alert, []byte{1, 0})
	case 7:
		c.hello.set(wire.ExtKeyShare, keyShareBody())
	case 8:
		if len(arg) > 0 {
			return c.feed(record.AppendPlaintext(nil, record.ContentType(arg[0]), arg[1:], record.PlaintextMax))
		}
	}
	return nil
}

// fuzzHello sends the first hello, or the second with a share.
func (c *rawClient) fuzzHello() error {
	if c.suite != nil {
		c.hello.set(wire.ExtKeyShare, keyShareBody(c.share()))
	}
	return c.sendHello()
}
