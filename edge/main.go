// Command edge is a TLS 1.3 front door on io_uring. `edge --help` says what it
// does; package cmd holds its commands.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"edge/edge/cmd"
	"edge/edge/config"
	"edge/edge/reactor"
	"edge/edge/reactor/epoll"
	"edge/edge/reactor/uring"
)

func main() {
	ctx := untilSignal()
	env := cmd.Env{
		In:         os.Stdin,
		Out:        os.Stdout,
		Err:        os.Stderr,
		Getenv:     os.Getenv,
		NewReactor: newReactor,
	}
	os.Exit(cmd.Main(ctx, env, os.Args[1:]))
}

// untilSignal ends with the first SIGINT or SIGTERM, which asks. A second one ends
// the process: it is caught too, for process 1 is not harmed by a signal that it
// does not catch.
func untilSignal() context.Context {
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		end()
		second, _ := (<-signals).(syscall.Signal)
		os.Exit(128 + int(second)) // as a shell reports an end by that signal
	}()
	return ctx
}

// newReactor is the one place that knows which reactors there are: io_uring, and
// where that is refused epoll, which is slower and has no conditions.
func newReactor(kind string, o reactor.Options) (reactor.Reactor, error) {
	if kind == config.ReactorEpoll {
		return newEpoll(o)
	}
	r, err := uring.New(o)
	if err == nil {
		return r, nil
	}
	var refused *uring.RefusedError
	if kind == config.ReactorUring || !errors.As(err, &refused) {
		return nil, err
	}
	saidRefused.Do(func() {
		o.Log(err.Error() + "; serving on epoll meanwhile, which takes more of the processor")
	})
	return newEpoll(o)
}

// saidRefused: what holds for one worker holds for all.
var saidRefused sync.Once

func newEpoll(o reactor.Options) (reactor.Reactor, error) {
	r, err := epoll.New(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}
