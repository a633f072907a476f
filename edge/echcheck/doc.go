// Package echcheck compares what DNS publishes of a name's ECH, what keys we hold,
// and what a client would make of both.
//
//	DNS ── records ── the config a client chooses ──┬─ do we hold its key, and for how long?
//	keys ─ loaded ─── what we give out ─────────────┼─ does a hello encrypted to it open?
//	server ────────── handshakes (on request) ──────┴─ is it accepted, what is given out instead?
//
// Clients are those of crypto/tls, which share no code with the server they
// check. What is found is sorted by what it means: Fail for clients that get no
// ECH, or soon will not; Warn for what should be mended; Note for the rest.
//
// The package changes nothing, and shows no private key.
package echcheck
