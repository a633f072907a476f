package gateway

import "sync/atomic"

// stats are one worker's counters. Only the worker adds; anybody may read. Each
// worker's stand on cache lines of their own.
type stats struct {
	accepted       atomic.Int64
	refused        atomic.Int64 // over a connection limit
	acceptFailed   atomic.Int64
	handshakes     atomic.Int64
	resumed        atomic.Int64
	tlsFailed      atomic.Int64
	requests       atomic.Int64
	badRequests    atomic.Int64
	timeouts       atomic.Int64
	upstreamFailed atomic.Int64 // requests that no upstream answered
	echAccepted    atomic.Int64 // first hellos, by what became of their ECH; see echKind
	echRejected    atomic.Int64
	echGrease      atomic.Int64
	echNone        atomic.Int64
	echRequired    atomic.Int64 // alerts of clients whose ECH was rejected: they come again
	relayed        atomic.Int64 // connections passed on
	split          atomic.Int64 // of those, opened hellos that went to a hidden origin
	relayFailed    atomic.Int64 // of those, the target was not reached
	relayBytes     atomic.Int64 // both ways, of relays that are over
	cutShort       atomic.Int64
	noBuffer       atomic.Int64 // connections ended for want of a buffer
	starved        atomic.Int64 // times a connection waited for a buffer

	_ [64]byte
}
