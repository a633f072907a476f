package bridge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
)

// What is said over the socket before HTTP:
//
//	worker:   address (16, IPv4 mapped)  port (2)  length (2)  PROXY header (length)
//	bridge:   verdict (1)
//
// The header goes out in front of the handshake, as it is. After Connected the
// bytes are those of the TLS connection, both ways; after any other verdict the
// bridge closes.

const prefaceBytes = 16 + 2 + 2

// HeaderBytesMax is the longest PROXY header that is carried.
const HeaderBytesMax = 4096

// Verdict is what came of a connection.
type Verdict byte

const (
	Connected   Verdict = 1 + iota // and the upstream is who it should be
	Unreachable                    // no TCP connection
	Late                           // none, or no handshake, in time
	Untrusted                      // the handshake failed, or the certificate is not trusted
)

// AppendPreface appends what the worker says: connect to this address, and send
// header, which may be empty, first.
func AppendPreface(dst []byte, to netip.AddrPort, header []byte) []byte {
	if len(header) > HeaderBytesMax {
		panic("BUG: bridge: PROXY header longer than one may be")
	}
	a := to.Addr().As16()
	dst = append(dst, a[:]...)
	dst = binary.BigEndian.AppendUint16(dst, to.Port())
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(header)))
	return append(dst, header...)
}

type preface struct {
	to     netip.AddrPort
	header []byte
}

func readPreface(r io.Reader) (p preface, err error) {
	var b [prefaceBytes]byte
	if _, err = io.ReadFull(r, b[:]); err != nil {
		return p, fmt.Errorf("no word of where to connect: %w", err)
	}
	p.to = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[:16])).Unmap(), binary.BigEndian.Uint16(b[16:]))
	length := int(binary.BigEndian.Uint16(b[18:]))
	if length > HeaderBytesMax {
		return p, fmt.Errorf("PROXY header of %d bytes", length)
	}
	p.header = make([]byte, length)
	_, err = io.ReadFull(r, p.header)
	return p, err
}

// verdictOf is Late for an error that says so, else the one given.
func verdictOf(err error, otherwise Verdict) Verdict {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return Late
	}
	return otherwise
}
