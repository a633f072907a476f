// soak puts edge between an application and clients that make every kind of
// request and go away in the middle of some, by the million, and judges what
// becomes of each, and of edge's memory and descriptors:
//
//	go run ./tools/soak -edge bin/edge -requests 5000000
//	go run ./tools/soak -edge bin/edge -slow 1000
//
// It succeeds if nothing was lost, mixed up or left hanging.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"edge/tools/soak/traffic"
)

func main() {
	edge := flag.String("edge", "bin/edge", "the `binary` to test")
	workers := flag.Int("workers", 2, "its --workers")
	requests := flag.Int("requests", 100000, "how many in all")
	clients := flag.Int("clients", 64, "at the same time")
	restarts := flag.Duration("restarts", 3*time.Second, "between two restarts of an address of the application")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "what is drawn from")
	slow := flag.Int("slow", 0, "instead, this many downloads that are read slowly")
	each := flag.Int64("bytes", 100<<20, "of each such download")
	lasting := flag.Duration("lasting", time.Minute, "how long they are read")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "soak: flags alone, before them nothing")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := soak(ctx, *edge, *workers, func(ctx context.Context, s *server) error {
		if *slow > 0 {
			return s.downloads(ctx, traffic.Slow{Downloads: *slow, Bytes: *each, Lasting: *lasting})
		}
		fmt.Printf("seed %d\n", *seed)
		return s.mixed(ctx, traffic.Options{Seed: *seed, Requests: *requests, Clients: *clients, Restarts: *restarts})
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}
