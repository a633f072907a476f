package reactor

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnpaced: a socket for peers on this machine does not keep BBR, any other
// socket keeps what it has.
func TestUnpaced(t *testing.T) {
	for _, c := range []struct{ at, want string }{
		{"127.0.0.1", "reno"}, {"::1", "reno"}, {"192.0.2.1", "bbr"}, {"0.0.0.0", "bbr"}, {"::", "bbr"},
	} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "bbr"); err != nil {
			t.Skip("no BBR here: ", err)
		}
		unpaced(fd, netip.MustParseAddr(c.at))
		if got, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); got != c.want || err != nil {
			t.Errorf("%s: %q, %v; want %s", c.at, got, err, c.want)
		}
	}
}

// TestUnpacedLeavesOthers: congestion control that does not pace stays.
func TestUnpacedLeavesOthers(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic"); err != nil {
		t.Skip("no CUBIC here: ", err)
	}
	unpaced(fd, netip.MustParseAddr("127.0.0.1"))
	if got, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); got != "cubic" || err != nil {
		t.Errorf("%q, %v; want cubic", got, err)
	}
}
