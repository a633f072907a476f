// Package tlsstack is the server side of TLS 1.3 (RFC 9846), hand-written and
// sans-IO: a Conn is handed received bytes, the time and a reader of random
// bytes, and hands back application data, bytes to send, and what it waits for.
// It owns no socket, clock, goroutine or randomness, and it does not use
// crypto/tls.
//
//	              received bytes                 bytes to send
//	                    │                              ▲
//	                    ▼                              │
//	Receive ── record ── messages ── state ── steps ── AppendOutput, Seal…
//
// States, and what moves between them:
//
//	                 ClientHello            Continue
//	start ── hello ──────────────▶ decision ────┬──────────────┐
//	                                   │        │ no usable    │ ServerHello
//	                            Refuse │        │ key share    │ … Finished sent
//	                                   ▼        ▼              ▼
//	                                failed   retry hello ──▶ certificate ─▶ verify ─┐
//	                                                         (client authentication)│
//	                                                           │                    │
//	established ◀─────────────── Finished ────────────────── finished ◀─────────────┘
//	  │  KeyUpdate, application data
//	  ▼
//	closed (close_notify of the peer; ours goes out when the caller says so)
//
// Any error leads to failed: the alert is in the output, nothing more is read.
//
// At decision the ClientHello is parsed and nothing has been computed or sent,
// so the caller may fingerprint it, relay the raw bytes elsewhere, refuse, or
// continue. ECH is opened before decision, and Hello is then the inner hello.
//
// What it does not do, by choice: TLS 1.2 and older, accepting early data (it is
// skipped, RFC 9846, 4.3.10), PSK without (EC)DHE, post-handshake client
// authentication, compressed certificates from clients, external PSKs, exporters.
package tlsstack
