package proxy

import "testing"

func TestAfterFailure(t *testing.T) {
	for _, c := range []struct {
		name, methods string // g: GET and the other idempotent ones, p: POST and PATCH
		attempt       Attempt
		tries         int
		want          Next
	}{
		{"refused", "gp", Attempt{Failure: NotConnected}, 1, Another},
		{"connect timeout", "gp", Attempt{Failure: ConnectTimeout}, 1, Another},
		{"untrusted certificate", "gp", Attempt{Failure: TLSRefused}, 1, Another},
		{"no address", "gp", Attempt{Failure: NameUnknown}, 1, Another},
		{"pooled connection closed before a byte was sent", "gp", Attempt{Failure: NotConnected, Pooled: true}, 1, Again},
		{"pooled connection closed without an answer", "g", Attempt{Failure: Closed, Pooled: true}, 1, Again},
		{"pooled connection closed without an answer", "p", Attempt{Failure: Closed, Pooled: true}, 1, GiveUp},
		{"new connection closed without an answer", "gp", Attempt{Failure: Closed}, 2, GiveUp},
		{"body is gone", "gp", Attempt{Failure: Closed, Pooled: true, Body: true}, 1, GiveUp},
		{"body is gone, refused", "gp", Attempt{Failure: NotConnected, Body: true}, 1, GiveUp},
		{"half a head", "gp", Attempt{Failure: BadHead, Pooled: true}, 1, GiveUp},
		{"no answer in time", "gp", Attempt{Failure: AnswerTimeout, Pooled: true}, 1, GiveUp},
		{"half a body", "gp", Attempt{Failure: BadBody, Pooled: true}, 1, GiveUp},
		{"nothing healthy", "gp", Attempt{Failure: NoTarget}, 1, GiveUp},
		{"pool full", "gp", Attempt{Failure: PoolFull}, 1, GiveUp},
		{"last try", "gp", Attempt{Failure: NotConnected}, TriesMax, GiveUp},
		{"last try, pooled", "g", Attempt{Failure: Closed, Pooled: true}, TriesMax, GiveUp},
	} {
		for _, kind := range c.methods {
			methods := []string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"}
			if kind == 'p' {
				methods = []string{"POST", "PATCH", "get", "UNKNOWN", ""}
			}
			for _, method := range methods {
				if got := AfterFailure([]byte(method), c.attempt, c.tries); got != c.want {
					t.Errorf("%s, %s: %d, want %d", method, c.name, got, c.want)
				}
			}
		}
	}
}

// TestNothingIsSentTwice: over all that can be, a request of which the upstream
// may have seen a byte is only sent again if it is idempotent, the connection was
// pooled, and no byte of an answer came.
func TestNothingIsSentTwice(t *testing.T) {
	for f := NotFailed; f <= RequestTimeout; f++ {
		for _, pooled := range []bool{false, true} {
			for _, method := range []string{"GET", "POST"} {
				next := AfterFailure([]byte(method), Attempt{Failure: f, Pooled: pooled}, 1)
				may := f == Closed && pooled && method == "GET"
				if next != GiveUp && !f.BeforeRequest() && !may {
					t.Errorf("%s after %q, pooled %v: sent again", method, f, pooled)
				}
			}
		}
	}
}

func TestFailures(t *testing.T) {
	for f, want := range map[Failure]int{
		NoTarget: 503, PoolFull: 503, QueueTimeout: 503, NameUnknown: 502, NotConnected: 502, ConnectTimeout: 504, TLSRefused: 502,
		Closed: 502, AnswerTimeout: 504, BadHead: 502, BadBody: 502, BodyTimeout: 504, CutOff: 502,
	} {
		if f.Status() != want || f.String() == "" {
			t.Errorf("%d %q: %d, want %d", f, f, f.Status(), want)
		}
		if blames := f != NoTarget && f != PoolFull && f != QueueTimeout; f.Blames() != blames {
			t.Errorf("%q blames its target: %v", f, f.Blames())
		}
	}
}
