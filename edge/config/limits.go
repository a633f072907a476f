package config

import (
	"fmt"
	"time"
)

// Limits are the maxima of one process. Each is a flag of the same name, and
// what passes one is refused with an error that names it. The defaults are
// chosen so that an honest client never meets one, and so that the sum stays a
// budget that a small machine has.
type Limits struct {
	HelloBytes int // a ClientHello, over all its records

	MethodBytes      int   // a request's method
	RequestLineBytes int   // method, target and version
	HeadBytes        int   // request line and fields together
	Fields           int   // field lines in a head
	Pipelined        int   // requests of one connection waiting for their answer
	BodyBytes        int64 // a request body; 0: no limit
	ChunkLineBytes   int   // the line before a chunk of a body, extensions included
	TrailerBytes     int   // the fields behind a chunked body

	MinRate int64 // bytes a second of a body or an answer, over its timeout; 0: no such rule

	Connections           int // open client connections of one worker
	ConnectionsPerAddress int // of those, from one client address (IPv6: one /64); 0: no limit of its own

	ProxyConnections int // connections of the process to one URL of --proxy; 0: no limit
	ProxyWaiting     int // requests of one worker that wait for one of those

	BufferBytes int64 // memory that the kernel reads and writes, for each worker
	CacheBytes  int64 // file contents kept in memory, for the process
	Compressed  int   // answers of one worker that are being compressed
}

// Timeouts are the longest an honest peer may take. A connection that passes
// one is closed.
type Timeouts struct {
	Handshake time.Duration // from accept to the client's Finished
	Head      time.Duration // from a request's first byte to the end of its head
	Body      time.Duration // of a request body, without MinRate being met
	Idle      time.Duration // between requests
	Write     time.Duration // of an answer, without MinRate being met
	Request   time.Duration // one request from its first byte to its answer's last; 0: no limit
	Connect   time.Duration // to a relay's target or an application
	Answer    time.Duration // for an application to begin its answer, and between two pieces of it
	RelayIdle time.Duration // a relayed connection on which nothing moves
	ProxyWait time.Duration // a request for one of Limits.ProxyConnections
	Drain     time.Duration // for requests in flight after SIGTERM
	Script    time.Duration // processor time of the programs of one request
}

// limitRow is one maximum: its flag, the range it may take, and why it has the
// default it has.
type limitRow struct {
	flag     string
	at       func(*Limits) any // *int or *int64
	size     bool              // a number of bytes, written as 64k
	least    int64
	most     int64
	standard int64
	usage    string
}

const (
	kb = 1 << 10
	mb = 1 << 20
	gb = 1 << 30
)

