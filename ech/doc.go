// Package ech is the server side of TLS Encrypted ClientHello (RFC 9849): the
// configurations and keys a server holds, opening the hello that a client
// encrypted to one of them, and the signal that it was opened.
//
//	outer ClientHello ── Set.Open ──┬─ None      no ECH offered: serve the hello as it is
//	                                ├─ Rejected  not for our keys, or GREASE: serve the outer
//	                                │            hello, send RetryConfigs
//	                                ├─ Accepted  serve the inner hello, confirm it
//	                                └─ error     malformed: the alert is in the error
//	second outer ClientHello ── Context.OpenSecond ── the second inner hello, or an alert
//
// Declining is a result, not an error: a payload that does not open, a wrong key
// and a payload that never was one (GREASE, section 6.2) go the same way.
//
// The package owns no socket, clock or randomness: times and random bytes are
// handed in. It negotiates nothing of TLS, does not decide what happens to a
// hello that it declines, and does not speak DNS. HPKE is that of circl; KEMs
// are DHKEM(X25519) and DHKEM(P-256), the KDF HKDF-SHA256, the AEADs AES-128-GCM,
// AES-256-GCM and ChaCha20-Poly1305. DTLS is not covered.
//
// Key files are PEM as of RFC 9934; see KeyFile.
package ech
