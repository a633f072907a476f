// Package coding compresses answers on their way to the client (RFC 9110, 8.4): it
// decides which, edits their fields, and turns bytes into coded bytes.
//
//	request, answer ─► Policy.Judge ─► Leave  as it is
//	                                   Vary   as it is for this client: AddVary
//	                                   Code   AddVary, Announce, and for the body:
//
//	Pool.Get ─► Encoder: Write ⇄ Output/Take … Flush … Close ⇄ Output/Take ─► Pool.Put
//
// Memory: an Encoder holds at most EncoderBytesMax, and there are at most as many
// as the Pool was made for, those that are idle included. In steady state nothing
// is allocated but some bytes for each answer in zstd.
//
// It owns no socket, clock or goroutine, and does not frame: chunks are the
// caller's. It reads no coded bytes: what an application sends coded goes on as it
// is.
package coding