// limitRows is every maximum. The reasons are for whoever wants to change one.
var limitRows = []limitRow{
	// Post-quantum key shares, ECH and a long ticket come to some 4 KB today;
	// 64 KB is room for what is being drafted, and the largest a handshake is
	// asked to take.
	{"max-hello-bytes", func(l *Limits) any { return &l.HelloBytes }, true, 4 * kb, 64 * kb, 64 * kb,
		"largest ClientHello, over all its records"},

	// What browsers and servers have agreed on without a standard: URLs beyond
	// 8 KB already fail elsewhere (RFC 9112, 3 asks for 8,000 octets).
	{"max-request-line-bytes", func(l *Limits) any { return &l.RequestLineBytes }, true, 256, 64 * kb, 8 * kb,
		"longest request line"},

	// Four times the request line: room for cookies and tokens at their usual
	// ceilings. A head is held in one buffer until it is whole.
	{"max-head-bytes", func(l *Limits) any { return &l.HeadBytes }, true, 512, 64 * kb, 32 * kb,
		"largest head of a request, or of an answer if more than 32k, line and fields together"},

	// All registered methods are shorter than 18 bytes.
	{"max-method-bytes", func(l *Limits) any { return &l.MethodBytes }, true, 8, 256, 32,
		"longest method"},

	// Browsers send some 20, chains of proxies up to 50. Each field is work for
	// every program and every upstream, so bytes alone do not bound it.
	{"max-fields", func(l *Limits) any { return &l.Fields }, false, 8, 1024, 100,
		"most field lines in the head of a request, or of an answer if more than 100"},

	// Nobody pipelines by intent today; 64 keeps the benefit for those who do
	// and bounds what one read can start.
	{"max-pipelined", func(l *Limits) any { return &l.Pipelined }, false, 1, 1024, 64,
		"most requests of one connection that wait for their answer"},

	// What forms and most interfaces need. Applications that take uploads want
	// more; the site reads a body only to reach the next request.
	{"max-body-bytes", func(l *Limits) any { return &l.BodyBytes }, true, 0, 1 << 40, mb,
		"largest request body; 0 for any"},

	// Nobody uses chunk extensions, but for attacks; a size takes 18 bytes.
	{"max-chunk-line-bytes", func(l *Limits) any { return &l.ChunkLineBytes }, true, 18, 64 * kb, 256,
		"longest line before a chunk of a request body"},

	// A checksum, a signature: a few fields. They are held until they are whole.
	{"max-trailer-bytes", func(l *Limits) any { return &l.TrailerBytes }, true, 64, 64 * kb, 8 * kb,
		"largest trailer section of a request body"},

	// A phone on the worst network there is gives 1,000. What is slower is meant
	// to hold a slot: without this, a byte now and then would do.
	{"min-rate", func(l *Limits) any { return &l.MinRate }, true, 0, mb, 64,
		"least bytes a second of a body or an answer, on average over its timeout; 0 for any"},

	// 16,384 at the few KB of an idle connection is some 64 MB: what a small
	// machine can give, and enough that the processor is spent first.
	{"max-connections", func(l *Limits) any { return &l.Connections }, false, 16, mb, 16384,
		"most open connections of one worker"},

	// Half of the above: an address that misbehaves, or a whole company behind
	// one, never takes the last slot from everybody else.
	{"max-connections-per-address", func(l *Limits) any { return &l.ConnectionsPerAddress }, false, 0, mb, 8192,
		"of those, most from one client address (IPv6: one /64); 0 for no limit"},

	// Off: how much an application can take, only its owner knows. Who sets it gives
	// every worker a share: what one has too many cannot be had by another.
	{"proxy-max-connections", func(l *Limits) any { return &l.ProxyConnections }, false, 0, mb, 0,
		"most connections to one URL of a path, idle ones included, shared out to the workers; 0 for no limit"},

	// Each holds its head and, over TLS, its keys: some KB. More than can be
	// answered within the time to wait are of no use to anybody.
	{"proxy-max-waiting", func(l *Limits) any { return &l.ProxyWaiting }, false, 0, mb, 1024,
		"most requests of one worker that wait for one of those, for each path"},

	// Reserved, not used: a page costs memory from its first use on. A quarter is
	// for receiving. Sending at full speed takes 128 KB a connection, so the rest
	// is 1,500 of them at once; the others wait their turn.
	{"buffer-bytes", func(l *Limits) any { return &l.BufferBytes }, true, mb, 64 * gb, 256 * mb,
		"most memory for data in flight, for each worker"},

	// Most sites' hot pages, style and script. The rest comes from the tar by
	// offset, which the kernel caches anyway: this saves the copy, no more.
	{"cache-bytes", func(l *Limits) any { return &l.CacheBytes }, true, 0, 64 * gb, 32 * mb,
		"most memory for small files kept ready; 0 for none"},

	// Each takes about 1 MB while it lasts, and event streams last. What comes on
	// top is not refused: it goes out as it is.
	{"max-compressed", func(l *Limits) any { return &l.Compressed }, false, 1, 64 * kb, 64,
		"most answers of one worker that are compressed at once, at 1 MB each; the others go as they are"},
}

// timeoutRow is one deadline. A zero is only legal where most deployments would
// be hurt by any value at all.
type timeoutRow struct {
	flag     string
	at       func(*Timeouts) *time.Duration
	zero     bool
	standard time.Duration
	usage    string
}

