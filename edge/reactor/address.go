// Where to connect, as the kernel wants it.

package reactor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrSocketsMax: all slots of a reactor are taken.
var ErrSocketsMax = errors.New("as many connections as one worker may have (SocketsMax)")

// Socket opens a blocking stream socket of the address's family, with
// TCP_NODELAY. It is for a side that speaks first: what it sends when it is
// connected carries the ACK that ends the handshake, which spares a packet. If it
// sends nothing that ACK goes out by itself, a fifth of a second later.
func (a Address) Socket() (fd int, err error) {
	family := unix.AF_INET6
	switch {
	case a.Unix != "":
		family = unix.AF_UNIX
	case a.TCP.Addr().Is4() || a.TCP.Addr().Is4In6():
		family = unix.AF_INET
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if family != unix.AF_UNIX {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			_ = unix.Close(fd)
			return -1, os.NewSyscallError("TCP_NODELAY", err)
		}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) // costs a packet, no more, if refused
	}
	return fd, nil
}

// Encode writes the address as a sockaddr to the start of b and gives its size.
// b has room for a sockaddr_un.
func (a Address) Encode(b []byte) (size int, err error) {
	if a.Unix != "" {
		return a.encodeUnix(b)
	}
	if !a.TCP.IsValid() || a.TCP.Port() == 0 {
		return 0, fmt.Errorf("cannot connect to %q: no address and port", a.TCP.String())
	}
	ip := a.TCP.Addr().Unmap()
	clear(b[:unix.SizeofSockaddrInet6])
	binary.BigEndian.PutUint16(b[2:], a.TCP.Port())
	if ip.Is4() {
		binary.NativeEndian.PutUint16(b, unix.AF_INET)
		v4 := ip.As4()
		copy(b[4:], v4[:])
		return unix.SizeofSockaddrInet4, nil
	}
	binary.NativeEndian.PutUint16(b, unix.AF_INET6)
	v6 := ip.As16()
	copy(b[8:], v6[:])
	binary.NativeEndian.PutUint32(b[24:], zoneIndex(ip.Zone()))
	return unix.SizeofSockaddrInet6, nil
}

// zoneIndex is the interface of a link-local address, given by name or number.
func zoneIndex(zone string) uint32 {
	if zone == "" {
		return 0
	}
	if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
		return uint32(n)
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0 // the kernel refuses the address
	}
	return uint32(i.Index)
}

// encodeUnix: a path ends in a NUL; an abstract name has a NUL in place of its @
// and no end.
func (a Address) encodeUnix(b []byte) (size int, err error) {
	const pathAt = 2
	if len(a.Unix) >= unix.SizeofSockaddrUnix-pathAt {
		return 0, fmt.Errorf("unix socket path of %d bytes: at most %d", len(a.Unix), unix.SizeofSockaddrUnix-pathAt-1)
	}
	clear(b[:unix.SizeofSockaddrUnix])
	binary.NativeEndian.PutUint16(b, unix.AF_UNIX)
	n := pathAt + copy(b[pathAt:], a.Unix)
	if a.Unix[0] == '@' {
		b[pathAt] = 0
		return n, nil
	}
	return n + 1, nil
}

// String is the address as an operator writes it.
func (a Address) String() string {
	if a.Unix != "" {
		return "unix:" + a.Unix
	}
	return a.TCP.String()
}

// AddrPortOf reads a TCP address out of what the kernel wrote; that of any other
// family is invalid. IPv4 mapped into IPv6 comes out as IPv4.
func AddrPortOf(sa *syscall.RawSockaddrAny) netip.AddrPort {
	switch sa.Addr.Family {
	case unix.AF_INET:
		in := (*syscall.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), bigEndian(&in.Port))
	case unix.AF_INET6:
		in := (*syscall.RawSockaddrInet6)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom16(in.Addr).Unmap(), bigEndian(&in.Port))
	}
	return netip.AddrPort{}
}

func bigEndian(port *uint16) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(port))[:])
}
