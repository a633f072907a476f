package uring

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edge/edge/reactor"
)

// newReactor makes a reactor, or skips the test where io_uring is refused.
func newReactor(t *testing.T, o reactor.Options) *Reactor {
	t.Helper()
	r, err := New(o)
	var refused *RefusedError
	if errors.As(err, &refused) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// childEnv makes a re-executed test binary a child with limits of its own.
const childEnv = "EDGE_TEST_CHILD"

// child is a process that runs a part of TestMain: what, with two numbers.
func child(what string, a, b int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", childEnv, what, a, b))
	return cmd
}

func TestMain(m *testing.M) {
	env := os.Getenv(childEnv)
	if env == "" {
		os.Exit(m.Run())
	}
	var what string
	var a, b uint32
	if _, err := fmt.Sscan(env, &what, &a, &b); err != nil {
		panic(err)
	}
	switch what {
	case "deny":
		denied(a, b)
	case "serve":
		serve(uint64(a))
	case "memlock":
		memlock(uint64(a))
	}
}

// serve is the child of TestOutOfDescriptors: it echoes with so many descriptors,
// says where, says when accepting failed, and at the end of its input how often.
func serve(nofile uint64) {
	time.AfterFunc(time.Minute, func() { os.Exit(3) })
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: nofile, Max: nofile}); err != nil {
		fmt.Println("SKIP", err)
		return
	}
	r, err := New(reactor.Options{})
	if err != nil {
		fmt.Println("SKIP", err)
		return
	}
	fd, err := reactor.ListenTCP("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(reactor.LocalAddr(fd))
	e := &echoes{r: r, sending: map[reactor.Sock]bool{}, owed: map[reactor.Sock][]byte{}}
	if e.l, err = r.Listen(fd); err != nil {
		panic(err)
	}
	r.Receive(e.l)
	said := 0
	e.turnEnd = func() {
		for ; said < len(e.failed); said++ {
			fmt.Println("failed", e.failed[said])
		}
	}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		r.Post(r.Stop)
	}()
	start := r.Now()
	if err := r.Run(e); err != nil {
		panic(err)
	}
	fmt.Println(len(e.failed), r.Now().Sub(start).Milliseconds())
}

// TestOutOfDescriptors: with many more connections than there are descriptors
// accepting fails, which is told, does not spin, and is made up for as soon as
// descriptors are free: every connection is served.
func TestOutOfDescriptors(t *testing.T) {
	const connections, nofile = 200, 64
	cmd := child("serve", nofile, 0)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer stdin.Close()
	out := bufio.NewScanner(stdout)
	out.Scan()
	at := out.Text()
	if strings.HasPrefix(at, "SKIP") {
		t.Skip(at)
	}
	served := make(chan error, connections)
	release := make(chan struct{})
	for range connections {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- ask(c, release) }()
	}
	out.Scan()
	close(release)
	if !strings.Contains(out.Text(), "failed too many open files") {
		t.Fatalf("the server says %q", out.Text())
	}
	for range connections {
		if err := <-served; err != nil {
			t.Fatal(err)
		}
	}
	stdin.Close()
	failed, ms := 0, 0
	for out.Scan() {
		_, _ = fmt.Sscan(out.Text(), &failed, &ms)
	}
	if most := 1 + ms/int(reactor.AcceptRest.Milliseconds()); failed == 0 || failed > most {
		t.Errorf("accept failed %d times in %d ms, want 1 to %d", failed, ms, most)
	}
}

// ask sends a byte, wants it back, and hangs up once it may.
func ask(c net.Conn, release chan struct{}) error {
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte{7}); err != nil {
		return err
	}
	var b [1]byte
	_, err := c.Read(b[:])
	<-release
	return err
}

// memlock is the child of TestLockedMemory: a reactor under a limit of locked
// memory, used.
func memlock(limit uint64) {
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		fmt.Println("SKIP", err)
		return
	}
	r, err := New(reactor.Options{Log: func(line string) { fmt.Println(line) }})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := &echoes{r: r, turnEnd: r.Stop}
	r.Post(func() {})
	if err := r.Run(e); err != nil {
		fmt.Println(err)
	}
	fmt.Println("works")
}

// TestLockedMemory: a small limit of locked memory is no obstacle, or is named.
func TestLockedMemory(t *testing.T) {
	newReactor(t, reactor.Options{})
	for _, limit := range []int{0, 16 << 10, 64 << 10} {
		out, err := child("memlock", limit, 0).CombinedOutput()
		got := string(out)
		if strings.HasPrefix(got, "SKIP") {
			t.Skip(got)
		}
		if err != nil || !strings.Contains(got, "works") && !strings.Contains(got, fmt.Sprint(limit, " bytes")) {
			t.Errorf("limit %d: %v: %s", limit, err, got)
		}
	}
}
