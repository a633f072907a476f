package proxy

// Attempt is how far one try to have a request answered came.
type Attempt struct {
	Failure Failure
	Pooled  bool // the connection had answered an earlier request
	Body    bool // a byte of the request's body was taken from the client and is not kept
}

// Next is what to do after a failed attempt.
type Next uint8

const (
	GiveUp  Next = iota
	Again        // on a new connection, to the same target or another
	Another      // to another target
)

// TriesMax is how many attempts a request gets in all.
const TriesMax = 3

// AfterFailure decides whether a request is sent again, after its tries-th attempt
// (counted from 1) failed and nothing was sent to the client.
//
// Nothing may be done twice (RFC 9110, 9.2.2):
//   - what was never sent may go to another target, whatever its method;
//   - what was sent over a pooled connection that then closed without a byte of an
//     answer may go again, once, on a new connection, if its method is idempotent:
//     the upstream most likely closed an idle connection as we used it (RFC 9112,
//     9.3.1). A timeout, or a new connection that closes, says nothing of the kind;
//   - a body of which a part is gone cannot be sent again.
//
// If no other target is left, it is the failure of the attempt that is answered.
// An Idempotency-Key makes no difference: whether the upstream heeds it is not
// known here.
func AfterFailure(method []byte, a Attempt, tries int) Next {
	if tries >= TriesMax || a.Body {
		return GiveUp
	}
	switch {
	case a.Failure == NoTarget || a.Failure == PoolFull || a.Failure == QueueTimeout:
		return GiveUp
	case a.Failure == NotConnected && a.Pooled:
		return Again
	case a.Failure.BeforeRequest():
		return Another
	case a.Failure == Closed && a.Pooled && isIdempotent(method):
		return Again
	}
	return GiveUp
}

// isIdempotent: RFC 9110, 9.2.2.
func isIdempotent(method []byte) bool {
	switch string(method) {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}
