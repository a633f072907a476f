// Package http1 turns bytes into HTTP/1.1 messages and back (RFC 9112), for
// the server side and for the client side that speaks to upstreams.
//
//	request head   Parser.ParseRequest  →  httpmsg.Request       AppendRequestHead   (upstream)
//	response head  Parser.ParseResponse →  ResponseHead          AppendResponseHead  (client)
//	body           Body.Next            →  slices of the input   AppendChunkHead, AppendLastChunk
//
// It owns no socket, clock or buffer. What it returns borrows the bytes it was
// given. Any input may be cut anywhere: a parse either needs more bytes or gives
// the result that the whole input gives.
//
// It is strict where a lenient reading would let two parties see two messages:
// bare LF, bare CR, obs-fold, blanks before a colon, repeated Content-Length,
// Content-Length with Transfer-Encoding, any transfer coding but chunked,
// malformed chunk sizes and extensions, and control bytes are errors. After an
// Error the connection cannot be read on and must be closed.
//
// It decides nothing about what a path means and decodes no percent-encoding.
package http1
