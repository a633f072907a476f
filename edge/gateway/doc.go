// Package gateway joins the two ends: it is the only package that sees sockets,
// TLS, HTTP and the site at once. It runs one worker per core.
//
// A connection's life, and the file each stage lives in:
//
//	Accepted ─► hello ─► handshake ─► open ◄──────────┐          ─► lingering ─► closed
//	  conn.go   hello.go  conn.go     request.go ► respond.go       timeout.go
//
// Bytes come in on the left and go out on the right:
//
//	Received ► input (conn.go) ► TLS record opened in place ► request head parsed
//	  ► exchange (request.go) ► response sealed into the output buffer (output.go)
//	  ► TurnEnd: one Send per connection (worker.go)
//
// Memory: a connection that waits holds no buffer at all, only its conn. What it
// holds while it works is counted against the worker's buffer budget:
//
//	in      bytes of a record, or of raw hello, not yet whole    ≤ 128 KB
//	plain   opened bytes of a request head not yet whole         ≤ 128 KB
//	out     output being put together                            ≤ 128 KB
//	sending output the kernel has                                ≤ 128 KB
//
// It does not choose a reactor (main does) and parses no protocol itself.
package gateway
