// Package bridge reaches https upstreams: it listens on an abstract unix socket
// of its own, and for each connection there makes one to the upstream, over TLS
// by crypto/tls, and carries bytes between the two.
//
//	worker ──plain HTTP──▶ @edge-… ──▶ goroutine ──TLS──▶ upstream
//
// So a worker needs to know nothing of TLS as a client, and a slow handshake
// holds up nobody. It costs two copies more than a plain upstream. The socket is
// open to this process's user alone: peers of another user are turned away.
//
// preface.go is what the two say to each other before the first byte of HTTP:
// which address to connect to, and what came of it. link.go is what they say
// beside it: how the upstream ended, and that the worker is gone.
package bridge

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Options of a bridge.
type Options struct {
	Name       string          // of the upstream, for the log
	ServerName string          // to ask for and to verify
	Insecure   bool            // any certificate will do
	Roots      *x509.CertPool  // nil: the machine's
	Client     tls.Certificate // shown when the upstream asks; empty: none
	Connect    time.Duration   // longest for connection and handshake together
	Log        func(line string)
}

// Bridge is one listening bridge.
type Bridge struct {
	o    Options
	l    *net.UnixListener
	tls  *tls.Config
	name string
	stop context.CancelFunc
	open sync.WaitGroup

	mu    sync.Mutex
	last  uint64           // the number of the newest link
	links map[uint64]*Link // whose connection has not come yet
}

// New starts a bridge.
func New(o Options) (*Bridge, error) {
	name := "@edge-" + rand.Text()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("bridge to %s: %w", o.Name, err)
	}
	config := &tls.Config{
		ServerName:         o.ServerName,
		RootCAs:            o.Roots,
		InsecureSkipVerify: o.Insecure, // as the operator asked for, with a warning
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
	}
	if len(o.Client.Certificate) > 0 {
		config.Certificates = []tls.Certificate{o.Client}
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &Bridge{o: o, l: l, tls: config, name: name, stop: stop, links: map[uint64]*Link{}}
	b.open.Add(1)
	go b.accept(ctx)
	return b, nil
}

// Name is the abstract socket to connect to, with its leading @.
func (b *Bridge) Name() string { return b.name }

// Close ends the bridge and the connections over it.
func (b *Bridge) Close() error {
	b.stop()
	err := b.l.Close()
	b.open.Wait()
	return err
}

func (b *Bridge) accept(ctx context.Context) {
	defer b.open.Done()
	for {
		conn, err := b.l.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			b.o.Log(fmt.Sprintf("bridge to %s: %v", b.o.Name, err))
			time.Sleep(100 * time.Millisecond) // out of descriptors: it passes
			continue
		}
		b.open.Add(1)
		go func() {
			defer b.open.Done()
			b.carry(ctx, conn)
		}()
	}
}

// carry connects one worker's connection with the upstream.
func (b *Bridge) carry(ctx context.Context, near *net.UnixConn) {
	defer near.Close()
	if !ours(near) {
		return
	}
	end := context.AfterFunc(ctx, func() { near.Close() })
	defer end()
	far, err := b.connect(ctx, near)
	if err != nil {
		if err != errLeft {
			b.o.Log(fmt.Sprintf("upstream %s: %v", b.o.Name, err))
		}
		return
	}
	defer far.Close()
	cut := context.AfterFunc(ctx, func() { far.Close() })
	defer cut()
	left := far.link.left
	late := context.AfterFunc(left, func() { far.SetWriteDeadline(time.Now().Add(leaveTime)) })
	defer late()
	back := make(chan struct{})
	go func() {
		defer close(back)
		if err := far.carryBack(near); isAlert(err) {
			b.o.Log(fmt.Sprintf("upstream %s: %v", b.o.Name, err))
		}
		near.CloseWrite()
	}()
	far.carryForth(near)
	select {
	case <-back:
	case <-left.Done():
		far.Close()
		<-back
	}
}

// leaveTime is how long an upstream may take for what was sent to it before the
// worker left.
const leaveTime = 30 * time.Second

// upstreamConn is a connection to the upstream.
type upstreamConn struct {
	*tls.Conn
	wire *wire // below
	link *Link // to the worker
}

// carryForth carries what the worker sends. An upstream that takes no more of it may
// have answered all the same: the rest is dropped, and the answer still carried.
func (u *upstreamConn) carryForth(near *net.UnixConn) {
	if _, err := io.Copy(u.Conn, near); err != nil {
		_, _ = io.Copy(io.Discard, near) // ends when the worker closes
		return
	}
	u.CloseWrite()
}

// carryBack carries what the upstream sends, and tells how it ended.
func (u *upstreamConn) carryBack(near *net.UnixConn) error {
	_, err := io.Copy(near, u.Conn)
	if err == nil && !u.wire.ended {
		u.link.End()
	}
	return err
}

// isAlert says that err is an alert of the upstream. In TLS 1.3 that is how it says,
// after the handshake is done for us, that it wants another certificate or any.
func isAlert(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "remote error"
}

// connect makes the connection that near asks for, and tells it what came of that.
func (b *Bridge) connect(ctx context.Context, near *net.UnixConn) (*upstreamConn, error) {
	ctx, cancel := context.WithTimeout(ctx, b.o.Connect)
	defer cancel()
	deadline, _ := ctx.Deadline()
	near.SetReadDeadline(deadline)
	p, err := readPreface(near)
	if err != nil {
		return nil, err
	}
	near.SetReadDeadline(time.Time{})
	link := b.unlink(p.link)
	if link == nil {
		return nil, errLeft
	}
	far, verdict, err := b.dial(ctx, p)
	if _, e := near.Write([]byte{byte(verdict)}); e != nil && err == nil {
		far.Close()
		err = errLeft
	}
	if err != nil {
		return nil, err
	}
	far.link = link
	return far, nil
}

// dial makes the TLS connection.
func (b *Bridge) dial(ctx context.Context, p preface) (*upstreamConn, Verdict, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", p.to.String())
	if err != nil {
		return nil, verdictOf(err, Unreachable), err
	}
	deadline, _ := ctx.Deadline()
	raw.SetWriteDeadline(deadline)
	if _, err := raw.Write(p.header); err != nil {
		raw.Close()
		return nil, verdictOf(err, Unreachable), err
	}
	raw.SetWriteDeadline(time.Time{})
	u := &upstreamConn{wire: &wire{Conn: raw}}
	u.Conn = tls.Client(u.wire, b.tls)
	if err := u.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, verdictOf(err, Untrusted), fmt.Errorf("%s: %w", p.to, err)
	}
	return u, Connected, nil
}

// ours says whether the process at the other end is of our own user.
func ours(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	uid := -1
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return err == nil && uid == os.Getuid()
}

// LoadRoots reads the authorities in a PEM file.
func LoadRoots(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", path)
	}
	return roots, nil
}

// LoadClient reads a certificate chain and its key out of one PEM file.
func LoadClient(path string) (tls.Certificate, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(pem, pem)
	if err != nil {
		return pair, fmt.Errorf("%s: %w", path, err)
	}
	return pair, nil
}
