package gateway

// This file deals out the memory of --buffer-bytes.

const (
	// recvBytes is a receive buffer: see reactor.Options.
	recvBytes = 32 << 10

	// recvShare is the share of the budget, as a divisor, that receive buffers
	// take; whatever has to wait longer moves on to the rest. 64 MB of the usual
	// 256 are 2,048 of them.
	recvShare = 4

	// recvBuffersMin lets a worker turn whatever the budget, recvBuffersMax is as
	// many as a turn can make use of.
	recvBuffersMin, recvBuffersMax = 64, 4096
)

// dealBuffers cuts budget bytes into receive buffers and a pool for everything
// else. Both together are the budget; a very small one is passed by what
// recvBuffersMin takes.
func dealBuffers(budget int64) (poolBytes, recvBuffers int) {
	recvBuffers = int(min(max(budget/recvShare/recvBytes, recvBuffersMin), recvBuffersMax))
	return int(max(budget-int64(recvBuffers)*recvBytes, budget/2)), recvBuffers
}
