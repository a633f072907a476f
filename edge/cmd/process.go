package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"edge/edge/config"
)

// heapGrowthPercent is how much the heap may grow before it is collected. The
// data path allocates nothing; what allocates is handshakes, from a heap of a
// few MB, and a collection costs more than the memory it would save.
const heapGrowthPercent = 400

// prepareRuntime sets the Go runtime up for workers that hold their threads.
// What the operator set by GOMAXPROCS and GOGC stays.
func prepareRuntime(workers int, getenv func(string) string) {
	// A worker waits in the kernel, not in the scheduler. With no processor to
	// spare, the runtime's monitor takes a waiting worker's away and gives it
	// back at every turn, and every turn pays for it.
	if getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) <= workers {
		runtime.GOMAXPROCS(workers + 1)
	}
	if getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowthPercent)
	}
}

// filesBase and filesPerWorker are what a process has open besides connections:
// the site, what it reads while it loads, rings and listeners.
const filesBase, filesPerWorker = 24, 8

// connectionsMin is where serving at all stops making sense.
const connectionsMin = 16

// fitOpenFiles lowers the connections of a worker to what the limit of open files
// allows, and says so in note: refusing a connection is better than failing to
// accept it. The Go runtime has raised the soft limit to the hard one already;
// beyond that only the operator can.
func fitOpenFiles(conf *config.Config) (note string, err error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return "", fmt.Errorf("asking for the limit of open files: %w", err)
	}
	return fitConnections(conf, limit.Cur)
}

func fitConnections(conf *config.Config, files uint64) (note string, err error) {
	workers := uint64(conf.Workers)
	if files/workers >= uint64(conf.Limits.Connections)+filesPerWorker+filesBase {
		return "", nil
	}
	other := filesBase + filesPerWorker*workers
	if files < other+connectionsMin*workers {
		return "", fmt.Errorf("only %d files may be open, too few for %d workers: raise the limit (ulimit -n, LimitNOFILE)", files, workers)
	}
	conf.Limits.Connections = min(conf.Limits.Connections, int((files-other)/workers))
	return fmt.Sprintf("%d files may be open: a worker takes %d connections at most; raise the limit for more (ulimit -n, LimitNOFILE)",
		files, conf.Limits.Connections), nil
}
