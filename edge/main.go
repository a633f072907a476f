// Command edge is a TLS 1.3 front door on io_uring. `edge --help` says what it
// does; package cmd holds its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"edge/edge/cmd"
	"edge/edge/reactor"
	"edge/edge/reactor/uring"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks; a second one, no longer caught, ends the process.
	context.AfterFunc(ctx, restore)
	env := cmd.Env{
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Getenv:     os.Getenv,
		NewReactor: newReactor,
	}
	os.Exit(cmd.Main(ctx, env, os.Args[1:]))
}

// newReactor is the one place that knows which reactors there are.
func newReactor(o reactor.Options) (reactor.Reactor, error) {
	r, err := uring.New(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}
