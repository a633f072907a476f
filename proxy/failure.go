package proxy

// Failure is why a request got no answer, or not a whole one, from an upstream.
type Failure uint8

const (
	NotFailed Failure = iota

	// Before a byte of the request was sent.
	NoTarget       // no target is healthy
	PoolFull       // no connection, and none may be opened
	QueueTimeout   // no connection got free within the time to wait for one
	NameUnknown    // the name of the target has no address
	NotConnected   // refused, unreachable, or gone before a byte was sent
	ConnectTimeout // no connection in time
	TLSRefused     // the handshake failed, or the certificate is not trusted

	// After.
	Closed        // the connection ended without a byte of an answer
	AnswerTimeout // no head in time
	BadHead       // the head is malformed, or ended in the middle
	BadBody       // the body is malformed, or ended in the middle
	BodyTimeout   // the body stalled
	CutOff        // the body lasts until TLS ends, which it did not do in good order

	RequestTimeout // the request as a whole took too long, whoever is to blame
)

var failures = [...]struct {
	status int
	text   string
}{
	NotFailed:      {0, "not failed"},
	NoTarget:       {503, "no healthy upstream"},
	PoolFull:       {503, "no free connection to the upstream"},
	QueueTimeout:   {503, "no connection to the upstream got free within proxy-wait-timeout"},
	NameUnknown:    {502, "upstream name has no address"},
	NotConnected:   {502, "no connection to the upstream"},
	ConnectTimeout: {504, "connection to the upstream not made within connect-timeout"},
	TLSRefused:     {502, "TLS with the upstream failed"},
	Closed:         {502, "upstream closed the connection without an answer"},
	AnswerTimeout:  {504, "upstream did not answer within answer-timeout"},
	BadHead:        {502, "upstream sent a broken answer"},
	BadBody:        {502, "upstream sent a broken body"},
	RequestTimeout: {504, "the whole of it took longer than request-timeout"},
	BodyTimeout:    {504, "upstream stopped within the body for answer-timeout"},
	CutOff:         {502, "upstream ended the connection without close_notify"},
}

// Status is the answer to a client that was sent nothing yet (RFC 9110, 15.6.3 to
// 15.6.5): 502 for an upstream that answers badly or not at all, 503 if none could
// be asked, 504 for one that takes too long.
func (f Failure) Status() int { return failures[f].status }

// String says in words what failed, for the log and the error page.
func (f Failure) String() string { return failures[f].text }

// BeforeRequest says that the upstream cannot have seen any of the request.
func (f Failure) BeforeRequest() bool { return f >= NoTarget && f <= TLSRefused }

// Blames says that the failure counts against the health of its target.
func (f Failure) Blames() bool {
	return f != NotFailed && f != NoTarget && f != PoolFull && f != QueueTimeout && f != RequestTimeout
}