var timeoutRows = []timeoutRow{
	// Two round trips and the client's cryptography: a phone on a bad link
	// needs two or three seconds.
	{"handshake-timeout", func(t *Timeouts) *time.Duration { return &t.Handshake }, false, 10 * time.Second,
		"longest TLS handshake"},
	// A head is one packet or a few. The clock starts at its first byte, so a
	// client that drips bytes gains nothing.
	{"head-timeout", func(t *Timeouts) *time.Duration { return &t.Head }, false, 10 * time.Second,
		"longest a request head may take to arrive"},
	// What arrives at --min-rate starts it again: a slow uplink is honest.
	{"body-timeout", func(t *Timeouts) *time.Duration { return &t.Body }, false, 30 * time.Second,
		"longest pause within a request body"},
	// Browsers give up theirs after one to five minutes; a handshake costs more
	// than a minute of a few KB.
	{"idle-timeout", func(t *Timeouts) *time.Duration { return &t.Idle }, false, 75 * time.Second,
		"longest pause between requests"},
	// What is taken at --min-rate starts it again: slow readers are served,
	// stopped ones let go of their buffers.
	{"write-timeout", func(t *Timeouts) *time.Duration { return &t.Write }, false, 30 * time.Second,
		"longest the peer may take next to nothing of an answer"},
	// Off: any value kills somebody's long download. The others already end
	// whatever does not move.
	{"request-timeout", func(t *Timeouts) *time.Duration { return &t.Request }, true, 0,
		"longest a request may take as a whole; 0 for no limit"},
	// Three tries of a SYN that is lost (1, 2 and 4 s), and no more: the client
	// waits with us.
	{"connect-timeout", func(t *Timeouts) *time.Duration { return &t.Connect }, false, 8 * time.Second,
		"longest a relay's target or an application may take to answer a connection"},
	// What people wait for a page at all. A queue that is longer than this grows
	// faster than it is worked off.
	{"proxy-wait-timeout", func(t *Timeouts) *time.Duration { return &t.ProxyWait }, false, 5 * time.Second,
		"longest a request may wait for one of --proxy-max-connections"},
	// As long as the other proxies wait: an application that takes longer streams,
	// or is stuck.
	{"answer-timeout", func(t *Timeouts) *time.Duration { return &t.Answer }, false, 60 * time.Second,
		"longest an application may take to begin its answer, or to go on with it"},
	// What is relayed may be anything, long polls and WebSockets included: the
	// server at its end knows better. This is for peers that vanished.
	{"relay-idle-timeout", func(t *Timeouts) *time.Duration { return &t.RelayIdle }, false, 10 * time.Minute,
		"longest pause on a relayed connection"},
	// A program that decides takes microseconds. A thousand slices of 50 µs are
	// enough for one that hashes a megabyte, and little to lose to a loop.
	{"script-time", func(t *Timeouts) *time.Duration { return &t.Script }, false, 50 * time.Millisecond,
		"most processor time the programs of one request may take, in steps of 50 µs"},
	// Below the grace period that service managers give before they kill.
	{"drain", func(t *Timeouts) *time.Duration { return &t.Drain }, false, 25 * time.Second,
		"longest that requests in flight may take after SIGTERM"},
}

// timeoutMax is a week: beyond it a value is a slip, and nanoseconds stay far
// from overflow.
const timeoutMax = 7 * 24 * time.Hour

func defaultLimits() (l Limits) {
	for _, r := range limitRows {
		r.set(&l, r.standard)
	}
	return l
}

func defaultTimeouts() (t Timeouts) {
	for _, r := range timeoutRows {
		*r.at(&t) = r.standard
	}
	return t
}

func (r *limitRow) get(l *Limits) int64 {
	switch p := r.at(l).(type) {
	case *int:
		return int64(*p)
	case *int64:
		return *p
	}
	panic("BUG: limit " + r.flag + " is neither int nor int64")
}

func (r *limitRow) set(l *Limits, n int64) {
	switch p := r.at(l).(type) {
	case *int:
		*p = int(n)
	case *int64:
		*p = n
	default:
		panic("BUG: limit " + r.flag + " is neither int nor int64")
	}
}

func (r *limitRow) text(n int64) string {
	if r.size {
		return formatSize(n)
	}
	return fmt.Sprint(n)
}

func (l *Limits) check() error {
	for _, r := range limitRows {
		if n := r.get(l); n < r.least || n > r.most {
			return fmt.Errorf("--%s %s: give a value from %s to %s", r.flag, r.text(n), r.text(r.least), r.text(r.most))
		}
	}
	if l.RequestLineBytes > l.HeadBytes {
		return fmt.Errorf("--max-request-line-bytes %s does not fit into --max-head-bytes %s: raise the second",
			formatSize(int64(l.RequestLineBytes)), formatSize(int64(l.HeadBytes)))
	}
	return nil
}

func (t *Timeouts) check() error {
	for _, r := range timeoutRows {
		d := *r.at(t)
		if d == 0 && r.zero {
			continue
		}
		if d < time.Millisecond || d > timeoutMax {
			return fmt.Errorf("--%s %s: give a time from 1ms to %s", r.flag, d, timeoutMax)
		}
	}
	return nil
}
