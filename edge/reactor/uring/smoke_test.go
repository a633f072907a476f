package uring

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

type echo struct {
	r      *Reactor
	ended  map[reactor.Sock]bool
	closed int
	t      *testing.T
	accept int
}

func (e *echo) Accepted(l, s reactor.Sock, p netip.AddrPort) {
	e.accept++
	if !p.IsValid() {
		e.t.Error("no peer")
	}
	e.r.Receive(s)
}
func (e *echo) AcceptFailed(l reactor.Sock, err error)    { e.t.Error(err) }
func (e *echo) Connected(s reactor.Sock, err error)       {}
func (e *echo) ReceiveEnded(s reactor.Sock, err error)    { e.r.Close(s) }
func (e *echo) Sent(s reactor.Sock, err error)            { e.r.Receive(s) }
func (e *echo) FileRead(s reactor.Sock, n int, err error) {}
func (e *echo) Expired(s reactor.Sock)                    {}
func (e *echo) Fired(tag uint64)                          { e.r.Stop() }
func (e *echo) Closed(s reactor.Sock)                     { e.closed++ }
func (e *echo) TurnEnd()                                  {}
func (e *echo) Received(s reactor.Sock, b []byte, id reactor.BufID) bool {
	e.r.PauseReceive(s)
	e.r.Send(s, append([]byte(nil), b...))
	return false
}

func TestSmoke(t *testing.T) {
	r, err := New(reactor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	unix.Listen(fd, 100)
	sa, _ := unix.Getsockname(fd)
	port := sa.(*unix.SockaddrInet4).Port
	l, err := r.Listen(fd)
	if err != nil {
		t.Fatal(err)
	}
	r.Receive(l)
	e := &echo{r: r, t: t}
	done := make(chan error)
	go func() { done <- r.Run(e) }()
	for range 3 {
		c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IP{127, 0, 0, 1}, Port: port})
		if err != nil {
			t.Fatal(err)
		}
		msg := bytes.Repeat([]byte("hello"), 30000)
		go c.Write(msg)
		got := make([]byte, len(msg))
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, msg) {
			t.Fatal("differs")
		}
		c.Close()
	}
	start := time.Now()
	r.Post(func() { r.After(50*time.Millisecond, 1) })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(start), e.accept, e.closed)
}
