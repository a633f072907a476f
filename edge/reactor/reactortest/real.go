// The world of a reactor over the kernel.

package reactortest

import (
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// RealFixture is a Fixture over the kernel.
type RealFixture struct {
	T *testing.T
	R reactor.Reactor
}

var _ Fixture = (*RealFixture)(nil)

// Reactor is the reactor.
func (f *RealFixture) Reactor() reactor.Reactor { return f.R }

// Real is true.
func (f *RealFixture) Real() bool { return true }

// Until runs the reactor until cond holds. A ticker wakes it, for what cond
// looks at may change without it.
func (f *RealFixture) Until(h reactor.Handler, cond func() bool) bool {
	if cond() {
		return true
	}
	w := &watched{Handler: h, r: f.R, cond: cond}
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.tick(done)
	}()
	err := f.R.Run(w)
	close(done)
	<-stopped
	if err != nil {
		f.T.Fatalf("Run: %v", err)
	}
	return w.holds
}

// watched is a Handler that stops the reactor once its condition holds.
type watched struct {
	reactor.Handler
	r     reactor.Reactor
	cond  func() bool
	holds bool
}

func (w *watched) TurnEnd() {
	w.Handler.TurnEnd()
	if !w.holds && w.cond() {
		w.holds = true
		w.r.Stop()
	}
}

func (w *watched) tick(done chan struct{}) {
	ticker := time.NewTicker(500 * time.Microsecond)
	defer ticker.Stop()
	end := time.Now().Add(watchdog)
	for time.Now().Before(end) {
		select {
		case <-done:
			return
		case <-ticker.C:
			w.r.Post(func() {})
		}
	}
	w.r.Post(w.r.Stop)
	<-done
}

// Listen opens a socket on the loopback, or in a directory of the test.
func (f *RealFixture) Listen(isUnix bool) (fd int, dial func() Peer) {
	f.T.Helper()
	var err error
	if isUnix {
		fd, err = reactor.ListenUnix(filepath.Join(f.T.TempDir(), "s"), 0o600)
	} else {
		fd, err = reactor.ListenTCP("127.0.0.1:0")
	}
	if err != nil {
		f.T.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		f.T.Fatal(err)
	}
	return fd, func() Peer { return f.dial(at) }
}

// dial connects. On the loopback that is done before connect returns.
func (f *RealFixture) dial(at unix.Sockaddr) Peer {
	f.T.Helper()
	family := unix.AF_INET
	if _, ok := at.(*unix.SockaddrUnix); ok {
		family = unix.AF_UNIX
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		f.T.Fatal(err)
	}
	if err := unix.Connect(fd, at); err != nil {
		f.T.Fatalf("connect: %v", err)
	}
	return f.peer(fd)
}

func (f *RealFixture) peer(fd int) Peer {
	if err := unix.SetNonblock(fd, true); err != nil {
		f.T.Fatal(err)
	}
	p := &realPeer{fd: fd, buf: make([]byte, 64<<10)}
	f.T.Cleanup(p.Close)
	return p
}

// Backend listens for what Connect does.
func (f *RealFixture) Backend(isUnix bool) (at reactor.Address, accept func() Peer) {
	f.T.Helper()
	fd, _ := f.Listen(isUnix)
	f.T.Cleanup(func() { _ = unix.Close(fd) })
	sa, err := unix.Getsockname(fd)
	if err != nil {
		f.T.Fatal(err)
	}
	accept = func() Peer {
		c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
		if err != nil {
			return nil
		}
		return f.peer(c)
	}
	if u, ok := sa.(*unix.SockaddrUnix); ok {
		return reactor.Address{Unix: u.Name}, accept
	}
	return reactor.Address{TCP: addrPort(f.T, fd)}, accept
}

// Refusing is a port that was free a moment ago.
func (f *RealFixture) Refusing() reactor.Address {
	f.T.Helper()
	fd, _ := f.Listen(false)
	defer unix.Close(fd)
	return reactor.Address{TCP: addrPort(f.T, fd)}
}

// File writes a file and opens it.
func (f *RealFixture) File(content []byte) int {
	f.T.Helper()
	name := filepath.Join(f.T.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		f.T.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// realPeer is a non-blocking socket.
type realPeer struct {
	fd      int
	buf     []byte
	stalled bool
}

func (p *realPeer) Write(b []byte) (int, error) {
	n, err := unix.SendmsgN(p.fd, b, nil, nil, unix.MSG_NOSIGNAL)
	if err == unix.EAGAIN || err == unix.EINTR {
		return 0, nil
	}
	return max(n, 0), err
}

func (p *realPeer) Read() ([]byte, error) {
	if p.stalled {
		return nil, nil
	}
	n, err := unix.Read(p.fd, p.buf)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil, nil
	case err != nil:
		return nil, err
	case n == 0:
		return nil, io.EOF
	}
	return p.buf[:n], nil
}

func (p *realPeer) Stall(on bool) { p.stalled = on }

func (p *realPeer) CloseWrite() { _ = unix.Shutdown(p.fd, unix.SHUT_WR) }

func (p *realPeer) Close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
		p.fd = -1
	}
}

func (p *realPeer) Reset() {
	_ = unix.SetsockoptLinger(p.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	p.Close()
}

func addrPort(t *testing.T, fd int) netip.AddrPort {
	t.Helper()
	at, err := netip.ParseAddrPort(reactor.LocalAddr(fd))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
