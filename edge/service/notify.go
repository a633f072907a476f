// Package service is how edge meets what started it: systemd's notification and
// socket activation, and the handing over of listening sockets to a new binary.
//
//	notify.go    sd_notify(3): ready, reloading, stopping, watchdog
//	inherit.go   listening sockets that were open when the process started
//	upgrade.go   the start of a successor, which inherits ours
//	reap.go      what process 1 owes to others
//
// It knows nothing of what is served.
package service

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Notifier tells the service manager about the process. The nil Notifier is one
// that nobody listens to.
type Notifier struct {
	address  *net.UnixAddr
	watchdog time.Duration
	over     atomic.Bool // another process is the service now
}

// NewNotifier reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID by getenv; nil
// when there is no service manager to tell.
func NewNotifier(getenv func(string) string) *Notifier {
	path := getenv("NOTIFY_SOCKET")
	if path == "" || path[0] != '/' && path[0] != '@' {
		return nil
	}
	n := &Notifier{address: &net.UnixAddr{Name: path, Net: "unixgram"}}
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	pid := getenv("WATCHDOG_PID")
	if err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// Watchdog is how often the manager wants to hear Alive at the least; 0: never.
func (n *Notifier) Watchdog() time.Duration {
	if n == nil {
		return 0
	}
	return n.watchdog
}

// Ready says that the service serves, or does so again after Reloading.
func (n *Notifier) Ready() error { return n.send("READY=1\nMAINPID=" + strconv.Itoa(os.Getpid())) }

// Reloading says that a reload has begun; Ready ends it.
func (n *Notifier) Reloading() error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return os.NewSyscallError("clock_gettime", err)
	}
	return n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// Status is one line for the operator, which systemctl status shows.
func (n *Notifier) Status(line string) error { return n.send("STATUS=" + line) }

// Succeeded says that the process pid is the service from now on. What this one
// does until its end is no concern of the manager's: nothing more is sent.
func (n *Notifier) Succeeded(pid int) error {
	err := n.send("MAINPID=" + strconv.Itoa(pid))
	if n != nil {
		n.over.Store(true)
	}
	return err
}

// Stopping says that the service is on its way out.
func (n *Notifier) Stopping() error { return n.send("STOPPING=1") }

// Alive is the watchdog's sign of life.
func (n *Notifier) Alive() error { return n.send("WATCHDOG=1") }

// sendTime is how long a manager that does not listen holds us up.
const sendTime = time.Second

// send writes one message.
func (n *Notifier) send(message string) error {
	if n == nil || n.over.Load() {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, n.address)
	if err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	if _, err := conn.Write([]byte(message)); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}
