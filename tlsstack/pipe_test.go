package tlsstack

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A byte pipe between a blocking client and the sans-IO server, with room for
// everything that is written, so that neither waits for the other to read.

// stream is one direction.
type stream struct {
	mu     sync.Mutex
	filled *sync.Cond
	buf    []byte
	ended  bool
}

func newStream() *stream {
	s := new(stream)
	s.filled = sync.NewCond(&s.mu)
	return s
}

func (s *stream) write(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, b...)
	s.filled.Broadcast()
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.filled.Broadcast()
}

// read takes what is there, at most len(b) bytes, and waits for at least one.
func (s *stream) read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 {
		if s.ended {
			return 0, io.EOF
		}
		s.filled.Wait()
	}
	n := copy(b, s.buf)
	s.buf = s.buf[n:]
	return n, nil
}

// pipeEnd is one end, as a net.Conn.
type pipeEnd struct{ in, out *stream }

func newPipe() (client, server *pipeEnd) {
	up, down := newStream(), newStream()
	return &pipeEnd{in: down, out: up}, &pipeEnd{in: up, out: down}
}

func (p *pipeEnd) Read(b []byte) (int, error) { return p.in.read(b) }

func (p *pipeEnd) Write(b []byte) (int, error) {
	p.out.mu.Lock()
	ended := p.out.ended
	p.out.mu.Unlock()
	if ended {
		return 0, os.ErrClosed
	}
	p.out.write(b)
	return len(b), nil
}

func (p *pipeEnd) Close() error {
	p.in.end()
	p.out.end()
	return nil
}

func (p *pipeEnd) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (p *pipeEnd) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (p *pipeEnd) SetDeadline(time.Time) error      { return nil }
func (p *pipeEnd) SetReadDeadline(time.Time) error  { return nil }
func (p *pipeEnd) SetWriteDeadline(time.Time) error { return nil }

// server runs a Conn over a pipe end as an application would: it continues at
// the decision and echoes what it receives.
type server struct {
	conn  Conn
	chunk int // bytes fed at a time; 0: all there is
	now   time.Time
	at    func(*Conn) // called at the decision, before Continue
}

// run serves until the stream or the connection ends, and returns why: nil for
// an orderly close.
func (s *server) run(end *pipeEnd) error {
	defer end.Close()
	var pending []byte
	buf := make([]byte, 32<<10)
	if s.chunk > 0 {
		buf = buf[:s.chunk]
	}
	for {
		n, err := end.Read(buf)
		if err != nil {
			return s.conn.ReceiveEOF()
		}
		pending = append(pending, buf[:n]...)
		used, err := s.feed(end, pending)
		pending = append(pending[:0], pending[used:]...)
		if s.conn.HasOutput() {
			end.Write(s.conn.AppendOutput(nil))
		}
		if errors.Is(err, io.EOF) {
			end.Write(s.conn.AppendCloseNotify(nil))
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// feed hands b over record by record.
func (s *server) feed(end *pipeEnd, b []byte) (used int, err error) {
	for {
		n, plain, err := s.conn.Receive(s.now, b[used:])
		used += n
		if err != nil {
			return used, err
		}
		if len(plain) > 0 {
			end.Write(s.conn.SealAppend(nil, plain))
		}
		if s.conn.Wait() == WaitDecision {
			if s.at != nil {
				s.at(&s.conn)
			}
			if s.conn.Wait() == WaitDecision {
				if err := s.conn.Continue(s.now); err != nil {
					return used, err
				}
			}
			continue
		}
		if n == 0 {
			return used, nil
		}
	}
}
