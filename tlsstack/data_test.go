package tlsstack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"edge/tlsstack/record"
	"edge/tlsstack/wire"
)

// The application-data path: no allocation, sizes, key changes.

// TestZeroAllocations: no record costs memory, in either direction.
func TestZeroAllocations(t *testing.T) {
	for _, suite := range []uint16{0x1301, 0x1302, 0x1303} {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.suites = []uint16{suite}
		c.handshake()
		const size = 4000
		content := make([]byte, size)
		rec := make([]byte, 0, size+RecordOverhead)
		out := make([]byte, 0, 2*size)
		if n := testing.AllocsPerRun(200, func() {
			rec = c.out.SealAppend(rec[:0], record.ApplicationData, content)
			n, plain, err := c.conn.Receive(c.now, rec)
			if n != len(rec) || len(plain) != size || err != nil {
				t.Fatal(n, len(plain), err)
			}
			out = c.conn.SealAppend(out[:0], plain)
			out = c.conn.SealInPlace(out[:size+RecordOverhead], size)
		}); n != 0 {
			t.Errorf("suite %#x: %v allocations per record", suite, n)
		}
	}
}

// TestPartialRecordsCostNothing: a record that arrives byte by byte is looked at
// and left alone.
func TestPartialRecordsCostNothing(t *testing.T) {
	c := newRawClient(t, testConfig(t), mode{})
	c.handshake()
	rec := c.out.SealAppend(nil, record.ApplicationData, []byte("abc"))
	for n := range rec {
		used, plain, err := c.conn.Receive(c.now, rec[:n])
		want := record.HeaderLen
		if n >= record.HeaderLen {
			want = len(rec)
		}
		if used != 0 || plain != nil || err != nil || c.conn.NeedBytes() != want {
			t.Fatalf("%d bytes: used %d, %v, needs %d, want %d", n, used, err, c.conn.NeedBytes(), want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.conn.Receive(c.now, rec[:len(rec)-1]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n, plain, err := c.conn.Receive(c.now, rec); n != len(rec) || string(plain) != "abc" || err != nil {
		t.Errorf("%d, %q, %v", n, plain, err)
	}
	if c.conn.NeedBytes() != record.HeaderLen {
		t.Errorf("needs %d bytes", c.conn.NeedBytes())
	}
}

// largestRecord returns the longest fragment in a stream of records.
func largestRecord(b []byte) (n int) {
	for len(b) > 0 {
		size := int(b[3])<<8 | int(b[4])
		n = max(n, size)
		b = b[record.HeaderLen+size:]
	}
	return n
}

// TestRecordSizeLimit: RFC 8449 for what we send, from the first protected record.
func TestRecordSizeLimit(t *testing.T) {
	for _, limit := range []int{64, 512, 16384, 16385, 65535} {
		c := newRawClient(t, testConfig(t), mode{})
		c.hello.set(wire.ExtRecordSizeLimit, u16(limit))
		c.must(c.sendHello())
		flight := bytes.Clone(c.conn.output.b)
		plain := record.HeaderLen + int(flight[3])<<8 + int(flight[4]) // ServerHello is not protected
		most := min(limit, 16385) + record.TagLen
		if n := largestRecord(flight[plain:]); n > most {
			t.Errorf("limit %d: the flight has a record of %d", limit, n)
		}
		c.read()
		if got := serverExtension(c.flight[1][wire.HeaderBytes:], wire.ExtRecordSizeLimit); !bytes.Equal(got, u16(16385)) {
			t.Errorf("limit %d: answered with %x", limit, got)
		}
		c.must(c.sendFinished())
		out := c.conn.SealAppend(nil, make([]byte, 40000))
		if n := largestRecord(out); n != most || c.conn.PlaintextMax() != most-record.TagLen-1 {
			t.Errorf("limit %d: a record of %d, at most %d", limit, n, c.conn.PlaintextMax())
		}
		c.readBytes(out)
		if len(c.data) != 40000 {
			t.Errorf("limit %d: %d bytes arrive", limit, len(c.data))
		}
	}
	c := newRawClient(t, testConfig(t), mode{})
	c.hello.set(wire.ExtRecordSizeLimit, u16(63))
	c.mustFail(c.sendHello(), wire.AlertIllegalParameter)
}

// TestSendPlaintextMax: the configuration's own limit, plaintext records too.
func TestSendPlaintextMax(t *testing.T) {
	cfg := testConfig(t)
	cfg.SendPlaintextMax = 100
	c := newRawClient(t, cfg, mode{})
	c.must(c.sendHello())
	if n := largestRecord(c.conn.output.b); n != 100+1+record.TagLen {
		t.Errorf("the flight has a record of %d", n)
	}
	c.read()
	c.must(c.sendFinished())
	if n := largestRecord(c.conn.SealAppend(nil, make([]byte, 1000))); n != 117 {
		t.Errorf("a record of %d", n)
	}
}

// TestKeyLimit: our key is changed by itself when it has sealed its records,
// however they are sealed.
func TestKeyLimit(t *testing.T) {
	cfg := testConfig(t)
	cfg.RecordsPerKeyMax = 3
	c := newRawClient(t, cfg, mode{})
	c.handshake()
	before := len(c.flight)
	for range 10 {
		c.readBytes(c.conn.SealAppend(nil, []byte("x")))
	}
	for range 10 {
		rec := make([]byte, 1+RecordOverhead)
		rec[RecordPrefix] = 'y'
		c.readBytes(c.conn.SealInPlace(rec, 1))
		c.read()
	}
	room := make([]byte, 0, 10*(record.PlaintextMax+RecordOverhead)+3*KeyUpdateBytes)
	sealed := c.conn.SealAppend(room, make([]byte, 10*record.PlaintextMax))
	if len(sealed) != cap(room) || &sealed[0] != &room[:1][0] {
		t.Errorf("%d bytes of three keys, want %d", len(sealed), cap(room))
	}
	c.readBytes(sealed)
	c.read()
	if got := len(c.flight) - before; got != 10 {
		t.Errorf("%d key updates in 30 records of 3 a key", got)
	}
	if len(c.data) != 20+10*record.PlaintextMax || !strings.HasPrefix(string(c.data), "xxxxxxxxxxyyyyyyyyyy") {
		t.Errorf("%d bytes arrive", len(c.data))
	}
	c.talk()
}

// TestSealMisuse: our own mistakes are loud.
func TestSealMisuse(t *testing.T) {
	mustPanic := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		f()
	}
	c := newRawClient(t, testConfig(t), mode{})
	mustPanic("before the handshake", func() { c.conn.SealAppend(nil, []byte("x")) })
	mustPanic("Continue without decision", func() { c.conn.Continue(testTime) })
	c.handshake()
	mustPanic("too long", func() { c.conn.SealInPlace(make([]byte, 20000), 16385) })
	c.conn.UpdateKey()
	mustPanic("past output", func() { c.conn.SealInPlace(make([]byte, 100), 1) })
	c.read()
	c.conn.AppendCloseNotify(nil)
	mustPanic("after close_notify", func() { c.conn.SealAppend(nil, []byte("x")) })
}

// TestRest: a connection that rests goes on as if it had not, whatever comes next.
func TestRest(t *testing.T) {
	next := map[string]func(c *rawClient){
		"data": func(c *rawClient) { c.talk() },
		"sealing": func(c *rawClient) {
			rec := make([]byte, 1+RecordOverhead)
			c.readBytes(c.conn.SealInPlace(rec, 1))
		},
		"key update": func(c *rawClient) {
			c.must(c.sendKeyUpdate(true))
			c.conn.Rest()
			c.read()
			c.talk()
		},
		"own key update": func(c *rawClient) { c.conn.UpdateKey(); c.read(); c.talk() },
		"close": func(c *rawClient) {
			c.readBytes(c.conn.AppendCloseNotify(nil))
			if len(c.alerts) != 1 {
				c.t.Error("close_notify does not arrive")
			}
		},
		"failure": func(c *rawClient) { c.mustFail(c.feed([]byte{24, 3, 3, 0, 0}), wire.AlertUnexpectedMessage) },
	}
	for _, suite := range []uint16{0x1301, 0x1302, 0x1303} {
		for name, f := range next {
			t.Run(fmt.Sprintf("%x/%s", suite, name), func(t *testing.T) {
				c := newRawClient(t, testConfig(t), mode{})
				c.hello.suites = []uint16{suite}
				c.conn.Rest() // too early: nothing happens
				c.handshake()
				c.talk()
				c.conn.Rest()
				c.conn.Rest()
				f(c)
			})
		}
	}
}

// TestSealNothing appends no record for no data.
func TestSealNothing(t *testing.T) {
	c := newRawClient(t, testConfig(t), mode{})
	c.handshake()
	if out := c.conn.SealAppend([]byte("a"), nil); string(out) != "a" {
		t.Errorf("%q", out)
	}
}
