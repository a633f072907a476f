// Listening sockets: opened, inherited, and what goes wrong with them.

package reactor

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// backlog is how many connections may wait to be accepted; the kernel lowers it
// to net.core.somaxconn.
const backlog = 4096

// ListenTCP opens a listening socket at address, HOST:PORT with HOST an IP
// address or empty for all addresses, IPv6 and IPv4 alike. SO_REUSEPORT is set,
// so that each worker may have its own, and TCP_NODELAY, which accepted sockets
// inherit. The error says what an operator can do.
func ListenTCP(address string) (fd int, err error) {
	fds, err := listenTCP(address, 1, true)
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}

// ListenTCPGroup opens n sockets as ListenTCP does, one for each worker: the
// kernel spreads connections over them. An address where another program listens
// is refused, even if it is of the same kind and user.
func ListenTCPGroup(address string, n int) (fds []int, err error) {
	return listenTCP(address, n, false)
}

// FreeTCP says whether a group at address would have it alone: SO_REUSEPORT lets
// two programs of one user share a port unawares. It binds and does not listen,
// so that nobody connects to it.
func FreeTCP(address string) error {
	at, dual, err := parseListen(address)
	if err != nil {
		return err
	}
	fd, err := openTCP(at, dual, false)
	if err != nil && dual && errors.Is(err, syscall.EAFNOSUPPORT) {
		return nil
	}
	if err != nil {
		return listenError(address, err)
	}
	return unix.Close(fd)
}

func listenTCP(address string, n int, share bool) (fds []int, err error) {
	at, dual, err := parseListen(address)
	if err != nil {
		return nil, err
	}
	fds, err = openGroup(at, dual, n, share)
	if err != nil && dual && errors.Is(err, syscall.EAFNOSUPPORT) {
		// A machine without IPv6: all addresses are the IPv4 ones.
		fds, err = openGroup(netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()), false, n, share)
	}
	if err != nil {
		return nil, listenError(address, err)
	}
	return fds, nil
}

// openGroup binds the first socket before it has SO_REUSEPORT, unless it is to
// share, so that it finds out about others, and the rest to the very port it got.
func openGroup(at netip.AddrPort, dual bool, n int, share bool) (fds []int, err error) {
	defer func() {
		if err != nil {
			for _, fd := range fds {
				_ = unix.Close(fd)
			}
		}
	}()
	for i := range n {
		fd, err := openTCP(at, dual, share || i > 0)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
		if at.Port() == 0 {
			at = netip.AddrPortFrom(at.Addr(), localPort(fd))
		}
	}
	for _, fd := range fds {
		if err := unix.Listen(fd, backlog); err != nil {
			return fds, os.NewSyscallError("listen", err)
		}
	}
	return fds, nil
}

func localPort(fd int) uint16 {
	sa, _ := unix.Getsockname(fd)
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return uint16(sa.Port)
	case *unix.SockaddrInet6:
		return uint16(sa.Port)
	}
	return 0
}

// parseListen splits HOST:PORT; dual says that IPv4 is to be heard on an IPv6
// socket too.
func parseListen(address string) (at netip.AddrPort, dual bool, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return at, false, fmt.Errorf("listen address %q: want HOST:PORT, [IPv6]:PORT or :PORT", address)
	}
	if host == "" {
		host, dual = "::", true
	}
	at, err = netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil {
		return at, false, fmt.Errorf("listen address %q: HOST must be an IP address and PORT a number from 0 to 65535", address)
	}
	return at, dual, nil
}

func openTCP(at netip.AddrPort, dual, share bool) (int, error) {
	family := unix.AF_INET
	if at.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := bindTCP(fd, at, family, dual, share); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func bindTCP(fd int, at netip.AddrPort, family int, dual, share bool) error {
	set := func(err error, level, name, value int) error {
		if err != nil {
			return err
		}
		return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, name, value))
	}
	err := set(nil, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	err = set(err, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if family == unix.AF_INET6 {
		only := 1
		if dual {
			only = 0
		}
		err = set(err, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only)
	}
	if share {
		err = set(err, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}
	unpaced(fd, at.Addr())
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, sockaddrOf(at, family)))
	}
	return set(err, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
}

func sockaddrOf(at netip.AddrPort, family int) unix.Sockaddr {
	if family == unix.AF_INET {
		return &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16(), ZoneId: zoneIndex(at.Addr().Zone())}
}

// listenError adds to a failed listen what to do about it.
func listenError(address string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = ": the port is in use by another program (ss -ltnp shows which)"
	case errors.Is(err, syscall.EACCES):
		hint = ": ports below 1024 need root, CAP_NET_BIND_SERVICE, or sysctl net.ipv4.ip_unprivileged_port_start"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = ": this machine does not have the address"
	}
	return fmt.Errorf("cannot listen on %s: %w%s", address, err, hint)
}

// listenUnixError is listenError for a unix socket.
func listenUnixError(path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = ": another program serves there, or it is a file that is no socket"
	case errors.Is(err, syscall.EACCES):
		hint = ": its folder does not let us make files"
	}
	return fmt.Errorf("cannot listen on unix:%s: %w%s", path, err, hint)
}

// ListenUnix opens a listening unix socket at path; a leading @ is the abstract
// namespace. A socket file left over by a process that is gone is replaced, one
// that somebody listens on is not.
func ListenUnix(path string, mode os.FileMode) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, listenUnixError(path, os.NewSyscallError("socket", err))
	}
	if err := bindUnix(fd, path, mode); err != nil {
		_ = unix.Close(fd)
		return -1, listenUnixError(path, err)
	}
	return fd, nil
}

func bindUnix(fd int, path string, mode os.FileMode) error {
	at := &unix.SockaddrUnix{Name: path}
	err := unix.Bind(fd, at)
	if err == unix.EADDRINUSE && leftOver(path) {
		_ = os.Remove(path)
		err = unix.Bind(fd, at)
	}
	if err != nil {
		return os.NewSyscallError("bind", err)
	}
	if path[0] != '@' {
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	return os.NewSyscallError("listen", unix.Listen(fd, backlog))
}

// leftOver says that path is a socket on which nobody listens.
func leftOver(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path}) == unix.ECONNREFUSED
}

// Inherited checks a descriptor handed over by another process (an upgrade, or
// systemd's socket activation) and makes it fit: a listening stream socket that
// programs started later do not inherit.
func Inherited(fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return fmt.Errorf("inherited descriptor %d is not a socket: %w", fd, err)
	}
	listening, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	if err != nil || kind != unix.SOCK_STREAM || listening == 0 {
		return fmt.Errorf("inherited descriptor %d is not a listening stream socket (systemd: ListenStream=)", fd)
	}
	unix.CloseOnExec(fd)
	// Fails on unix sockets, which have no such option and no need of it.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	return nil
}

// LocalAddr is where a listening socket listens, for the log: HOST:PORT with the
// port the kernel chose, or unix:PATH.
func LocalAddr(fd int) string {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return fmt.Sprintf("descriptor %d", fd)
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)).String()
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)).String()
	case *unix.SockaddrUnix:
		return "unix:" + sa.Name
	}
	return fmt.Sprintf("descriptor %d", fd)
}
