// Bogoshim lets the test runner of BoringSSL (ssl/test/runner) drive the TLS
// server of this repository. The runner starts it once for each test, with the
// test's flags; it dials the runner, plays the server, echoes what it receives
// with every bit flipped, and says by exit code and standard error how it went.
//
//	cd boringssl/ssl/test/runner
//	go test -c -o runner .
//	./runner -shim-path …/bogoshim -shim-config …/tools/bogoshim/runner.json \
//	    -allow-unimplemented -test 'TLS13-1RTT-Server-*'
//
// runner.json holds the groups, the tests that are declined, each with its reason,
// and what this server says where the runner waits for one of BoringSSL's errors. The runner is no dependency of this repository and no part of its
// tests.
package main

import (
	"fmt"
	"os"
)

// Exit codes of the runner's protocol.
const (
	exitFailed        = 1
	exitUnimplemented = 89 // counted as skipped
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-is-handshaker-supported" {
		fmt.Println("No")
		return
	}
	initial, resumed, err := parseFlags(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUnimplemented)
	}
	if err := run(initial, resumed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}

// run makes all connections of one test. Ticket keys outlive a connection,
// everything else is made anew.
func run(initial, resumed *options) error {
	s, err := newShim()
	if err != nil {
		return err
	}
	for i := 0; i <= initial.resumeCount; i++ {
		o := initial
		if i > 0 {
			o = resumed
		}
		if err := s.connect(o, i > 0); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	return nil
}
