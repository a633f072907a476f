// Package websocket is as much of the WebSocket protocol as an echo and its client
// need (RFC 6455): whole messages in one frame each, pings, and both handshakes. It
// is there for tests: there are no fragments and no extensions.
package websocket

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
)

// What a frame is (RFC 6455, 5.2).
const (
	Text   byte = 1
	Binary byte = 2
	Close  byte = 8
	Ping   byte = 9
	Pong   byte = 10
)

// FrameBytesMax is the longest frame that ReadFrame takes.
const FrameBytesMax = 1 << 20

// ErrFrame is what a frame that nobody here would have sent ends in.
var ErrFrame = errors.New("websocket: not a whole message of at most 1 MB")

// AcceptKey is the answer to a Sec-WebSocket-Key (RFC 6455, 4.2.2).
func AcceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// AppendFrame appends one frame. Clients mask theirs, with a mask that is not 0.
func AppendFrame(b []byte, op byte, mask uint32, p []byte) []byte {
	masked := byte(0)
	if mask != 0 {
		masked = 0x80
	}
	b = append(b, 0x80|op)
	switch {
	case len(p) < 126:
		b = append(b, masked|byte(len(p)))
	case len(p) < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, masked|126), uint16(len(p)))
	default:
		b = binary.BigEndian.AppendUint64(append(b, masked|127), uint64(len(p)))
	}
	if mask == 0 {
		return append(b, p...)
	}
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], mask)
	b = append(b, key[:]...)
	for i, c := range p {
		b = append(b, c^key[i%4])
	}
	return b
}

// ReadFrame reads one frame, and takes its mask off.
func ReadFrame(r *bufio.Reader) (op byte, p []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	if head[0]&0xf0 != 0x80 {
		return 0, nil, ErrFrame
	}
	n := uint64(head[1] & 0x7f)
	if more := map[uint64]int{126: 2, 127: 8}[n]; more > 0 {
		var long [8]byte
		if _, err := io.ReadFull(r, long[8-more:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(long[:])
	}
	if n > FrameBytesMax {
		return 0, nil, ErrFrame
	}
	var key [4]byte
	if head[1]&0x80 != 0 {
		if _, err := io.ReadFull(r, key[:]); err != nil {
			return 0, nil, err
		}
	}
	p = make([]byte, n)
	if _, err := io.ReadFull(r, p); err != nil {
		return 0, nil, err
	}
	for i := range p {
		p[i] ^= key[i%4]
	}
	return head[0] & 0xf, p, nil
}

// Echo gives back what comes until the closing handshake is done.
func Echo(r *bufio.Reader, w io.Writer) error {
	for {
		op, p, err := ReadFrame(r)
		if err != nil {
			return err
		}
		if op == Ping {
			op = Pong
		}
		if _, err := w.Write(AppendFrame(nil, op, 0, p)); err != nil || op == Close {
			return err
		}
	}
}
