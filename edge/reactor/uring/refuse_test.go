package uring

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"
	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// machine is a host of files.
func machine(files map[string]string, memlock uint64) host {
	return host{
		readFile: func(path string) ([]byte, error) {
			if s, ok := files[path]; ok {
				return []byte(s), nil
			}
			return nil, fs.ErrNotExist
		},
		memlock: func() (uint64, bool) { return memlock, memlock != 0 },
	}
}

func TestRefusalNamesCauseAndCure(t *testing.T) {
	const (
		disabled = "/proc/sys/kernel/io_uring_disabled"
		group    = "/proc/sys/kernel/io_uring_group"
		release  = "/proc/sys/kernel/osrelease"
		status   = "/proc/self/status"
		filter   = "Name:\tedge\nSeccomp:\t2\nSeccomp_filters:\t1\n"
	)
	for _, c := range []struct {
		name    string
		errno   syscall.Errno
		files   map[string]string
		memlock uint64
		want    []string
	}{
		{"sysctl 2", unix.EPERM, map[string]string{disabled: "2\n"}, 0,
			[]string{"io_uring_disabled is 2", "sysctl -w kernel.io_uring_disabled=0"}},
		{"sysctl 1", unix.EPERM, map[string]string{disabled: "1\n", group: "998\n"}, 0,
			[]string{"io_uring_disabled is 1", "group 998", "io_uring_group=GID"}},
		{"sysctl 1 and filter", unix.EPERM, map[string]string{disabled: "1\n", group: "-1\n", status: filter}, 0,
			[]string{"io_uring_disabled is 1", "seccomp="}},
		{"docker", unix.EPERM, map[string]string{disabled: "0\n", status: filter}, 0,
			[]string{"seccomp filter", "docker run --security-opt seccomp=", "SystemCallFilter="}},
		{"security module", unix.EACCES, map[string]string{disabled: "0\n", status: "Seccomp:\t0\n"}, 0,
			[]string{"SELinux", "ausearch"}},
		{"filter that says ENOSYS", unix.ENOSYS, map[string]string{release: "6.1.0-18-amd64\n", status: filter}, 0,
			[]string{"seccomp filter", "hides it"}},
		{"old kernel", unix.ENOSYS, map[string]string{release: "4.19.0\n"}, 0,
			[]string{"4.19.0", "Linux 6.0", "gVisor"}},
		{"flags unknown", unix.EINVAL, map[string]string{release: "5.10.0\n"}, 0,
			[]string{"5.10.0", "too old", "Linux 6.0"}},
		{"memlock", unix.ENOMEM, nil, 65536,
			[]string{"65536 bytes", "ulimit -l", "LimitMEMLOCK", "--ulimit memlock"}},
		{"memory", unix.ENOMEM, nil, 0, []string{"memory is short"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := machine(c.files, c.memlock).explain("io_uring_setup", c.errno)
			var refused *RefusedError
			if !errors.As(err, &refused) || !errors.Is(err, c.errno) {
				t.Fatalf("got %v, want a RefusedError of %v", err, c.errno)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line", err)
			}
		})
	}
}

// TestOutOfDescriptorsIsNotARefusal: EMFILE is no reason to run without io_uring.
func TestOutOfDescriptorsIsNotARefusal(t *testing.T) {
	var refused *RefusedError
	if err := thisHost.explain("io_uring_setup", unix.EMFILE); errors.As(err, &refused) || !errors.Is(err, unix.EMFILE) {
		t.Fatalf("got %v", err)
	}
}

// TestOlderKernel: one without multishot receive is refused by name.
func TestOlderKernel(t *testing.T) {
	p := giouring.Probe{OpsLen: giouring.OpLast}
	for i := range p.Ops[:giouring.OpLast] {
		p.Ops[i] = giouring.ProbeOp{Op: uint8(i), Flags: 1}
	}
	if err := missing(&p); err != nil {
		t.Fatal(err)
	}
	p.Ops[giouring.OpSendZC].Flags = 0
	var refused *RefusedError
	if err := missing(&p); !errors.As(err, &refused) || !strings.Contains(err.Error(), "RECV multishot") ||
		!strings.Contains(err.Error(), "Linux 6.0") {
		t.Fatalf("without multishot receive: %v", err)
	}
	p.OpsLen = giouring.OpRecv
	if err := missing(&p); !errors.As(err, &refused) || !strings.Contains(err.Error(), "RECV") {
		t.Fatalf("a kernel from before RECV: %v", err)
	}
}

