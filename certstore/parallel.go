package certstore

// This file spreads the work on many files over the processors.

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel calls do for each of 0 to n-1, on as many goroutines as there are
// processors, and returns when all calls have.
func inParallel(n int, do func(i int)) {
	const batch = 64 // a counter is no bottleneck then
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 1+n/batch) {
		done.Go(func() {
			for {
				end := int(next.Add(batch))
				for i := end - batch; i < min(end, n); i++ {
					do(i)
				}
				if end >= n {
					return
				}
			}
		})
	}
	done.Wait()
}
