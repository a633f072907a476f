// Peers that write and read as fast as it goes.

package reactortest

import (
	"fmt"
)

// pattern is n bytes that differ from those of any other seed.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func short(b []byte) string {
	if len(b) > 80 {
		return fmt.Sprintf("%d bytes %q...", len(b), b[:80])
	}
	return fmt.Sprintf("%q", b)
}

// pump moves data to a peer that writes, and collects what it reads.
type pump struct {
	p    Peer
	out  []byte
	in   []byte
	err  error // io.EOF at the end
	werr error
}

// step turns if there is something to write, or to read: less came than was
// sent. It says so.
func (u *pump) step(sentBytes int) bool {
	if len(u.out) == 0 && len(u.in) == sentBytes {
		return false
	}
	u.turn()
	return true
}

// turn writes what fits and reads what came.
func (u *pump) turn() {
	if len(u.out) > 0 && u.werr == nil {
		n, err := u.p.Write(u.out)
		u.out, u.werr = u.out[n:], err
	}
	if u.err == nil {
		var b []byte
		b, u.err = u.p.Read()
		u.in = append(u.in, b...)
	}
}