// TestSizes: the largest rings, and as many as a large machine has workers.
func TestSizes(t *testing.T) {
	r := newReactor(t, reactor.Options{Entries: 32768, Completions: 65536, RecvLent: 2048, RecvBuffers: 65536, SocketsMax: 1 << 20})
	if err := r.Shut(); err != nil {
		t.Error(err)
	}
	for range 32 {
		r := newReactor(t, reactor.Options{})
		defer r.Shut()
	}
	for _, wrong := range []reactor.Options{
		{Entries: 100}, {Entries: 65536}, {Entries: 512, Completions: 256}, {RecvLent: 4096, RecvBuffers: 8192},
		{RecvBuffers: 1 << 17}, {RecvBytes: 100}, {SocketsMax: 1 << 25}, {BufferBytes: 1000}, {RecvBuffers: 8, RecvLent: 16},
	} {
		if r, err := New(wrong); err == nil {
			_ = r.Shut()
			t.Errorf("no error for %+v", wrong)
		}
	}
}

func TestSmallerRings(t *testing.T) {
	var lines []string
	o, err := reactor.Options{Log: func(line string) { lines = append(lines, line) }}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	var tried []string
	upTo := func(fits int) func(int, int) (*ring, error) {
		tried, lines = nil, nil
		return func(entries, completions int) (*ring, error) {
			tried = append(tried, fmt.Sprint(entries, "/", completions))
			if entries > fits {
				return nil, unix.ENOMEM
			}
			return &ring{}, nil
		}
	}
	if _, err := setupSmaller(o, upTo(64)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tried, " "); got != "256/4096 128/2048 64/1024" {
		t.Errorf("tried %s", got)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "64 and 1024") {
		t.Errorf("logged %q", lines)
	}
	var refused *RefusedError
	if _, err := setupSmaller(o, upTo(0)); !errors.As(err, &refused) || len(tried) != 4 {
		t.Errorf("got %v after %s", err, tried)
	}
}

// denied is the child of TestSeccompRefusal.
func denied(number, errno uint32) {
	if err := denySyscall(number, errno); err != nil {
		fmt.Println("SKIP", err)
		return
	}
	r, err := New(reactor.Options{})
	var refused *RefusedError
	fmt.Println(errors.As(err, &refused), r == nil, err)
}

// denySyscall installs a seccomp filter that answers one system call with errno,
// on all threads.
func denySyscall(number, errno uint32) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | errno},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if e != 0 {
		return fmt.Errorf("seccomp: %w", e)
	}
	return nil
}

// TestSeccompRefusal denies each of the three system calls for real.
func TestSeccompRefusal(t *testing.T) {
	newReactor(t, reactor.Options{}) // skips where io_uring is refused anyway
	for name, number := range map[string]int{
		"io_uring_setup":    unix.SYS_IO_URING_SETUP,
		"io_uring_enter":    unix.SYS_IO_URING_ENTER,
		"io_uring_register": unix.SYS_IO_URING_REGISTER,
	} {
		for _, errno := range []syscall.Errno{unix.EPERM, unix.ENOSYS} {
			t.Run(fmt.Sprintf("%s %d", name, errno), func(t *testing.T) {
				out, err := child("deny", number, int(errno)).CombinedOutput()
				got := string(out)
				if strings.HasPrefix(got, "SKIP") {
					t.Skip(got)
				}
				if err != nil || !strings.HasPrefix(got, "true true ") {
					t.Fatalf("%v: %s", err, got)
				}
				for _, want := range []string{name, "seccomp filter", "docker run --security-opt"} {
					if !strings.Contains(got, want) {
						t.Errorf("%q does not say %q", got, want)
					}
				}
			})
		}
	}
}
