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
//	worker:   link (8)  address (16, IPv4 mapped)  port (2)  length (2)  PROXY header (length)
//	bridge:   verdict (1)
//
// The header goes out in front of the handshake, as it is. After Connected the
// bytes are those of the TLS connection, both ways; after any other verdict the
// bridge closes.

const prefaceBytes = 8 + 16 + 2 + 2

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
// header, which may be empty, first. link is the number of the connection's Link.
func AppendPreface(dst []byte, link uint64, to netip.AddrPort, header []byte) []byte {
	if len(header) > HeaderBytesMax {
		panic("BUG: bridge: PROXY header longer than one may be")
	}
	dst = binary.BigEndian.AppendUint64(dst, link)
	a := to.Addr().As16()
	dst = append(dst, a[:]...)
	dst = binary.BigEndian.AppendUint16(dst, to.Port())
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(header)))
	return append(dst, header...)
}

type preface struct {
	link   uint64
	to     netip.AddrPort
	header []byte
}

func readPreface(r io.Reader) (p preface, err error) {
	var b [prefaceBytes]byte
	if _, err = io.ReadFull(r, b[:]); err != nil {
		return p, fmt.Errorf("no word of where to connect: %w", err)
	}
	p.link = binary.BigEndian.Uint64(b[:])
	p.to = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), binary.BigEndian.Uint16(b[24:]))
	length := int(binary.BigEndian.Uint16(b[26:]))
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
