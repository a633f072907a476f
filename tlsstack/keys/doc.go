// Package keys is the key schedule of TLS 1.3 (RFC 9846, 7): cipher suites,
// HKDF labels, the ladder from early to application secrets, the transcript
// hash, and the server's half of a key exchange.
//
// A stage of the ladder holds only what it may use and the next stage is made by
// consuming it, so that no key can be used before its time. The package stores
// nothing between handshakes, reads randomness only from the reader it is given,
// and implements no primitive: hashes and AEADs are from crypto and x/crypto,
// X25519 and ML-KEM from circl, whose times on this path are about half.
package keys
