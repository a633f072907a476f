package capture

import (
	"io"
	"net/netip"
)

// Hello is a ClientHello of a capture.
type Hello struct {
	From, To netip.AddrPort
	Message  []byte // the handshake message, header included
}

const (
	// streamsMax is how many directions are followed at a time. For one more those
	// are forgotten in which there was nothing more to find, and if that is not
	// enough any, down to streamsLeft.
	streamsMax  = 16384
	streamsLeft = streamsMax / 4 * 3
	// aheadMax is how many segments that came before their turn are kept for one.
	aheadMax = 64
	// aheadBytesMax is how far before its turn a byte may come.
	aheadBytesMax = 1 << 20
	// keptBytesMax is what all streams together may hold.
	keptBytesMax = 256 << 20
)

type streamKey struct{ from, to netip.AddrPort }

// stream is one direction of a connection, up to its hello.
type stream struct {
	next  uint32 // sequence number that comes next
	bytes []byte
	want  int // of bytes, for another look
	ahead []segment
	done  bool // there is nothing more to find
}

// reader follows the streams of a capture.
type reader struct {
	streams map[streamKey]*stream
	kept    int
	yield   func(Hello)
}

// Read calls yield with each ClientHello of a capture, in the order in which they
// became whole. It fails with ErrFormat, or when the file is malformed or cannot
// be read; what was found before has been yielded.
func Read(in io.Reader, yield func(Hello)) error {
	r := &reader{streams: map[streamKey]*stream{}, yield: yield}
	return packets(in, func(link uint32, frame []byte) {
		if s, ok := parseSegment(link, frame); ok {
			r.take(s)
		}
	})
}

// take takes in one segment.
func (r *reader) take(s segment) {
	key := streamKey{s.from, s.to}
	st := r.streams[key]
	if s.syn && (st == nil || st.next != s.seq || st.done) {
		r.forget(key, st)
		st = nil
	}
	if st == nil {
		// Without its SYN a stream begins at the first segment that could be the
		// first record of a hello.
		if !s.syn && (len(s.data) == 0 || s.data[0] != recordHandshake) {
			return
		}
		r.makeRoom()
		st = &stream{next: s.seq}
		r.streams[key] = st
	}
	if st.done || len(s.data) == 0 {
		return
	}
	r.add(st, s)
	for again := true; again && !st.done; {
		again = false
		for i, a := range st.ahead {
			if int32(a.seq-st.next) <= 0 {
				st.ahead = append(st.ahead[:i], st.ahead[i+1:]...)
				r.kept -= len(a.data)
				r.add(st, a)
				again = true
				break
			}
		}
	}
	if st.done || len(st.bytes) < st.want {
		return
	}
	msg, want := helloIn(st.bytes)
	if msg != nil {
		r.yield(Hello{s.from, s.to, msg})
	}
	if st.want = want; want == 0 {
		r.finish(st)
	}
}

// makeRoom keeps the table within its size.
func (r *reader) makeRoom() {
	if len(r.streams) < streamsMax {
		return
	}
	for key, st := range r.streams {
		if st.done {
			delete(r.streams, key)
		}
	}
	for key, st := range r.streams {
		if len(r.streams) <= streamsLeft {
			return
		}
		r.forget(key, st)
	}
}

// add appends what is new of a segment, or keeps it for later.
func (r *reader) add(st *stream, s segment) {
	gap := int32(s.seq - st.next)
	switch {
	case gap > 0:
		if gap <= aheadBytesMax && len(st.ahead) < aheadMax && r.kept+len(s.data) <= keptBytesMax {
			s.data = append([]byte(nil), s.data...)
			st.ahead = append(st.ahead, s)
			r.kept += len(s.data)
		}
	case int(-gap) < len(s.data):
		fresh := s.data[-gap:]
		if r.kept+len(fresh) > keptBytesMax {
			r.finish(st)
			return
		}
		st.bytes = append(st.bytes, fresh...)
		st.next += uint32(len(fresh))
		r.kept += len(fresh)
	}
}

// finish gives back what a stream holds. Its key stays, so that what follows is
// known to be no beginning.
func (r *reader) finish(st *stream) {
	r.kept -= len(st.bytes)
	for _, a := range st.ahead {
		r.kept -= len(a.data)
	}
	*st = stream{next: st.next, done: true}
}

func (r *reader) forget(key streamKey, st *stream) {
	if st != nil {
		r.finish(st)
		delete(r.streams, key)
	}
}
