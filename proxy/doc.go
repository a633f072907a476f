// Package proxy holds what a reverse proxy decides: which fields go on to an
// upstream and back, whose word on a client's address counts, which of several
// upstreams answers, and what may be sent again when one fails.
//
// The life of a proxied request:
//
//	request head (http1, http2)
//	  │  Trust.Client        the client's address, for limits, logs and programs
//	  │  Routes.Match        path → group of targets
//	  ▼
//	Forwarder.Request        hop-by-hop out, X-Forwarded-* and ours in
//	  ▼
//	Group.Pick ◄──────────────────────────────┐
//	  │  none left → 503                      │
//	  ▼                                       │
//	connection: pooled, or connect, TLS ──────┤ NotConnected: nothing was sent
//	  ▼                                       │
//	request head, body ───────────────────────┤ Closed: pooled connection gone,
//	  │                                       │   no answer, AfterFailure
//	  ▼                                       │
//	1xx: Forwarder.Informational → client     └── else 502, 503, 504 (Failure.Status)
//	  ▼
//	response head: Group.Report, Forwarder.Response → client; from here on a
//	  │            failure is an answer cut short, never a clean end
//	  ▼
//	body → client, trailers filtered
//	  ▼
//	Group.Done               connection pooled, or closed
//
// The package owns no socket, clock or randomness, and keeps no connection: the
// pool and the states between the arrows are its user's.
package proxy
