package http1

import (
	"strconv"

	"edge/proxy/httpmsg"
)

// ChunkHeadBytes is the length of the size line that PutChunkHead writes: six
// digits and CRLF.
const ChunkHeadBytes = 8

// ChunkBytesMax is the longest chunk that PutChunkHead can announce.
const ChunkBytesMax = 1<<24 - 1

// AppendChunkHead appends the size line of a chunk of n bytes, n > 0. The data
// and CRLF follow.
func AppendChunkHead(dst []byte, n int) []byte {
	if n <= 0 {
		panic("BUG: http1: empty chunk: it would end the body")
	}
	dst = strconv.AppendUint(dst, uint64(n), 16)
	return append(dst, '\r', '\n')
}

// PutChunkHead writes the size line of a chunk of n bytes into the first
// ChunkHeadBytes of b, with leading zeros (RFC 9112, 7.1: chunk-size is
// 1*HEXDIG): for data that was put behind a gap before its length was known.
func PutChunkHead(b []byte, n int) {
	if n <= 0 || n > ChunkBytesMax {
		panic("BUG: http1: chunk of " + strconv.Itoa(n) + " bytes")
	}
	const digits = "0123456789abcdef"
	_ = b[ChunkHeadBytes-1]
	for i := ChunkHeadBytes - 3; i >= 0; i-- {
		b[i] = digits[n&15]
		n >>= 4
	}
	b[ChunkHeadBytes-2], b[ChunkHeadBytes-1] = '\r', '\n'
}

// AppendChunkEnd appends the CRLF behind a chunk's data.
func AppendChunkEnd(dst []byte) []byte { return append(dst, '\r', '\n') }

// AppendLastChunk appends the end of a chunked body: the last chunk, the fields
// of trailer (nil: none) and the empty line.
func AppendLastChunk(dst []byte, trailer *httpmsg.Header) []byte {
	dst = append(dst, '0', '\r', '\n')
	if trailer != nil {
		dst, _ = appendFields(dst, trailer)
	}
	return append(dst, '\r', '\n')
}
