// app is the application of the example: what `make run` proxies /api to.
//
//	app SOCKET
//
// serves at a unix socket, where a leading @ is the abstract namespace, for as long
// as the process that started it lives.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: app SOCKET")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Getppid()); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

// run serves until the process ends. parent is whom it must not outlive.
func run(socket string, parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("asking to end with the parent: %w", err)
	}
	if os.Getppid() != parent {
		return nil // it ended before that was said
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: newApp(time.Now), ReadHeaderTimeout: 10 * time.Second}
	return s.Serve(l)
}
