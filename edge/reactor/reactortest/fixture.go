// Package reactortest is the reactor contract as tests: what every reactor must
// do, run over each of them. A reactor's own tests call Run with a Fixture.
//
// Everything happens on the test's goroutine, which is locked to its thread: it
// turns the reactor until a condition holds, and drives the other ends of the
// connections, which never block, in between.
package reactortest

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"edge/edge/reactor"
)

// Fixture is a reactor under test with the world around it.
type Fixture interface {
	// Reactor is the reactor.
	Reactor() reactor.Reactor

	// Listen opens a listening socket (of the unix kind if asked for) for
	// Reactor.Listen, and gives a way to connect to it.
	Listen(unix bool) (fd int, dial func() Peer)

	// Backend opens something to Connect to. Accept gives the next connection
	// that has come, or nil.
	Backend(unix bool) (at reactor.Address, accept func() Peer)

	// Refusing is an address where nobody listens.
	Refusing() reactor.Address

	// File makes a file for ReadFile.
	File(content []byte) (fd int)

	// Until turns the reactor with h until cond holds at the end of a turn; false
	// if it never does.
	Until(h reactor.Handler, cond func() bool) bool

	// Real: there are descriptors, a true clock and a kernel.
	Real() bool
}

// Peer is the other end of a connection. None of its methods block.
type Peer interface {
	// Write sends what fits and says how much that was.
	Write(b []byte) (n int, err error)
	// Read gives what has come; io.EOF after the last, or an error.
	Read() (b []byte, err error)
	// Stall stops (or resumes) taking in what is sent.
	Stall(bool)
	// CloseWrite sends FIN.
	CloseWrite()
	// Close closes both ways; Reset does so with a reset.
	Close()
	Reset()
}

// Make makes a fixture for a test, or skips it.
type Make func(t *testing.T, o reactor.Options) Fixture

// Run runs the contract over the reactor that make gives: all of it, or the cases
// named.
func Run(t *testing.T, make Make, only ...string) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Make)
	}{
		{"Echo", testEcho},
		{"StartsPaused", testStartsPaused},
		{"PauseHoldsBytes", testPauseHoldsBytes},
		{"PauseAndResume", testPauseAndResume},
		{"EndWhilePaused", testEndWhilePaused},
		{"KeptBuffers", testKeptBuffers},
		{"AllBuffersKept", testAllBuffersKept},
		{"FewBuffers", testFewBuffers},
		{"SlowReader", testSlowReader},
		{"SendVec", testSendVec},
		{"SendVecCut", testSendVecCut},
		{"EmptySend", testEmptySend},
		{"TrySend", testTrySend},
		{"Flush", testFlush},
		{"SecondSendPanics", testSecondSendPanics},
		{"HalfClosePeerFirst", testHalfClosePeerFirst},
		{"HalfCloseWeFirst", testHalfCloseWeFirst},
		{"ShutdownAfterSend", testShutdownAfterSend},
		{"PeerResets", testPeerResets},
		{"CloseWithSendInFlight", testCloseWithSendInFlight},
		{"CloseWhileReceiving", testCloseWhileReceiving},
		{"CloseFromCallbacks", testCloseFromCallbacks},
		{"Abort", testAbort},
		{"StaleSock", testStaleSock},
		{"SlotsAndDescriptorsReused", testReuse},
		{"Deadline", testDeadline},
		{"DeadlineMoves", testDeadlineMoves},
		{"After", testAfter},
		{"Post", testPost},
		{"Connect", testConnect},
		{"ConnectUnix", testConnectUnix},
		{"ConnectRefused", testConnectRefused},
		{"ConnectThenClose", testConnectThenClose},
		{"ReadFile", testReadFile},
		{"ReadFileError", testReadFileError},
		{"CloseWhileReadingFile", testCloseWhileReadingFile},
		{"ListenerPauses", testListenerPauses},
		{"ListenerCloses", testListenerCloses},
		{"ListenUnix", testListenUnix},
		{"SocketsMax", testSocketsMax},
		{"RunAgain", testRunAgain},
		{"Clock", testClock},
		{"Chaos", testChaos},
	} {
		if len(only) > 0 && !slices.Contains(only, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			c.test(t, make)
		})
	}
}

// watchdog is when a condition that does not come is given up.
const watchdog = 60 * time.Second
