package reactor

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func closeLater(t *testing.T, fds ...int) {
	t.Cleanup(func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	})
}

func TestListenTCP(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0", "0.0.0.0:0"} {
		t.Run(address, func(t *testing.T) {
			fd, err := ListenTCP(address)
			if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
				t.Skip("no IPv6 here")
			}
			if err != nil {
				t.Fatal(err)
			}
			closeLater(t, fd)
			for name, option := range map[string][2]int{
				"TCP_NODELAY":   {unix.IPPROTO_TCP, unix.TCP_NODELAY},
				"SO_REUSEPORT":  {unix.SOL_SOCKET, unix.SO_REUSEPORT},
				"SO_ACCEPTCONN": {unix.SOL_SOCKET, unix.SO_ACCEPTCONN},
			} {
				if on, err := unix.GetsockoptInt(fd, option[0], option[1]); err != nil || on == 0 {
					t.Errorf("%s is %d, %v", name, on, err)
				}
			}
			at, err := netip.ParseAddrPort(LocalAddr(fd))
			if err != nil || at.Port() == 0 {
				t.Fatalf("listens on %q", LocalAddr(fd))
			}
			host := "127.0.0.1"
			if strings.Contains(address, "::1") {
				host = "::1"
			}
			accepted := dialAndAccept(t, fd, net.JoinHostPort(host, strconv.Itoa(int(at.Port()))))
			if on, err := unix.GetsockoptInt(accepted, unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || on == 0 {
				t.Errorf("an accepted socket has TCP_NODELAY %d, %v", on, err)
			}
		})
	}
}

// dialAndAccept connects to address and accepts on fd.
func dialAndAccept(t *testing.T, fd int, address string) (accepted int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	accepted, _, err = unix.Accept(fd)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, accepted)
	return accepted
}

func TestListenGroup(t *testing.T) {
	fds, err := ListenTCPGroup("127.0.0.1:0", 3)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, fds...)
	for _, fd := range fds {
		if LocalAddr(fd) != LocalAddr(fds[0]) {
			t.Errorf("listens on %s and on %s", LocalAddr(fds[0]), LocalAddr(fd))
		}
	}
	// A second program, which also shares ports among its workers, is refused.
	again, err := ListenTCPGroup(LocalAddr(fds[0]), 3)
	if err == nil {
		closeLater(t, again...)
		t.Fatal("two groups on one port")
	}
	if !errors.Is(err, unix.EADDRINUSE) {
		t.Fatal(err)
	}
	if err := FreeTCP(LocalAddr(fds[0])); !errors.Is(err, unix.EADDRINUSE) {
		t.Fatalf("FreeTCP of an address in use: %v", err)
	}
	if more, err := ListenTCP(LocalAddr(fds[0])); err != nil {
		t.Fatalf("a worker's socket of its own: %v", err)
	} else {
		fds = append(fds, more)
		closeLater(t, more)
	}
	// All members get connections.
	at := LocalAddr(fds[0])
	got := map[int]bool{}
	for range 200 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		for i, fd := range fds {
			if accepted, _, err := unix.Accept(fd); err == nil {
				got[i] = true
				_ = unix.Close(accepted)
			}
		}
		c.Close()
	}
	if len(got) != 4 {
		t.Errorf("of four listeners only %d got connections", len(got))
	}
}

// TestListenErrors: what an operator gets wrong is one line that says what to do.
func TestListenErrors(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for address, want := range map[string]string{
		busy.Addr().String(): "in use",
		"8443":               "HOST:PORT",
		"localhost:8443":     "must be an IP address",
		"127.0.0.1:99999":    "from 0 to 65535",
		"127.0.0.1:https":    "from 0 to 65535",
		"192.0.2.1:8443":     "does not have the address",
	} {
		fd, err := ListenTCP(address)
		if err == nil {
			closeLater(t, fd)
			t.Errorf("%s: no error", address)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q does not say %q", address, err, want)
		}
	}
	if got := listenError(":443", os.NewSyscallError("bind", unix.EACCES)); !strings.Contains(got.Error(), "CAP_NET_BIND_SERVICE") {
		t.Errorf("EACCES: %v", got)
	}
}

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := ListenUnix(path, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, fd)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if LocalAddr(fd) != "unix:"+path {
		t.Errorf("listens on %q", LocalAddr(fd))
	}
	if _, err := ListenUnix(path, 0o640); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a socket in use: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(file, 0o640); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a file in the way: %v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != "precious" {
		t.Error("a file that is no socket was replaced")
	}
}

// TestListenUnixLeftOver: the socket of a process that is gone is replaced.
func TestListenUnixLeftOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := ListenUnix(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	fd, err = ListenUnix(path, 0o600)
	if err != nil {
		t.Fatalf("left-over socket: %v", err)
	}
	closeLater(t, fd)
}

func TestInherited(t *testing.T) {
	good, err := ListenTCP("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	datagram, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	connected, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	file, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, good, datagram, connected, file)
	if _, err := unix.FcntlInt(uintptr(good), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	if err := Inherited(good); err != nil {
		t.Error(err)
	}
	if flags, _ := unix.FcntlInt(uintptr(good), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
		t.Error("programs started later inherit it too")
	}
	for name, fd := range map[string]int{"datagram": datagram, "not listening": connected, "file": file, "closed": 1 << 20} {
		if err := Inherited(fd); err == nil || !strings.Contains(err.Error(), strconv.Itoa(fd)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAddressEncode(t *testing.T) {
	v4 := netip.MustParseAddrPort("192.0.2.1:8080")
	v6 := netip.MustParseAddrPort("[2001:db8::1]:443")
	for _, at := range []netip.AddrPort{v4, v6, netip.MustParseAddrPort("[::ffff:192.0.2.1]:8080")} {
		var sa syscall.RawSockaddrAny
		n, err := Address{TCP: at}.Encode((*[unix.SizeofSockaddrAny]byte)(unsafe.Pointer(&sa))[:])
		if err != nil || n < unix.SizeofSockaddrInet4 {
			t.Fatalf("%v: %d, %v", at, n, err)
		}
		want := netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		if got := AddrPortOf(&sa); got != want {
			t.Errorf("%v became %v", at, got)
		}
	}
	b := make([]byte, unix.SizeofSockaddrUnix)
	if n, err := (Address{Unix: "/run/app"}).Encode(b); err != nil || n != 2+len("/run/app")+1 || string(b[2:n]) != "/run/app\x00" {
		t.Errorf("path: %q, %v", b[:n], err)
	}
	if n, err := (Address{Unix: "@app"}).Encode(b); err != nil || n != 2+len("@app") || string(b[2:n]) != "\x00app" {
		t.Errorf("abstract: %q, %v", b[:n], err)
	}
	for _, wrong := range []Address{{}, {TCP: netip.AddrPortFrom(v4.Addr(), 0)}, {Unix: strings.Repeat("x", 108)}} {
		if _, err := wrong.Encode(b); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	if got := (Address{Unix: "/run/app"}).String() + " " + (Address{TCP: v6}).String(); got != "unix:/run/app [2001:db8::1]:443" {
		t.Error(got)
	}
}
