// Sockets whose peers are on this machine.

package reactor

import (
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// unpaced sees to it that what is sent by a socket on at, which has no peer yet,
// is not paced if its peers are on this machine. BBR, where it is the machine's
// congestion control, paces by timers to find the rate of the narrowest link; on
// the loopback interface there is none, and 100 KB answers that come in pieces
// and are passed on were measured at 46 µs of CPU with reno and 70 with BBR.
// Sockets accepted by a listener are like it. Failing costs nothing but that.
func unpaced(fd int, at netip.Addr) {
	if !at.IsLoopback() {
		return
	}
	name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err == nil && strings.HasPrefix(name, "bbr") {
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
	}
}
