// By what io_uring is refused, and how to allow it.

package uring

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// RefusedError says that io_uring cannot be had here: which system call was
// refused, by what, and what would allow it.
type RefusedError struct {
	Call  string        // the system call, or what it was asked for
	Errno syscall.Errno // its answer; 0 if the kernel lacks something
	By    string        // who refused
	Allow string        // what an operator can do
}

func (e *RefusedError) Error() string {
	answer := ""
	if e.Errno != 0 {
		answer = fmt.Sprintf(" answers %q", e.Errno.Error())
	}
	return fmt.Sprintf("io_uring is refused: %s%s: %s. To allow it: %s", e.Call, answer, e.By, e.Allow)
}

func (e *RefusedError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// host is what a diagnosis looks at, so that a test can be another machine.
type host struct {
	readFile func(path string) ([]byte, error)
	memlock  func() (bytes uint64, limited bool)
}

var thisHost = host{readFile: os.ReadFile, memlock: memlockLimit}

func memlockLimit() (uint64, bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return l.Cur, true
}

const (
	allowSeccomp = "a container: docker run --security-opt seccomp=PROFILE with a profile that lists io_uring_setup, " +
		"io_uring_enter and io_uring_register (seccomp=unconfined allows everything); " +
		"a systemd unit: SystemCallFilter=io_uring_setup io_uring_enter io_uring_register"
	allowKernel = "run on Linux 6.0 or later"
)

// explain turns the errno of a refused call into a RefusedError, or leaves it
// as it is when io_uring itself is not the matter.
func (h host) explain(call string, err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s: %w", call, err)
	}
	refused := &RefusedError{Call: call, Errno: errno}
	switch errno {
	case syscall.EPERM, syscall.EACCES:
		refused.By, refused.Allow = h.whoForbids()
	case syscall.ENOSYS, syscall.EOPNOTSUPP:
		refused.By, refused.Allow = h.whoLacks()
	case syscall.EINVAL:
		refused.By, refused.Allow = "the kernel ("+h.release()+") is too old", allowKernel
	case syscall.ENOMEM:
		refused.By, refused.Allow = h.whoLimits()
	default:
		return fmt.Errorf("%s: %w", call, errno)
	}
	return refused
}

// whoForbids tells the sysctl, a seccomp filter and a security module apart.
func (h host) whoForbids() (by, allow string) {
	switch disabled := h.line("/proc/sys/kernel/io_uring_disabled"); {
	case disabled == "2":
		by, allow = "sysctl kernel.io_uring_disabled is 2: nobody may use it", "sysctl -w kernel.io_uring_disabled=0"
	case disabled == "1":
		by = "sysctl kernel.io_uring_disabled is 1: only CAP_SYS_ADMIN and group " +
			h.line("/proc/sys/kernel/io_uring_group") + " (kernel.io_uring_group) may use it"
		allow = "sysctl -w kernel.io_uring_disabled=0, or sysctl -w kernel.io_uring_group=GID with a group of this user"
	case h.filtered():
		return "a seccomp filter of the container runtime or the service manager forbids it", allowSeccomp
	default:
		return "neither sysctl nor seccomp: most likely a security module (SELinux, AppArmor)",
			"see the audit log (ausearch -m avc, dmesg) for the rule, and allow io_uring in it"
	}
	if h.filtered() {
		allow += "; a seccomp filter is at work too: " + allowSeccomp
	}
	return by, allow
}

// whoLacks tells a kernel without io_uring from a filter that plays one.
func (h host) whoLacks() (by, allow string) {
	if h.filtered() && h.newEnough() {
		return "a seccomp filter of the container runtime or the service manager hides it", allowSeccomp
	}
	return "the kernel (" + h.release() + ") does not have it, or it is a sandbox like gVisor that does not offer it",
		allowKernel + "; in gVisor: runsc --iouring"
}

// whoLimits says what memory was short.
func (h host) whoLimits() (by, allow string) {
	if limit, limited := h.memlock(); limited {
		return fmt.Sprintf("memory is short, or the limit of locked memory (%d bytes) is spent", limit),
			"ulimit -l unlimited; a systemd unit: LimitMEMLOCK=infinity; docker run --ulimit memlock=-1"
	}
	return "memory is short", "give this process or its container more memory, or start fewer workers"
}

// filtered says that a seccomp filter is at work on this process.
func (h host) filtered() bool {
	for line := range strings.Lines(h.line("/proc/self/status")) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode) == "2"
		}
	}
	return false
}

// newEnough says that the kernel has had io_uring all along. It serves the
// wording of an error alone: what the ring can do is asked of the ring.
func (h host) newEnough() bool {
	major, _, _ := strings.Cut(h.release(), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 6
}

func (h host) release() string {
	if r := h.line("/proc/sys/kernel/osrelease"); r != "" {
		return r
	}
	return "of unknown version"
}

// line is the content of a small file without the last newline, "" if it cannot
// be read.
func (h host) line(path string) string {
	b, err := h.readFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
