// Package wire is the codec of TLS 1.3 handshake messages as a server sees
// them: it parses what a client sends and appends what a server sends. It knows
// lengths and code points and the rules that a single message can break alone;
// it keeps no state, negotiates nothing, computes nothing cryptographic, and
// does not touch records.
//
// Everything parsed borrows the bytes of the message; nothing is copied and, in
// a reused struct, nothing is allocated. Every parser takes a whole handshake
// message with its four-byte header:
//
//	0        1                    4
//	+--------+--------------------+----------------------- - -
//	| type   | length (24 bits)   | body, length bytes
//	+--------+--------------------+----------------------- - -
//
// Sections are those of RFC 9846, the present edition of TLS 1.3, whose section 4
// is numbered otherwise than that of RFC 8446. RFC 9849 is ECH.
package wire
