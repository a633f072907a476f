package main

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// cutter sends the first record written to it, the ClientHello, in other
// records and segments than it was written in.
type cutter struct {
	net.Conn
	records []int // handshake bytes in each record but the last; nil: as they are
	cut     int   // where the first segment ends; 0: not cut
	every   bool  // each byte in a segment of its own
	done    bool
}

// segmentPause lets the first segment arrive alone.
const segmentPause = 2 * time.Millisecond

func (c *cutter) Write(p []byte) (int, error) {
	if c.done {
		return c.Conn.Write(p)
	}
	c.done = true
	wire := p
	if c.records != nil {
		wire = rerecord(p, c.records)
	}
	return len(p), c.send(wire)
}

func (c *cutter) send(wire []byte) error {
	step := len(wire)
	if c.every {
		step = 1
	}
	if c.cut > 0 && c.cut < len(wire) {
		if _, err := c.Conn.Write(wire[:c.cut]); err != nil {
			return err
		}
		time.Sleep(segmentPause)
		wire = wire[c.cut:]
	}
	for len(wire) > 0 {
		n := min(step, len(wire))
		if _, err := c.Conn.Write(wire[:n]); err != nil {
			return err
		}
		wire = wire[n:]
	}
	return nil
}

// recordHeaderBytes is type, version and length.
const recordHeaderBytes = 5

// rerecord spreads the one record p over records of the given lengths, and one
// more for what is left.
func rerecord(p []byte, lengths []int) []byte {
	var out []byte
	head, body := p[:recordHeaderBytes], p[recordHeaderBytes:]
	add := func(n int) {
		out = append(out, head[0], head[1], head[2])
		out = binary.BigEndian.AppendUint16(out, uint16(n))
		out = append(out, body[:n]...)
		body = body[n:]
	}
	for _, n := range lengths {
		if n < len(body) {
			add(n)
		}
	}
	add(len(body))
	return out
}

// errCaptured ends a client's handshake once its hello is there.
var errCaptured = errors.New("captured")

// capture is a connection that keeps what is written and fails.
type capture struct {
	net.Conn
	hello []byte
}

func (c *capture) Write(p []byte) (int, error) {
	c.hello = append(c.hello, p...)
	return 0, errCaptured
}

// clientHello is the record that a client with conf would send first.
func clientHello(t *testing.T, conf *tls.Config) []byte {
	t.Helper()
	var c capture
	if err := tls.Client(&c, conf).Handshake(); !errors.Is(err, errCaptured) {
		t.Fatalf("capturing a hello: %v", err)
	}
	return c.hello
}

func TestRerecord(t *testing.T) {
	record := []byte{22, 3, 1, 0, 4, 'a', 'b', 'c', 'd'}
	want := "\x16\x03\x01\x00\x01a\x16\x03\x01\x00\x02bc\x16\x03\x01\x00\x01d"
	if got := rerecord(record, []int{1, 2, 99}); string(got) != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

// readAlert reads records until an alert comes and returns its description.
func readAlert(r io.Reader) (byte, error) {
	var head [recordHeaderBytes]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return 0, err
		}
		body := make([]byte, binary.BigEndian.Uint16(head[3:]))
		if _, err := io.ReadFull(r, body); err != nil {
			return 0, err
		}
		if head[0] == 21 && len(body) == 2 {
			return body[1], nil
		}
	}
}
