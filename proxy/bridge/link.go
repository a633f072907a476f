package bridge

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
)

// Link is what worker and bridge tell each other of one connection beside it. The
// socket between them cannot say these two things, and both are one process.
//
//	bridge:  the upstream ended with close_notify     Ended
//	worker:  the connection is given up, both ways    Leave
type Link struct {
	b     *Bridge
	id    uint64
	ended atomic.Bool
	left  context.Context // done once the worker left
	leave context.CancelFunc
}

// errLeft: the worker gave the connection up before it was made.
var errLeft = errors.New("nobody waits for the connection any more")

// Link makes a link for a connection that will be made to Name. Leave must follow.
func (b *Bridge) Link() *Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	l := &Link{b: b, id: b.last}
	l.left, l.leave = context.WithCancel(context.Background())
	b.links[l.id] = l
	return l
}

// ID is the number that the preface names the link by.
func (l *Link) ID() uint64 { return l.id }

// Ended says that the upstream ended its side with close_notify. It is known before
// the connection's FIN is seen. A connection that ends otherwise was cut off,
// perhaps by somebody on the way (RFC 9846, 6.1): what is not known to be whole by
// its own length is not (RFC 9112, 9.8).
func (l *Link) Ended() bool { return l.ended.Load() }

// End has Ended say so: for the bridge, and for tests that play it.
func (l *Link) End() { l.ended.Store(true) }

// Leave ends the connection to the upstream once what was sent is sent, as closing
// a socket does: that the worker closed its own the bridge cannot tell from FIN. It
// may be called again.
func (l *Link) Leave() {
	l.b.unlink(l.id)
	l.leave()
}

// unlink takes a link off the list; nil if it is not there.
func (b *Bridge) unlink(id uint64) *Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.links[id]
	delete(b.links, id)
	return l
}

// wire is the connection below TLS. crypto/tls gives io.EOF for close_notify and,
// between two records, for the end of the connection alike; which it was, this tells.
type wire struct {
	net.Conn
	ended bool // or failed: there is no more to read
}

// Read implements io.Reader. crypto/tls calls it from one goroutine at a time.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.ended = w.ended || err != nil
	return n, err
}
