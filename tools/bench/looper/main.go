// Looper measures what one client that runs a looping program at full rate does to
// the others: the p99 of their requests, quiet and with it beside, in turn.
//
//	go run ./tools/bench/looper -edge bin/edge
//
// The server has one worker on one processor, all clients share another. A client
// asks, waits for the answer, pauses for a random time and asks again, so that the
// figures are those of a server with room to spare; -pause 0 has it saturated. The
// looping program is stopped by the server's limit each time, and asked for anew.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

// options are the flags.
type options struct {
	edge, script string
	clients      int
	loopers      int
	pause, each  time.Duration
	rounds       int
}

func main() {
	var o options
	flag.StringVar(&o.edge, "edge", "bin/edge", "the binary")
	flag.StringVar(&o.script, "script", "testvectors/bpf/scripts/loop.o", "a program that loops for /loop")
	flag.IntVar(&o.clients, "clients", 20, "connections that are measured")
	flag.IntVar(&o.loopers, "loopers", 1, "connections that ask for the loop")
	flag.DurationVar(&o.pause, "pause", 10*time.Millisecond, "mean pause between two requests of a client")
	flag.DurationVar(&o.each, "each", 3*time.Second, "length of a measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "measurements of each kind")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "looper:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	if err := pinSelf(1); err != nil {
		return err
	}
	s, err := startServer(o, 0)
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := measure(s.address, o, 0, time.Second); err != nil { // warm
		return err
	}
	var ratios []float64
	fmt.Println("round     quiet p50  p99      with p50   p99      p99 ratio   loops a second")
	for round := range o.rounds {
		quiet, err := measure(s.address, o, 0, o.each)
		if err != nil {
			return err
		}
		loud, err := measure(s.address, o, o.loopers, o.each)
		if err != nil {
			return err
		}
		ratio := float64(loud.at(99)) / float64(quiet.at(99))
		ratios = append(ratios, ratio)
		fmt.Printf("%5d  %10v %10v %10v %10v  %8.2f  %8.1f\n", round+1, quiet.at(50), quiet.at(99), loud.at(50), loud.at(99),
			ratio, float64(loud.loops)/o.each.Seconds())
	}
	slices.Sort(ratios)
	fmt.Printf("median ratio of p99: %.2f\n", ratios[len(ratios)/2])
	return nil
}

// result is one measurement.
type result struct {
	times []time.Duration // sorted
	loops int             // that the server stopped
}

// at gives a percentile, in whole microseconds.
func (r *result) at(percent int) time.Duration {
	if len(r.times) == 0 {
		return 0
	}
	return r.times[min(len(r.times)*percent/100, len(r.times)-1)].Round(time.Microsecond)
}
