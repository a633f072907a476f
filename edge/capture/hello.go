package capture

import "encoding/binary"

const (
	recordHandshake = 22
	recordHead      = 5
	recordBytesMax  = 1 << 14

	typeClientHello = 1
	messageHead     = 4
	// helloBytesMax is the longest hello that is put together.
	helloBytesMax = 1<<16 + messageHead
	// helloRecordsMax is the most records that it may come in.
	helloRecordsMax = 4096
)

// HelloOf takes a ClientHello message out of the TLS records that b begins with;
// nil if there is none, or not all of it.
func HelloOf(b []byte) []byte {
	msg, _ := helloIn(b)
	return msg
}

// helloIn is HelloOf for bytes that may go on: want is how many there must be for
// another look, 0 if it is decided, either way.
func helloIn(whole []byte) (msg []byte, want int) {
	b := whole
	for range helloRecordsMax {
		if len(b) < recordHead {
			return nil, len(whole) - len(b) + recordHead
		}
		n := int(binary.BigEndian.Uint16(b[3:]))
		if b[0] != recordHandshake || b[1] != 3 || n == 0 || n > recordBytesMax {
			return nil, 0
		}
		piece := b[recordHead:min(recordHead+n, len(b))]
		msg = append(msg, piece...)
		if len(msg) > 0 && msg[0] != typeClientHello {
			return nil, 0
		}
		if len(msg) >= messageHead {
			length := messageHead + (int(msg[1])<<16 | int(msg[2])<<8 | int(msg[3]))
			switch {
			case length > helloBytesMax:
				return nil, 0
			case len(msg) >= length:
				return msg[:length], 0
			}
		}
		if len(piece) < n {
			return nil, len(whole) - len(b) + recordHead + n
		}
		b = b[recordHead+n:]
	}
	return nil, 0
}
